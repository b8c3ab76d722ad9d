package limit

import "slices"

func slidingLog() kind {
	return kind{name: "sliding-log", script: "sliding_log", fresh: func() state { return &logState{} }}
}

func slidingList() kind {
	return kind{name: "sliding-list", script: "sliding_list", fresh: func() state { return &logState{} }}
}

// logState is lua/sliding_log.lua and lua/sliding_list.lua: they grant the same. The permits of one instant are one entry.
type logState struct {
	grants []instant // the oldest first
	sum    float64
}

type instant struct{ at, n float64 }

func (s *logState) decide(now float64, l *law, n float64, all bool) (r reply) {
	now = max(now, s.newest())
	old, used := 0, s.sum // how many have left the window
	for ; old < len(s.grants) && s.grants[old].at <= now-l.window; old++ {
		used -= s.grants[old].n
	}
	r.granted = portion(l.count-used, n, all)
	if r.granted > 0 {
		used += r.granted
		s.grants, s.sum = slices.Delete(s.grants, 0, old), used
		old = 0
		if s.newest() < now {
			s.grants = append(s.grants, instant{at: now})
		}
		s.grants[len(s.grants)-1].n += r.granted
		r.lives = lifetime(l.window)
	}
	free := l.count - used
	if r.granted < n { // there is room when so many of the oldest have left
		leave := 1 - free
		if all {
			leave = n - free
		}
		for i := old; leave > 0; i++ {
			leave -= s.grants[i].n
			r.retry = s.grants[i].at + l.window - now
		}
	}
	r.remaining, r.reset, r.at = max(0, free), max(0, s.newest()+l.window-now), now
	return r
}

func (s *logState) newest() float64 {
	if len(s.grants) == 0 {
		return 0
	}
	return s.grants[len(s.grants)-1].at
}

func (s *logState) undo(at, n float64, _ int64) float64 {
	i := slices.IndexFunc(s.grants, func(x instant) bool { return x.at == at })
	if i < 0 || s.grants[i].n < n {
		return 0
	}
	s.sum -= n
	if s.grants[i].n -= n; s.grants[i].n == 0 {
		s.grants = slices.Delete(s.grants, i, i+1)
	}
	return n
}
