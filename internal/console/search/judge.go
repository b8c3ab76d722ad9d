package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/threshold"
)

// judge decides the outcome of a probe, as soon as it is known:
//
//  1. A snapshot or a worker is missing: no answer.
//  2. An objective is missed, or not all was sent, and the generator was the limit: no answer. If all was sent and all
//     objectives are met, the probe passed whatever the generator was, provided that one objective is about latency:
//     latency contains what the generator delays, so that makes a probe no easier to pass. Service times and errors do
//     not contain it, so with such objectives alone there is no answer.
//  3. No worker owned some of what was due: no answer.
//  4. An objective is missed while requests pile up: failed, before the end of the window.
//  5. Some of what was due was not sent, for lack of a connection, or an objective is missed: failed. Else passed.
func (d *Driver) judge(w *window, now time.Time) (m Measured, over bool) {
	until, missing := w.known()
	section := w.section(until)
	m.Length = section.Length
	noAnswer := func(why string) (Measured, bool) {
		m.Outcome, m.Why = NoAnswer, why
		return m, true
	}
	switch {
	case w.gap != "":
		return noAnswer(w.gap)
	case len(missing) > 0 && now.After(w.end.Add(latest)):
		return noAnswer("no snapshot came from " + strings.Join(missing, ", "))
	case len(section.Workers) == 0 && now.After(w.end.Add(latest)):
		return noAnswer("there are no workers")
	case section.Length < time.Second || len(section.Workers) == 0:
		return m, false
	}
	var failed, undecided []string
	m.Values, failed, undecided = d.values(section)
	over = len(missing) == 0 && !now.Before(w.end)
	growth := w.piling(until)
	if !over && (growth == 0 || len(failed) == 0) {
		return m, false
	}
	lacks := w.passedOver(section)
	failed = append(failed, undecided...)
	if why := unsent(section); why != "" {
		failed = append(failed, why)
	}
	limit, full := section.Generator()
	switch {
	case limit != "" && (len(failed) > 0 || lacks != "" || !d.countsDelays()) && (!full || !d.slow(section)):
		return noAnswer(limit)
	case lacks != "":
		return noAnswer(lacks)
	case !over:
		m.Outcome = Failed
		m.Why = fmt.Sprintf("%s, and each second %.0f more requests were in flight; ended early", strings.Join(failed, "; "), growth)
	case len(failed) > 0:
		m.Outcome, m.Why = Failed, strings.Join(failed, "; ")
	default:
		m.Outcome = Passed
	}
	return m, true
}

// values returns the result of each objective. At the end of a window an undecided objective is not met: it is unknown
// how long dropped requests would have taken, and if nothing ended, nothing was answered.
func (d *Driver) values(s report.Section) (values []threshold.Result, failed, undecided []string) {
	for _, t := range d.Objectives {
		v := s.Judge(t)
		values = append(values, v)
		switch v.Result {
		case threshold.Failed:
			failed = append(failed, t.Text+": "+v.Text)
		case threshold.Undecided:
			undecided = append(undecided, t.Text+": "+v.Text)
		}
	}
	return values, failed, undecided
}

// countsDelays reports whether delays of the generator make an objective harder to meet.
func (d *Driver) countsDelays() bool {
	return slices.ContainsFunc(d.Objectives, func(t threshold.Threshold) bool {
		return slices.Contains([]string{"latency", "lag", "first_event", "stream"}, t.Metric)
	})
}

// slow reports whether the service times alone miss an objective about times. The limit of requests in flight does not
// lengthen service times, nor first bytes or events, so the service is slow, and that is why the limit was reached.
func (d *Driver) slow(s report.Section) bool {
	for _, t := range d.Objectives {
		switch t.Metric {
		case "latency":
			t.Metric = "service"
		case "first_event":
			t.Metric = "first_event_service"
		}
		if slices.Contains([]string{"service", "first_byte", "first_event_service"}, t.Metric) && s.Judge(t).Result == threshold.Failed {
			return true
		}
	}
	return false
}

// passedOver says that no worker owned some of what was due; "" if that is within bounds.
func (w *window) passedOver(s report.Section) string {
	if len(s.Workers) == 0 || s.Asked == 0 {
		return "nothing was due"
	}
	n := w.skipped[1] - w.skipped[0]
	if float64(n) <= mostSkipped*float64(s.Asked) {
		return ""
	}
	return fmt.Sprintf("no worker owned %d of %d due requests: a worker is missing, or Redis was slow", n, s.Asked)
}

// unsent says that some of what was due was dropped for lack of a connection, or still waits for one.
func unsent(s report.Section) string {
	c := s.Total().Counts
	asked, dropped := s.Asked+c.Followed+c.FollowedLate, c.LateDropped+c.FollowedLate
	n := asked - c.Requests()
	if float64(dropped) <= mostDropped*float64(asked) && float64(n) <= mostUnsent*float64(asked)+1 {
		return ""
	}
	return fmt.Sprintf("%d of %d requests were not sent, because no connection was free in time", max(n, dropped), asked)
}
