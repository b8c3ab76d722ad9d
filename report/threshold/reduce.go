package threshold

import (
	"math"
	"strconv"
	"time"
)

// A Reduce says how a guard lowers the rate of a run. A guard is a threshold with a Reduce. The zero value is none.
type Reduce struct {
	After   int64         // the rate is lowered after this many failed windows in a row
	To      int64         // to this share of the rate that people asked for, once, in millionths; 0 = By says how much
	By      int64         // by this share of the rate in force, at each step, in millionths
	Floor   float64       // the highest rate of the plan is not lowered below this, per second as --qps counts; 0 = no floor
	Restore time.Duration // a step back after all guards have held for so long; 0 = the rate stays down
}

// Guards reports whether the threshold lowers the rate of a run.
func (t Threshold) Guards() bool { return t.Reduce.After > 0 }

// mends reports whether fewer requests can make the endpoint meet the threshold.
func (t Threshold) mends() bool {
	switch t.Metric {
	case "latency", "first_event", "first_event_service", "event_gap", "stream", "per_token":
		return t.fromAbove()
	case "goodput":
		return t.Aggregate == "rate" && t.fromBelow()
	default:
		return t.LimitsFailures() || t.Metric == "query"
	}
}

// Bounds of guards.
const (
	million    = 1_000_000
	leastShare = million / 100
	mostShare  = million - leastShare
	maxRestore = time.Hour
)

// reduce reads how the rate is lowered, and after how many failed windows.
func (s *thresholdScanner) reduce(t *Threshold) error {
	at := s.at
	if s.accept("reduce") == "" {
		return nil
	}
	switch {
	case t.Step != "":
		return s.fail(at, "a step is known for the whole run only; leave out 'reduce', or the step")
	case t.Over == 0:
		return s.fail(at, "reduce counts windows; say how long they are, such as over 5s reduce by 20%% after 2")
	case t.Abort > 0:
		return s.fail(at, "a condition stops the run, or it lowers the rate; give a threshold for each")
	case !t.mends():
		return s.fail(at, "a lower rate cannot mend this; reduce is for limits on latency and times of streams, errors:rate, errors:count, checks:rate, goodput:rate and queries, such as latency:p(99)<1s")
	case t.Over > maxAbortOver:
		return s.fail(at, "windows that lower the rate are at most %v long; give a shorter over", maxAbortOver)
	}
	s.space()
	at = s.at
	share := map[string]*int64{"to": &t.Reduce.To, "by": &t.Reduce.By}[s.take(isLetter)]
	if share == nil {
		return s.fail(at, "write reduce to 50%% or reduce by 20%%")
	}
	s.space()
	if err := s.share(share); err != nil {
		return err
	}
	s.space()
	if s.accept("after") == "" {
		return s.fail(s.at, "write after 2, the number of windows in a row")
	}
	s.space()
	at = s.at
	n, err := strconv.ParseInt(s.take(isDigit), 10, 64)
	if err != nil || n < 1 || n > maxAbort {
		return s.fail(at, "give the number of windows in a row, 1 to %d", maxAbort)
	}
	t.Reduce.After = n
	return nil
}

// share reads a share of a rate, in millionths.
func (s *thresholdScanner) share(into *int64) error {
	at := s.at
	v, ok := s.number()
	if !ok {
		return s.fail(at, "give a share from 1%% to 99%%, such as 20%%")
	}
	unitAt := s.at
	unit := s.unit()
	factor, known := ShareKind.units()[unit]
	if !known {
		return s.fail(unitAt, "%.20q is not a valid unit here; give a share from 1%% to 99%%", unit)
	}
	if share := math.Round(inUnit(v, factor) * million); share >= leastShare && share <= mostShare {
		*into = int64(share)
		return nil
	}
	hint := ""
	if v >= 1 && v <= 99 {
		hint = percentHint(unit, v)
	}
	return s.fail(at, "give a share from 1%% to 99%%%s", hint)
}

// floor reads the rate below which a guard does not go.
func (s *thresholdScanner) floor(t *Threshold) error {
	if !t.Guards() || s.accept("down") == "" {
		return nil
	}
	if s.space(); s.accept("to") == "" {
		return s.fail(s.at, "write down to 100/s, the rate that is left at least")
	}
	s.space()
	at := s.at
	v, ok := s.number()
	unitAt := s.at
	unit := s.unit()
	factor, known := RateKind.units()[unit]
	switch {
	case !ok || v == 0:
		return s.fail(at, "give a rate above 0, such as down to 100/s")
	case !known || unit == "" || unit == "k" || unit == "M":
		return s.fail(unitAt, "give the rate with its unit, such as 100/s, 2.5k/s or 30/m")
	}
	t.Reduce.Floor = inUnit(v, factor)
	return nil
}

// restore reads after how long the rate goes up again.
func (s *thresholdScanner) restore(t *Threshold) error {
	if !t.Guards() || s.accept("restore") == "" {
		return nil
	}
	if s.space(); s.accept("after") == "" {
		return s.fail(s.at, "write restore after 60s, the time for which all guards have to hold")
	}
	s.space()
	at := s.at
	wait, err := time.ParseDuration(s.take(func(c rune) bool { return isDigit(c) || isLetter(c) || c == '.' }))
	if err != nil || wait%time.Second != 0 || wait < t.Over || wait > maxRestore {
		return s.fail(at, "give whole seconds from %v, the window, to %v, such as restore after 60s", t.Over, maxRestore)
	}
	t.Reduce.Restore = wait
	return nil
}
