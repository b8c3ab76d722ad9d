package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// What became of a threshold, or of a check.
const (
	Passed    = "passed"
	Failed    = "failed"
	Undecided = "undecided" // the run proves neither, or a check cannot be judged; it counts as a failure

	Invalid = "invalid" // of a run as a whole: see Outcome
)

// A ThresholdReport is a threshold and what became of it.
type ThresholdReport struct {
	Threshold string   `json:"threshold"`             // as it was given
	Result    string   `json:"result"`                // passed, failed or undecided
	Value     *float64 `json:"value,omitempty"`       // what was measured, with windows in the worst of them; absent = nothing
	Bound     bool     `json:"lower_bound,omitempty"` // the value is at least this
	Unit      kind     `json:"unit"`                  // of the value: ns, share, requests or requests/s
	WindowS   int64    `json:"window_s,omitempty"`    // length of the windows; absent = the run as a whole
	AtS       *int64   `json:"at_s,omitempty"`        // where the worst window begins, since the start of the run
	Text      string   `json:"text"`                  // the value and the reason, for people
}

// A reading is what is known of a value: it lies in [low, high]. Requests that were dropped late are slower than all others by nobody knows
// how much, and what is missing in an incomplete report may have gone any way; so the bounds are what the worst and the best case make it.
type reading struct {
	none      bool // nothing was measured
	shown     float64
	low, high float64
}

// exactly is a value that is known.
func exactly(v float64) reading { return reading{shown: v, low: v, high: v} }

// judge is the result for all values that the reading leaves open.
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

// Of a run whose generator was the limit only these are believed, and only where they fail: what an endpoint answered it has answered.
func (t Threshold) believed() bool {
	return t.Metric == "errors" || t.Metric == "checks" || t.Metric == "status"
}

// judgeThresholds adds what became of each threshold. The rest of the report has to be there.
func (r *Report) judgeThresholds(in Input) {
	r.WarmupS = in.Warmup.Seconds()
	for _, t := range in.Thresholds {
		r.Thresholds = append(r.Thresholds, r.threshold(t, in.Warmup))
	}
}

// threshold judges one.
func (r *Report) threshold(t Threshold, warmup time.Duration) ThresholdReport {
	out := ThresholdReport{Threshold: t.Text, Unit: t.kind()}
	if t.Over > 0 || warmup > 0 {
		r.judgeWindows(t, warmup, &out)
	} else {
		read := r.whole().read(t)
		out.Result = t.judge(read)
		out.show(t, read)
	}
	if r.stoppedBy(t) { // that needed proof
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
		out.Text += ", but what is not known may change it"
	}
}

// format writes a value for people.
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

// judgeWindows judges every window; without over there is one, from the end of the warm-up to the end.
func (r *Report) judgeWindows(t Threshold, warmup time.Duration, out *ThresholdReport) {
	width := max(1, r.SeriesWidthS)
	points := r.windowsFrom(width, int64(math.Ceil(warmup.Seconds())))
	if t.Metric == "rate" { // a part of a second at the end has a part of the requests
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

// A tally is the worst of all windows: a failed one before one that is undecided, and of equal ones that whose value is the worst.
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

// severity orders results, of thresholds and checks.
func severity(result string) int { return slices.Index([]string{Passed, Undecided, Failed}, result) }

// worse tells whether a is further from what the threshold asks for than b.
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
		out.Result, out.Text = Undecided, "nothing was asked for, or a pause lies in each window"
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
