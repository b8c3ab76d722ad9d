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
	Answers           Answers                    // of the queries about the other side; the zero value = there are none
}

// Span returns how many of the last seconds of a run decide whether it is aborted, or its rate lowered, where points have
// this width.
func (t Threshold) Span(width int64) int64 {
	return (t.points(width) + max(t.Abort, t.Reduce.After) - 1) * width
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
	failed := int64(0)
	for _, v := range t.Verdicts(s, t.Abort) {
		if v.Result == Failed {
			failed++
		}
	}
	return t.Abort > 0 && failed == t.Abort
}

// A Verdict is the result of one window of a run that goes on.
type Verdict struct {
	Begin, End int64   // in seconds since the start of the run
	Result     string  // Passed, Failed or Undecided; "" = nothing was asked for, or the run was paused
	Value      float64 // the measured value, in the unit of the threshold's kind; 0 if nothing was measured
	Text       string  // the value, for people
}

// Verdicts judges the last n windows of the stretch, or as many as it has. One begins at each point.
func (t Threshold) Verdicts(s Stretch, n int64) []Verdict {
	size := t.points(s.Width)
	n = min(n, (s.End-s.Begin)/s.Width-size+1)
	if n < 1 {
		return nil
	}
	begin := s.End - (size+n-1)*s.Width
	before := min(2, begin/s.Width) // a pause may end where the first window begins
	points := s.windows(begin - before*s.Width)
	s.Answers.Fill(t, points, s.Width)
	MarkPauses(points)
	var all []Verdict
	eachWindow(points[before:], int(size), func(w Window) {
		all = append(all, t.verdict(s, w))
	})
	return all
}

// verdict judges one window of the stretch.
func (t Threshold) verdict(s Stretch, w Window) Verdict {
	v := Verdict{Begin: w.At, End: w.At + t.points(s.Width)*s.Width}
	if w.Asked == 0 && w.Sent == 0 && !w.Goes(t) || (w.Paused || s.Paused) && !t.judgesPaused() {
		return v
	}
	if w.Unknown = 0; s.Missing && w.Asked > 0 {
		w.Unknown = max(0, w.Asked-w.Sent)
	} else if s.Missing { // a closed loop
		w.Unknown = Unbounded
	}
	read := w.Read(t)
	v.Result = t.Judge(read)
	if !read.none {
		v.Value, v.Text = read.shown, t.Kind().format(read.shown)
	} else if read.blind {
		v.Text = read.lack()
	}
	if s.Limited > w.At && !t.LimitsFailures() && t.Metric != "query" { // the generator may have caused the times and rates
		v.Result = Undecided
	}
	return v
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
			w.Streams, w.Judged, w.Good = p.Streamed(), p.Judged, p.Good
		}
	}
	return all
}
