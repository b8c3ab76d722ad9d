package limit

import "math"

func tokenBucket() kind {
	return kind{
		name: "token-bucket", script: "token_bucket", bursts: true, option: "Debt", most: 1,
		fresh: func() state { return &tokenState{} },
	}
}

// tokenState is lua/token_bucket.lua.
type tokenState struct{ tokens, time, up, down float64 } // up 0: never used

func (s *tokenState) decide(now float64, l *law, n float64, all bool) (r reply) {
	full, debt := l.burst*l.down, l.option == 1
	tokens := full
	if s.up > 0 {
		now = max(now, s.time)
		tokens = min(l.burst*s.down, s.tokens+(now-s.time)*s.up)
		tokens = min(full, recount(tokens, s.up, s.down, l, math.Floor))
	}
	switch {
	case !debt:
		r.granted = portion(math.Floor(tokens/l.down), n, all)
	case tokens >= l.down:
		r.granted = min(n, math.Floor(maxDrops/l.down))
	}
	tokens -= r.granted * l.down
	r.reset = math.Ceil((full - tokens) / l.up)
	if r.granted > 0 || s.up > 0 && (s.up != l.up || s.down != l.down) {
		*s = tokenState{tokens, now, l.up, l.down}
		r.lives = lifetime(r.reset)
	}
	if r.granted < n {
		wanted := 1.0
		if all && !debt {
			wanted = n
		}
		r.retry = math.Ceil((wanted*l.down - tokens) / l.up)
	}
	r.remaining, r.at = max(0, math.Floor(tokens/l.down)), now
	return r
}

func (s *tokenState) undo(at, n float64, _ int64) float64 {
	if s.time != at {
		return 0
	}
	s.tokens += n * s.down
	return n
}
