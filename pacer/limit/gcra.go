package limit

import "math"

func gcra() kind {
	return kind{name: "gcra", script: "gcra", bursts: true, fresh: func() state { return &cellState{} }}
}

// cellState is lua/gcra.lua. A µs has up drops, so time and what is owed then are its tat and rest in one.
type cellState struct{ owed, time, up, down float64 } // up 0: never used

func (s *cellState) decide(now float64, l *law, n float64, all bool) (r reply) {
	owed := 0.0
	if s.up > 0 {
		now = max(now, s.time)
		owed = recount(max(0, s.owed-(now-s.time)*s.up), s.up, s.down, l, math.Ceil)
	}
	most := l.burst * l.down
	r.granted = portion(math.Floor((most-owed)/l.down), n, all)
	owed += r.granted * l.down
	r.reset = math.Ceil(owed / l.up)
	if r.granted > 0 || s.up > 0 && (s.up != l.up || s.down != l.down) {
		*s = cellState{owed, now, l.up, l.down}
		r.lives = lifetime(r.reset)
	}
	if r.granted < n {
		wanted := 1.0
		if all {
			wanted = n
		}
		r.retry = math.Ceil((owed + wanted*l.down - most) / l.up)
	}
	r.remaining, r.at = max(0, math.Floor((most-owed)/l.down)), now
	return r
}

func (s *cellState) undo(at, n float64, _ int64) float64 {
	if s.time != at || s.owed < n*s.down {
		return 0
	}
	s.owed -= n * s.down
	return n
}
