package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Results of a threshold or a check.
const (
	Passed    = "passed"
	Failed    = "failed"
	Undecided = "undecided" // the run proves neither, or a check cannot be judged; it counts as a failure

	Invalid = "invalid" // of a run as a whole: see Outcome
)

// A ThresholdReport is a threshold and its result.
type ThresholdReport struct {
	Threshold string   `json:"threshold"`             // as given
	Result    string   `json:"result"`                // passed, failed or undecided
	Value     *float64 `json:"value,omitempty"`       // the measured value, with windows that of the worst one; absent = nothing was measured
	Bound     bool     `json:"lower_bound,omitempty"` // the value is a lower bound
	Unit      kind     `json:"unit"`                  // of the value: ns, share, requests or requests/s
	WindowS   int64    `json:"window_s,omitempty"`    // length of the windows; absent = the run as a whole
	AtS       *int64   `json:"at_s,omitempty"`        // start of the worst window, in seconds since the start of the run
	Text      string   `json:"text"`                  // the value and the reason, for people
}

// A reading is what is known of a value: it lies in [low, high]. Requests that were dropped late are slower than all
// others by an unknown amount, and requests missing in an incomplete report may have gone either way. The bounds are
// the value in the worst and the best case.
type reading struct {
	none      bool // nothing was measured
	shown     float64
	low, high float64
}

// exactly returns the reading of a known value.
func exactly(v float64) reading { return reading{shown: v, low: v, high: v} }

// judge returns the result that holds for all values in the reading.
func (t Threshold) judge(r reading) string {
	switch {
	case r.none:
		return Undecided
	case t.Op == "==" || t.Op == "!=":
		if equal := r.low == t.Limit && r.high == t.Limit; r.low != r.high && t.Limit >= r.low && t.Limit <= r.high {
			return Undecided
		} else if equal == (t.Op == "==") {
			return Passed
		}
		return Failed
	case t.holds(r.low) && t.holds(r.high):
		return Passed
	case !t.holds(r.low) && !t.holds(r.high):
		return Failed
	default:
		return Undecided
	}
}

// holds compares a value with the limit.
func (t Threshold) holds(v float64) bool {
	switch t.Op {
	case "<":
		return v < t.Limit
	case "<=":
		return v <= t.Limit
	case ">":
		return v > t.Limit
	default:
		return v >= t.Limit
	}
}

// believed tells whether the threshold is trusted even if the generator was the limit, and then only if it fails: an
// error answer is the endpoint's in any case.
func (t Threshold) believed() bool {
	return t.Metric == "errors" || t.Metric == "checks" || t.Metric == "status"
}

// judgeThresholds adds the result of each threshold. It needs the rest of the report.
func (r *Report) judgeThresholds(in Input) {
	r.WarmupS = in.Warmup.Seconds()
	for _, t := range in.Thresholds {
		r.Thresholds = append(r.Thresholds, r.threshold(t, in.Warmup))
	}
}

// threshold judges one threshold.
func (r *Report) threshold(t Threshold, warmup time.Duration) ThresholdReport {
	out := ThresholdReport{Threshold: t.Text, Unit: t.kind()}
	if t.Over > 0 || warmup > 0 {
		r.judgeWindows(t, warmup, &out)
	} else {
		read := r.whole().read(t)
		out.Result = t.judge(read)
		out.show(t, read)
	}
	if r.stoppedBy(t) { // to stop the run, it was proved to fail
		if out.Result != Failed {
			out.Text += "; it stopped the run"
		}
		out.Result = Failed
		return out
	}
	var doubt string
	switch out.Result {
	case Passed:
		doubt = r.doubt()
	case Failed:
		if !t.believed() && !r.Running {
			doubt = r.generatorLimit()
		}
	}
	if doubt != "" {
		out.Result = Undecided
		out.Text += ", but " + doubt
	}
	return out
}

// show fills in the value.
func (out *ThresholdReport) show(t Threshold, read reading) {
	if read.none {
		out.Text = "nothing was measured"
		return
	}
	out.Value = &read.shown
	out.Bound = math.IsInf(read.high, 1) && read.low == read.shown
	out.Text = t.kind().format(read.shown)
	if out.Bound {
		out.Text = "≥ " + out.Text
	}
	if out.Result == Undecided && !out.Bound {
		out.Text += ", but missing data may change it"
	}
}

// format formats a value for people.
func (k kind) format(v float64) string {
	switch k {
	case timeKind:
		return duration(int64(v))
	case shareKind:
		return percent(v) + " %"
	case rateKind:
		return rate(v) + "/s"
	default:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
}

// judgeWindows judges every window. Without over there is one window, from the end of the warm-up to the end.
func (r *Report) judgeWindows(t Threshold, warmup time.Duration, out *ThresholdReport) {
	width := max(1, r.SeriesWidthS)
	points := r.windowsFrom(width, int64(math.Ceil(warmup.Seconds())))
	if t.Metric == "rate" { // a partial last second has only a part of the requests
		points = slices.DeleteFunc(points, func(w window) bool { return float64(w.at+width) > r.DurationS })
	}
	size := len(points)
	if t.Over > 0 {
		size = int((int64(t.Over/time.Second) + width - 1) / width)
		out.WindowS = int64(size) * width
	}
	if size == 0 || size > len(points) {
		out.Result, out.Text = Undecided, fmt.Sprintf("the run had no window of %v", max(t.Over, time.Duration(width)*time.Second))
		if t.Over == 0 {
			out.Text = "nothing was measured after the warm-up"
		}
		return
	}
	all := tally{result: Passed}
	slide(points, size, func(w window) {
		if idle := w.asked == 0 && w.sent == 0 && w.ok+w.failed == 0; idle && !r.ClosedLoop || w.paused && !t.judgesPart() {
			return
		}
		read := w.read(t)
		all.add(t, w.at, t.judge(read), read)
	})
	all.tell(t, out)
}

// A tally keeps the worst of all windows: failed before undecided, and among equals the one with the worst value.
type tally struct {
	result         string
	judged, failed int
	worst          reading
	at             int64
}

func (a *tally) add(t Threshold, at int64, result string, read reading) {
	if a.judged++; result == Failed {
		a.failed++
	}
	was, is := severity(a.result), severity(result)
	if a.judged == 1 || is > was || is == was && t.worse(read, a.worst) {
		a.worst, a.at = read, at
	}
	if is > was {
		a.result = result
	}
}

// severity orders results of thresholds and checks.
func severity(result string) int { return slices.Index([]string{Passed, Undecided, Failed}, result) }

// worse tells whether a is further from the threshold's condition than b.
func (t Threshold) worse(a, b reading) bool {
	switch {
	case a.none || b.none:
		return a.none && !b.none
	case t.Op == ">" || t.Op == ">=":
		return a.shown < b.shown
	case t.Op == "==":
		return math.Abs(a.shown-t.Limit) > math.Abs(b.shown-t.Limit)
	case t.Op == "!=":
		return math.Abs(a.shown-t.Limit) < math.Abs(b.shown-t.Limit)
	default:
		return a.shown > b.shown
	}
}

// tell writes the worst window into the report.
func (a *tally) tell(t Threshold, out *ThresholdReport) {
	if a.judged == 0 {
		out.Result, out.Text = Undecided, "in each window nothing was asked for, or the run was paused"
		return
	}
	out.Result = a.result
	out.show(t, a.worst)
	if t.Over == 0 {
		return
	}
	out.AtS = &a.at
	out.Text += fmt.Sprintf(" in seconds %d to %d", a.at, a.at+out.WindowS)
	if a.failed > 0 {
		out.Text += fmt.Sprintf(", %d of %d windows failed", a.failed, a.judged)
	}
}
