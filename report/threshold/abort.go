package threshold

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// A Stretch is a part of a run that goes on, as all its workers have published it.
type Stretch struct {
	Begin, End, Width int64                      // in seconds since the start, all multiples of Width
	Points            []record.Point             // of all workers, as MergeSeries adds them up
	Asked             func(from, to int64) int64 // slots due in [from, to), in µs since the start
	Paused            bool                       // the run is paused
	Limited           int64                      // the last second in which the generator of a worker was a limit; 0 = none
	Missing           bool                       // a running worker has not reported everything, so requests that look unsent may have been sent
}

// Span returns how many of the last seconds of a run decide whether it is aborted, where points have this width.
func (t Threshold) Span(width int64) int64 {
	return (t.points(width) + t.Abort - 1) * width
}

// StopReason returns the reason given when a run is stopped because its windows up to a second failed, as the command
// stop records it.
func (t Threshold) StopReason(second int64) string {
	return fmt.Sprintf("%s%d", t.StopPrefix(), second)
}

// StopPrefix is how the reason of such a stop begins.
func (t Threshold) StopPrefix() string { return "threshold " + t.Text + " failed at second " }

// points returns the number of points in a window.
func (t Threshold) points(width int64) int64 {
	return (int64(t.Over/time.Second) + width - 1) / width
}

// Aborts reports whether the last windows of the stretch fail, as many in a row as stop the run. An undecided window
// has not failed; nor has one in which nothing was asked for.
func (t Threshold) Aborts(s Stretch) bool {
	begin := s.End - t.Span(s.Width)
	if t.Abort == 0 || begin < s.Begin || s.Paused && !t.judgesPaused() {
		return false
	}
	if s.Limited > begin && !t.LimitsFailures() { // the generator may have caused the times and rates
		return false
	}
	failed := int64(0)
	before := min(2, begin/s.Width) // a pause may end where the first window begins
	points := s.windows(begin - before*s.Width)
	MarkPauses(points)
	eachWindow(points[before:], int(t.points(s.Width)), func(w Window) {
		if w.Unknown = 0; s.Missing && w.Asked > 0 {
			w.Unknown = max(0, w.Asked-w.Sent)
		} else if s.Missing { // a closed loop
			w.Unknown = Unbounded
		}
		if w.Paused && !t.judgesPaused() {
			return
		}
		if (w.Asked > 0 || w.Sent > 0) && t.Judge(w.Read(t)) == Failed {
			failed++
		}
	})
	return failed == t.Abort
}

// windows returns the stretch from a second on, a window for each point.
func (s Stretch) windows(begin int64) []Window {
	all := make([]Window, (s.End-begin)/s.Width)
	for i := range all {
		at := begin + int64(i)*s.Width
		all[i] = Window{At: at, Seconds: float64(s.Width), Latency: record.NewPoint(0, 1).Latency, Asked: s.Asked(at*1_000_000, (at+s.Width)*1_000_000)}
	}
	for _, p := range s.Points {
		if i := p.Index - begin/s.Width; p.Width == s.Width && i >= 0 && i < int64(len(all)) {
			w := &all[i]
			w.Sent, w.OK, w.Failed, w.Latency = p.Sent, p.Completed, p.Failed, p.Latency
		}
	}
	return all
}
