package limit

import "math"

func leakyBucket() kind {
	return kind{name: "leaky-bucket", script: "leaky_bucket", bursts: true, queues: true, fresh: func() state { return &queueState{} }}
}

// queueState is lua/leaky_bucket.lua.
type queueState struct {
	level, time, up, down float64 // up 0: never used
	last                  int64   // name of the last call; 0: given back
	of                    float64 // what it was granted
}

func (s *queueState) decide(now float64, l *law, n float64, all bool) (r reply) {
	level := 0.0
	if s.up > 0 {
		now = max(now, s.time)
		level = recount(max(0, s.level-(now-s.time)*s.up), s.up, s.down, l, math.Ceil)
	}
	r.granted = portion(math.Floor((l.burst*l.down-level)/l.down), n, all)
	level += r.granted * l.down
	r.reset = math.Ceil(level / l.up)
	if r.granted > 0 || s.up > 0 && (s.up != l.up || s.down != l.down) {
		*s = queueState{level, now, l.up, l.down, l.name, r.granted}
		r.lives = lifetime(r.reset)
	}
	wanted := 1.0
	if all {
		wanted = n
	}
	switch {
	case n == 0:
		r.retry = r.reset // of who comes next
	case r.granted == 0:
		r.retry = math.Ceil((level + (wanted-l.burst)*l.down) / l.up)
	default:
		r.retry = math.Ceil((level - l.down) / l.up)
	}
	r.remaining, r.at = max(0, math.Floor((l.burst*l.down-level)/l.down)), now
	return r
}

func (s *queueState) undo(_, n float64, name int64) float64 {
	if s.last != name || s.of < n {
		return 0
	}
	s.level, s.last, s.of = s.level-n*s.down, 0, 0
	return n
}
