package demo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
)

// verdict says in a few sentences what the run has shown.
func verdict(total report.Report, seconds []second) []string {
	a, arrived := total.Audit, sumArrived(seconds)
	counts := fmt.Sprintf("Asked %d; sent %d, as the workers report; arrived %d, as the target counted; lost with the killed worker %d",
		a.Asked, a.Sent, arrived, a.Lost)
	if dropped := a.LateDropped + a.Skipped; dropped > 0 {
		counts += fmt.Sprintf("; too late to send %d", dropped)
	}
	identity := fmt.Sprintf("%d <= %d <= %d", a.Sent, arrived, a.Sent+a.Lost)
	if check(total, seconds) == nil {
		identity = fmt.Sprintf("sent <= arrived <= sent + lost holds, %s: of the lost, the dead worker had sent %d after its last report, and %d never came.",
			identity, arrived-a.Sent, a.Sent+a.Lost-arrived)
	} else {
		identity = fmt.Sprintf("The counts CONTRADICT each other: sent <= arrived <= sent + lost is %s.", identity)
	}
	return []string{counts + ".", identity, steadiness(total, seconds) + " " + recovery(seconds)}
}

// sumArrived returns the target's count.
func sumArrived(seconds []second) int64 {
	var n int64
	for _, s := range seconds {
		n += s.arrived
	}
	return n
}

// check returns an error if the counts contradict each other, which is never due to a busy machine.
func check(total report.Report, seconds []second) error {
	a, arrived := total.Audit, sumArrived(seconds)
	switch {
	case !whole(total):
		return fmt.Errorf("read the report: it is incomplete (%s); please report this as a bug", strings.Join(total.Notes, "; "))
	case arrived < a.Sent || arrived > a.Sent+a.Lost:
		return fmt.Errorf("compare the counts: %d arrived, which is not from %d sent to %d with those lost; please report this as a bug",
			arrived, a.Sent, a.Sent+a.Lost)
	}
	return nil
}

// whole tells whether the report lacks only what the killed worker sent last, which nobody can know.
func whole(total report.Report) bool {
	for _, w := range total.Workers {
		if !w.Final && w.State != "removed" {
			return false
		}
	}
	return !total.Running && total.Audit.Check() == nil
}

// steadiness describes the seconds in which nothing happened.
func steadiness(total report.Report, seconds []second) string {
	var steady []string
	off, worst := 0, -1
	for i, s := range seconds {
		if !s.steady() {
			continue
		}
		steady = append(steady, fmt.Sprint(i))
		if !s.near() {
			off++
		}
		if worst < 0 || s.worse(seconds[worst]) {
			worst = i
		}
	}
	switch {
	case worst < 0:
		return "No second was steady: this machine was too busy to do anything in time."
	case off == 0:
		within := fmt.Sprintf("%d %%", tolerance)
		if math.Abs(seconds[worst].deviation()) > tolerance {
			within += ", or one request,"
		}
		return fmt.Sprintf("The steady seconds (%s) are within %s of what was asked; the worst is second %d, %+.2f %%.",
			strings.Join(steady, " "), within, worst, seconds[worst].deviation())
	default:
		return fmt.Sprintf("%d of the %d steady seconds are MORE than %d %% off what was asked; the worst is second %d, %+.2f %%. "+
			"The likely reason is that this machine was too busy: requests left up to %v after they were due (the row lag of the report).",
			off, len(steady), tolerance, worst, seconds[worst].deviation(), time.Duration(total.Lag.Max).Round(100*time.Microsecond))
	}
}

// recovery says when the rate was back after the kill, and whether it stayed.
func recovery(seconds []second) string {
	killed, back := -1, -1
	var again []string
	for i, s := range seconds {
		switch {
		case !s.shaken:
		case killed < 0:
			killed = i
		case s.near() && back < 0:
			back = i
		case !s.near() && back >= 0:
			again = append(again, fmt.Sprint(i))
		}
	}
	switch {
	case killed < 0:
		return ""
	case back < 0:
		return fmt.Sprintf("After the kill the rate was NOT back within %d s.", aftermath)
	case len(again) > 0:
		return fmt.Sprintf("After the kill in second %d the rate was back in second %d, but off again in %s.", killed, back, strings.Join(again, " "))
	default:
		return fmt.Sprintf("After the kill in second %d the rate was back in second %d.", killed, back)
	}
}
