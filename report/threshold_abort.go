package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Stretch is a part of a run that goes on, as all its workers have published it.
type Stretch struct {
	Begin, End, Width int64                      // in seconds since the start, all multiples of Width
	Points            []Point                    // of all workers, as MergeSeries adds them up
	Asked             func(from, to int64) int64 // slots due in [from, to), in µs since the start
	Paused            bool                       // the run is paused
	Limited           int64                      // the last second in which the generator of a worker was a limit; 0 = none
	Missing           bool                       // a running worker has not told everything, so requests that look unsent may have been sent
}

// Span returns how many of the last seconds of a run decide whether it is aborted, where points have this width.
func (t Threshold) Span(width int64) int64 {
	return (t.points(width) + t.Abort - 1) * width
}

// Stops returns the reason given when a run is stopped because its windows up to a second failed, as the command stop
// records it.
func (t Threshold) Stops(second int64) string { return fmt.Sprintf("%s%d", t.stops(), second) }

func (t Threshold) stops() string { return "threshold " + t.Text + " failed at second " }

// stoppedBy tells whether the threshold has stopped the run. What the fleet knew then was enough, even if some of it
// was lost later.
func (r *Report) stoppedBy(t Threshold) bool {
	return t.Abort > 0 && slices.ContainsFunc(r.Described.Commands, func(c Command) bool {
		return c.Command == "stop" && strings.HasPrefix(c.What, t.stops())
	})
}

// points returns the number of points in a window.
func (t Threshold) points(width int64) int64 {
	return (int64(t.Over/time.Second) + width - 1) / width
}

// Aborts tells whether the last windows of the stretch fail, as many in a row as stop the run. An undecided window has
// not failed; nor has one in which nothing was asked for.
func (t Threshold) Aborts(s Stretch) bool {
	begin := s.End - t.Span(s.Width)
	if t.Abort == 0 || begin < s.Begin || s.Paused && !t.judgesPart() {
		return false
	}
	if s.Limited > begin && !t.believed() { // the generator may have caused the times and rates
		return false
	}
	failed := int64(0)
	before := min(2, begin/s.Width) // a pause may end where the first window begins
	points := s.windows(begin - before*s.Width)
	markPauses(points)
	slide(points[before:], int(t.points(s.Width)), func(w window) {
		if w.unknown = 0; s.Missing && w.asked > 0 {
			w.unknown = max(0, w.asked-w.sent)
		} else if s.Missing { // a closed loop
			w.unknown = noBound
		}
		if w.paused && !t.judgesPart() {
			return
		}
		if (w.asked > 0 || w.sent > 0) && t.judge(w.read(t)) == Failed {
			failed++
		}
	})
	return failed == t.Abort
}

// windows returns the stretch from a second on, a window for each point.
func (s Stretch) windows(begin int64) []window {
	all := make([]window, (s.End-begin)/s.Width)
	for i := range all {
		at := begin + int64(i)*s.Width
		all[i] = window{at: at, seconds: float64(s.Width), latency: newPoint(0, 1).Latency, asked: s.Asked(at*1_000_000, (at+s.Width)*1_000_000)}
	}
	for _, p := range s.Points {
		if i := p.Index - begin/s.Width; p.Width == s.Width && i >= 0 && i < int64(len(all)) {
			w := &all[i]
			w.sent, w.ok, w.failed, w.latency = p.Sent, p.Completed, p.Failed, p.Latency
		}
	}
	return all
}
