package limit

import (
	"math"
	"slices"
)

func slidingWindow() kind {
	return kind{
		name: "sliding-window", script: "sliding_window", option: "Parts", preset: 10, most: 1000,
		fresh: func() state { return &partsState{m: 1} },
	}
}

// partsState is lua/sliding_window.lua.
type partsState struct {
	parts   []part  // the oldest first
	size, m float64 // size 0: never used
}

type part struct{ number, permits float64 }

func (s *partsState) decide(now float64, l *law, n float64, all bool) (r reply) {
	m := max(1, l.option)
	if s.size == math.Ceil(l.window/s.m) {
		m = max(m, s.m)
	}
	size, was := math.Ceil(l.window/m), s.size
	if was == 0 {
		was = size
	}
	last := math.Floor(now / size)
	if len(s.parts) > 0 {
		last = max(last, math.Floor(s.parts[len(s.parts)-1].number*was/size))
	}
	now = max(now, last*size)
	kept, used := s.live(was, size, last, m)

	r.granted = portion(l.count-used, n, all)
	free := l.count - used - r.granted
	if r.granted > 0 {
		kept = add(kept, last, r.granted)
	}
	leave := 0.0
	if r.granted < n { // there is room when so many of the oldest have left
		if leave = 1 - free; all {
			leave = n - free
		}
	}
	left := 0.0
	for _, p := range kept {
		ends := (p.number+m)*size - now
		if p.permits > 0 {
			r.reset = ends
		}
		if left < leave {
			r.retry = ends
		}
		left += p.permits
	}
	if r.granted > 0 || was != size {
		*s = partsState{kept, size, m}
		r.lives = lifetime(r.reset)
	}
	r.remaining, r.at = max(0, free), now
	return r
}

// live returns the last m parts, converted from size was to size, and their sum.
func (s *partsState) live(was, size, last, m float64) (kept []part, used float64) {
	for _, p := range s.parts {
		i := p.number
		if was != size {
			i = min(last, math.Floor(((i+1)*was-1)/size))
		}
		if i > last-m {
			kept = add(kept, i, p.permits)
			used += p.permits
		}
	}
	return kept, used
}

// add adds permits to the last part or a later one.
func add(parts []part, number, permits float64) []part {
	if len(parts) == 0 || parts[len(parts)-1].number != number {
		parts = append(parts, part{number: number})
	}
	parts[len(parts)-1].permits += permits
	return parts
}

func (s *partsState) undo(at, n float64, _ int64) float64 {
	i := slices.IndexFunc(s.parts, func(p part) bool { return p.number == math.Floor(at/s.size) })
	if i < 0 || s.parts[i].permits < n {
		return 0
	}
	s.parts[i].permits -= n
	return n
}
