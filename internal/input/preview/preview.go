// Package preview shows what a schedule will ask for, before a run exists: its figures, and a plot as text.
//
//	s := spec.Spec{Profile: "sine:mean=1k,amplitude=400,period=1m"}
//	shown, err := preview.Of(s)
//	if err != nil { … }
//	err = shown.Text(os.Stdout)
//
// It is arithmetic on the profile: nothing is sent, and no Redis is needed.
package preview

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
)

// How much of a schedule without an end is shown.
const (
	turns      = 2 // of a profile that repeats
	endlessFor = time.Minute
)

// Preview is what a schedule asks for. Rates are requests per second of the whole fleet.
type Preview struct {
	Peak     float64       `json:"peak"`                // the highest rate
	Mean     float64       `json:"mean"`                // until the end; of one turn, if there is no end
	Requests *int64        `json:"requests,omitempty"`  // until the end; nil: there is none
	Length   time.Duration `json:"length_ns,omitempty"` // 0 = until stopped
	Period   time.Duration `json:"period_ns,omitempty"` // of one turn of a profile that repeats; 0 = it does not
	Pieces   int           `json:"pieces"`              // of the plan, at most 10,000
	Shown    time.Duration `json:"shown_ns"`            // how much of it the points are
	Points   []Point       `json:"points"`              // equally long stretches, in order

	perTurn int64 // requests of one turn
}

// Point is one stretch of the time that is shown.
type Point struct {
	At   time.Duration `json:"at_ns"` // its beginning, from the start of the run
	Mean float64       `json:"mean"`
	Peak float64       `json:"peak"`
}

// Of returns what a spec asks for. Its target is not looked at. A closed loop and a schedule that is wrong are errors.
func Of(s spec.Spec) (Preview, error) {
	if s.Max {
		return Preview{}, fmt.Errorf("%s: a closed loop has no rate to show; give a rate, or leave it out", s.Loop())
	}
	p, err := s.Curve()
	if err != nil {
		return Preview{}, err
	}
	plan, err := s.Plan()
	if err != nil {
		return Preview{}, err
	}
	out := Preview{Length: plan.Span, Shown: plan.Span, Pieces: len(plan.Pieces), Points: []Point{}}
	turn := plan.Span
	if p.Loop {
		out.Period = p.Period()
		out.perTurn = p.Before(out.Period)
	}
	switch {
	case plan.Span > 0:
		requests := p.Before(plan.Span)
		out.Requests = &requests
	case p.Loop:
		turn, out.Shown = out.Period, turns*out.Period
	default:
		turn, out.Shown = endlessFor, endlessFor
	}
	out.Mean, out.Peak = p.Integral(turn)/turn.Seconds(), p.Peak(0, turn)
	for i := range columns {
		from, to := share(out.Shown, i), share(out.Shown, i+1)
		if from < to {
			out.Points = append(out.Points, Point{from, mean(p, from, to), p.Peak(from, to)})
		}
	}
	return out, nil
}

// share returns i / columns of a time, which may be long: i·d would overflow.
func share(d time.Duration, i int) time.Duration {
	n := time.Duration(i)
	return d/columns*n + d%columns*n/columns
}

func mean(p pacer.Profile, from, to time.Duration) float64 {
	return max(0, p.Integral(to)-p.Integral(from)) / (to - from).Seconds()
}
