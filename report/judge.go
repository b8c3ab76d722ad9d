package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/units"
)

// judgeThresholds adds the result of each threshold. It needs the rest of the report.
func (r *Report) judgeThresholds(in Input) {
	r.WarmupS = in.Warmup.Seconds()
	for _, t := range in.Thresholds {
		r.Thresholds = append(r.Thresholds, r.threshold(t, in.Warmup, in.QueryStale))
	}
}

// threshold judges one threshold. One on a query fails without an answer for stale.
func (r *Report) threshold(t threshold.Threshold, warmup, stale time.Duration) threshold.Result {
	out := threshold.Result{Threshold: t.Text, Unit: t.Kind()}
	if t.Over > 0 || warmup > 0 {
		r.judgeWindows(t, warmup, stale, &out)
	} else {
		read := r.whole(t.Step).Read(t)
		out.Result = t.Judge(read)
		out.SetValue(t, read)
	}
	if r.stoppedBy(t) { // to stop the run, it was proved to fail
		if out.Result != threshold.Failed {
			out.Text += "; it stopped the run"
		}
		out.Result = threshold.Failed
		return out
	}
	if least, n := r.reducedBy(t); n > 0 {
		out.Result = threshold.Failed
		out.Text += fmt.Sprintf("; it lowered the rate %s, to %s %% of the plan at the least", times(n), percentOf(least))
		return out
	}
	if doubt := r.doubt(t, out.Result); doubt != "" {
		out.Result = threshold.Undecided
		out.Text += ", but " + doubt
	}
	return out
}

// judgeWindows judges every window. Without over there is one window, from the end of the warm-up to the end.
func (r *Report) judgeWindows(t threshold.Threshold, warmup, stale time.Duration, out *threshold.Result) {
	width := max(1, r.SeriesWidthS)
	points := r.windowsFrom(width, int64(math.Ceil(warmup.Seconds())))
	if t.Metric == "rate" { // a partial last second has only a part of the requests
		points = slices.DeleteFunc(points, func(w threshold.Window) bool { return float64(w.At+width) > r.DurationS })
	}
	threshold.Answers{At: r.answer, Stale: stale}.Fill(t, points, width)
	size := len(points)
	if t.Over > 0 {
		size = int((int64(t.Over/time.Second) + width - 1) / width)
		out.WindowS = int64(size) * width
	}
	if size == 0 || size > len(points) {
		out.Result, out.Text = threshold.Undecided, fmt.Sprintf("the run had no window of %v", max(t.Over, time.Duration(width)*time.Second))
		if t.Over == 0 {
			out.Text = "nothing was measured after the warm-up"
		}
		return
	}
	t.JudgeWindows(points, size, func(w threshold.Window) bool {
		return w.Asked == 0 && w.Sent == 0 && w.OK+w.Failed == 0 && !r.ClosedLoop && !w.Goes(t)
	}, out)
}

// whole returns the run, or one step of it, as one window.
func (r *Report) whole(step string) threshold.Window {
	if step != "" {
		return stepWindow(r.recorded()[step], r.DurationS, r.OutOfRange, r.unknown())
	}
	w := threshold.Window{
		Seconds: r.DurationS, Asked: r.Asked + r.Audit.Followed + r.followedLate(), Sent: r.Audit.Requests(), OK: r.Audit.Completed, Failed: r.Audit.Failed, Status: r.StatusCodes,
		Judged: r.Goodput.Judged, Good: r.Goodput.Good,
		NotSent: max(0, r.Audit.Asked+r.Audit.Overrun-r.Audit.Sent-r.held()) + r.followedLate(),
		Kept:    r.Audit.kept(r.followedLate()), Slower: r.OutOfRange, Unknown: r.unknown(),
	}
	if h := r.Histograms; h != nil {
		w.Latency, w.Service, w.Lag = h.Latency, h.Service, h.Lag
		w.Streams = h.Streams
		w.FirstByte, w.DNS, w.Connect, w.TLS = h.Phases.FirstByte.Histogram(), h.Phases.DNS.Histogram(), h.Phases.Connect.Histogram(), h.Phases.TLS.Histogram()
	}
	return w
}

// NotSent returns the share of what was asked for that was not sent, 0…1, as the threshold dropped:rate measures it. A
// closed loop asks for nothing. atMost: the report is not complete, so some of that may have been sent.
func (r Report) NotSent() (share float64, atMost bool) {
	if r.ClosedLoop {
		return 0, false
	}
	w := r.whole("")
	return units.Ratio(float64(w.NotSent), float64(w.Asked)), !r.Running && !r.Complete
}

// held returns how many slots of a run that goes on are not decided yet.
func (r *Report) held() int64 {
	if r.Running {
		return r.Audit.Held
	}
	return 0
}

// unknown returns how many requests may have been sent, or have ended, without being counted. A worker that Redis has
// forgotten and that did not report sent no more than what was skipped or not granted: its slots are counted there.
func (r *Report) unknown() int64 {
	a := r.Audit
	switch {
	case r.Complete || r.Running:
		return 0
	case r.ClosedLoop: // nobody counted requests before they were sent
		return threshold.Unbounded
	case slices.ContainsFunc(r.Workers, func(w WorkerReport) bool { return w.State == "alone" }): // it is unknown who else took part
		return threshold.Unbounded
	}
	unknown := (a.Lost+a.Held+a.Skipped+a.Ungranted)*r.mostSteps() + max(0, a.InFlight)
	for _, s := range r.Steps {
		unknown += s.Unfinished
	}
	return unknown
}

// mostSteps returns how many requests a slot may have at most.
func (r *Report) mostSteps() int64 {
	switch {
	case r.Audit.Followed == 0:
		return 1
	case len(r.Steps) > record.MaxSteps: // some are pooled
		return 100
	default:
		return int64(len(r.Steps))
	}
}

// windowsFrom returns the series from a second on, a window for each point.
func (r *Report) windowsFrom(width, from int64) []threshold.Window {
	var all []threshold.Window
	points := make(map[int64]record.Point)
	if r.Histograms != nil {
		for _, p := range r.Histograms.Series {
			points[p.Index*width] = p
		}
	}
	unknown := r.unknown() + r.pointsLack()
	for _, s := range r.Series {
		if s.T < from {
			continue
		}
		p, known := points[s.T]
		if !known {
			p = *record.NewPoint(0, 1)
		}
		all = append(all, threshold.Window{
			At: s.T, Seconds: min(float64(width), max(0, r.DurationS-float64(s.T))), Asked: s.Asked, Sent: s.Sent, OK: s.OK, Failed: s.Failed, Latency: p.Latency,
			Streams: p.Streamed(), Judged: p.Judged, Good: p.Good,
			Slower: r.Audit.LateDropped + r.followedLate() + r.OutOfRange, Unknown: unknown,
		})
	}
	threshold.MarkPauses(all)
	return all
}

// pointsLack returns how many counted requests are in no point of the series, because Redis has lost points: those sent
// or those ended, whichever are more.
func (r *Report) pointsLack() int64 {
	sent, ended := r.Audit.Requests(), r.Audit.Completed+r.Audit.Failed
	for _, p := range r.Series {
		sent -= p.Sent
		ended -= p.OK + p.Failed
	}
	return max(0, sent, ended)
}

// stoppedBy reports whether the threshold has stopped the run. What the fleet knew then was enough, even if some of it
// was lost later.
func (r *Report) stoppedBy(t threshold.Threshold) bool {
	return t.Abort > 0 && slices.ContainsFunc(r.Described.Commands, func(c Command) bool {
		return c.Command == "stop" && strings.HasPrefix(c.What, t.StopPrefix())
	})
}
