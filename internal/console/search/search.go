// Package search finds the highest rate at which a service meets its objectives. A [Search] is a pure state machine: it
// reads no clock and sends nothing. The caller plays one probe after the other and reports the outcome.
//
//	s, err := search.New(search.Plan{From: 100, To: 50_000})
//	for rate, ok := s.Next(); ok; rate, ok = s.Next() {
//		s.Record(probe(rate)) // the outcome and the reason
//	}
//	fmt.Println(s.Result())
//
// A [Driver] plays the probes with a run: it sets the rate, measures, and waits until all is answered.
//
// The search doubles the rate until a probe fails. Then it halves the gap between the highest rate that passed and the
// lowest that failed, until the gap is narrow, and confirms the highest rate that passed. A probe has no answer if the
// generator was the limit or the audit does not add up: it says nothing about the service. Such a probe is repeated,
// and never counts as a failure. If it still has no answer, the search ends without one.
package search

import (
	"fmt"
	"math"
	"time"

	"github.com/loadctl/loadctl/report/threshold"
)

// An Outcome is the outcome of a probe.
type Outcome int

// The outcomes.
const (
	Passed Outcome = iota
	Failed
	NoAnswer // the generator was the limit, or the audit has a gap
)

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o {
	case Passed:
		return "passed"
	case Failed:
		return "failed"
	default:
		return "no answer"
	}
}

// A Plan says where to search. Rates are requests per second.
type Plan struct {
	From, To float64 // the first rate, and the highest
}

// A Probe is a probe that was played.
type Probe struct {
	Rate  float64
	Phase Phase
	Measured
}

// Measured is the outcome of a probe and the reason.
type Measured struct {
	Outcome Outcome
	Why     string             // for people; "" if it passed
	At      time.Time          // since when the rate was in force
	Length  time.Duration      // of the judged window
	Values  []threshold.Result // the measured value of each objective
}

// A Phase is the purpose of a probe.
type Phase string

// The phases.
const (
	Doubling   Phase = "double"
	Bisecting  Phase = "bisect"
	Confirming Phase = "confirm"
	Over       Phase = "over"
)

// A Search is one search. Make it with New. Not safe for concurrent use.
type Search struct {
	plan     Plan
	phase    Phase
	rate     float64 // of the next probe
	passed   float64 // the highest that passed; 0 = none
	failed   float64 // the lowest that failed; +Inf = none
	repeated int     // how often the next probe was repeated, because it had no answer
	probes   []Probe
	end      End
}

// An End is the reason why a search is over.
type End string

// The ends.
const (
	Found     End = "found"     // Result.Rate is the answer
	AboveTo   End = "above"     // the highest rate tried still passed
	BelowFrom End = "below"     // no rate from From on passed
	Unknown   End = "no answer" // a probe had no answer, even when repeated
)

// Bounds of a search.
const (
	mostHalvings = 4    // how often it goes below its first rate
	within       = 0.03 // how close passed and failed get, as a share
	mostRepeats  = 3    // of a probe without an answer; a second in which the machine is busy with other work is not rare
)

// New begins a search.
func New(p Plan) (*Search, error) {
	if !(p.From > 0) || math.IsInf(p.To, 0) || !(p.To >= p.From) {
		return nil, fmt.Errorf("search from %v to %v: give two rates above 0, the lower one first", p.From, p.To)
	}
	return &Search{plan: p, phase: Doubling, rate: p.From, failed: math.Inf(1)}, nil
}

// Next returns the rate of the next probe; false if the search is over.
func (s *Search) Next() (rate float64, ok bool) { return s.rate, s.phase != Over }

// Record notes the outcome of the probe at the rate of Next.
func (s *Search) Record(m Measured) {
	if s.phase == Over {
		return
	}
	s.probes = append(s.probes, Probe{s.rate, s.phase, m})
	if m.Outcome == NoAnswer {
		if s.repeated++; s.repeated > mostRepeats {
			s.finish(Unknown)
		}
		return
	}
	s.repeated = 0
	if s.phase == Confirming {
		s.confirm(m.Outcome)
		return
	}
	if m.Outcome == Passed {
		s.passed = max(s.passed, s.rate)
	} else {
		s.failed = min(s.failed, s.rate)
	}
	s.advance()
}

// advance chooses the next probe of doubling and bisecting.
func (s *Search) advance() {
	switch {
	case s.passed == 0 && s.failed <= s.plan.From/float64(int(1)<<mostHalvings):
		s.finish(BelowFrom)
	case s.passed == 0:
		s.probe(Bisecting, s.failed/2)
	case math.IsInf(s.failed, 1) && s.passed >= s.plan.To:
		s.probe(Confirming, s.passed)
	case math.IsInf(s.failed, 1):
		s.probe(Doubling, min(2*s.passed, s.plan.To))
	case s.failed <= s.passed*(1+within):
		s.probe(Confirming, s.passed)
	default:
		s.probe(Bisecting, round(math.Sqrt(s.passed*s.failed)))
	}
}

// confirm handles a probe at the highest rate that passed. If it fails, that rate becomes the lowest that failed, and
// the search goes on below it: a probe that passed once by luck is not an answer.
func (s *Search) confirm(o Outcome) {
	if o == Passed {
		if math.IsInf(s.failed, 1) {
			s.finish(AboveTo)
		} else {
			s.finish(Found)
		}
		return
	}
	s.failed, s.passed = s.rate, 0
	for _, p := range s.probes {
		if p.Outcome == Passed && p.Rate < s.failed {
			s.passed = max(s.passed, p.Rate)
		}
	}
	s.advance()
}

// GiveUp ends the search without an answer, because no more probes can be played.
func (s *Search) GiveUp() { s.finish(Unknown) }

// round keeps four digits, for readability. Neighbouring rates are then at most a thousandth apart, much less than
// within.
func round(rate float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	if unit < 1 { // so that tenths stay tenths
		return math.Round(rate*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(rate/unit) * unit
}

func (s *Search) probe(phase Phase, rate float64) { s.phase, s.rate = phase, rate }
func (s *Search) finish(e End)                    { s.phase, s.end = Over, e }

// A Result is what a search knows so far.
type Result struct {
	End    End     // "" while the search goes on
	Rate   float64 // the highest that passed, confirmed if Found or AboveTo; 0 = none
	Failed float64 // the lowest that failed; the knee is between both; +Inf = none
	Probes []Probe
}

// String describes the knee in words.
func (r Result) String() string {
	passed, failed := "none", "none"
	if r.Rate > 0 {
		passed = Rate(r.Rate) + " per second"
	}
	if !math.IsInf(r.Failed, 1) {
		failed = Rate(r.Failed) + " per second"
	}
	return fmt.Sprintf("end of a search: the highest that passed is %s, the lowest that failed %s", passed, failed)
}

// Result returns what the search knows so far.
func (s *Search) Result() Result { return Result{s.end, s.passed, s.failed, s.probes} }
