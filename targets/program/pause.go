package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// MaxPause bounds a pause.
const MaxPause = time.Hour

// A Pause is how long a flow waits. The zero value does not wait.
type Pause struct {
	Mean, Most time.Duration
	draw       func() time.Duration // nil = it is always Mean
}

// ParsePause reads "500ms", "uniform 1s..3s" or "exp 2s". An exponential pause is cut at ten times its mean, which one of
// 22,000 exceeds.
func ParsePause(text string) (Pause, error) {
	kind, rest, random := strings.Cut(strings.TrimSpace(text), " ")
	read := func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || d < 0 || d > MaxPause {
			return 0, fmt.Errorf("%.20q is no time of 0s to %v; write a pause as 500ms, exp 2s or uniform 1s..3s", text, MaxPause)
		}
		return d, nil
	}
	switch {
	case !random:
		d, err := read(kind)
		return Pause{Mean: d, Most: d}, err
	case kind == "exp":
		d, err := read(rest)
		most := min(10*d, MaxPause)
		return Pause{d, most, func() time.Duration { return min(most, time.Duration(rand.ExpFloat64()*float64(d))) }}, err
	case kind == "uniform":
		a, b, both := strings.Cut(rest, "..")
		from, err := read(a)
		if err != nil {
			return Pause{}, err
		}
		to, err := read(b)
		if !both || err == nil && to < from {
			return Pause{}, errors.New("write uniform 1s..3s, the shorter time first")
		}
		return Pause{(from + to) / 2, to, func() time.Duration { return from + rand.N(to-from+1) }}, err
	}
	return Pause{}, fmt.Errorf("there is no pause %.20q; write a time, as in 500ms, exp 2s or uniform 1s..3s", kind)
}

// Draw returns how long one pause takes.
func (p Pause) Draw() time.Duration {
	if p.draw == nil {
		return p.Mean
	}
	return p.draw()
}
