package limit

func fixedWindow() kind {
	return kind{
		name: "fixed-window", script: "fixed_window", option: "ExpireNX", most: 1,
		fresh: func() state { return &windowState{start: -1 << 53} },
	}
}

// windowState is lua/fixed_window.lua.
type windowState struct{ start, used, window float64 }

func (s *windowState) decide(now float64, l *law, n float64, all bool) (r reply) {
	now = max(now, s.start)
	start, used := s.start, s.used
	over := now >= start+l.window
	if over {
		start, used = now, 0
	}
	r.granted = portion(l.count-used, n, all)
	used += r.granted
	if used > 0 {
		r.reset = start + l.window - now
	}
	if changed := s.window != l.window; r.granted > 0 || !over && changed {
		if over || changed {
			r.lives = lifetime(r.reset)
		}
		*s = windowState{start, used, l.window}
	}
	if r.granted < n {
		r.retry = r.reset
	}
	r.remaining, r.at = max(0, l.count-used), now
	return r
}

func (s *windowState) undo(at, n float64, _ int64) float64 {
	if at < s.start || s.used < n {
		return 0
	}
	s.used -= n
	return n
}
