package threshold

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/loadctl/loadctl/report/units"
)

// Results of a threshold or a check.
const (
	Passed    = "passed"
	Failed    = "failed"
	Undecided = "undecided" // the run proves neither, or a check cannot be judged; it counts as a failure
)

// A Result is a threshold and its result.
type Result struct {
	Threshold string   `json:"threshold"`             // as given
	Result    string   `json:"result"`                // passed, failed or undecided
	Value     *float64 `json:"value,omitempty"`       // the measured value, with windows that of the worst one; absent = nothing was measured
	Bound     bool     `json:"lower_bound,omitempty"` // the value is a lower bound
	Unit      Kind     `json:"unit"`                  // of the value: ns, share, requests, requests/s or value
	WindowS   int64    `json:"window_s,omitempty"`    // length of the windows; absent = the run as a whole
	AtS       *int64   `json:"at_s,omitempty"`        // start of the worst window, in seconds since the start of the run
	Text      string   `json:"text"`                  // the value and the reason, for people
}

// A Reading is what is known of a value: it lies in [low, high]. Requests that were dropped late are slower than all
// others by an unknown amount, and requests missing in an incomplete report may have gone either way. The bounds are
// the value in the worst and the best case.
type Reading struct {
	none      bool // nothing was measured
	blind     bool // and that counts as failed: a query gave no answer for too long
	shown     float64
	low, high float64
}

// exactly returns the reading of a known value.
func exactly(v float64) Reading { return Reading{shown: v, low: v, high: v} }

// Judge returns the result that holds for all values in the reading.
func (t Threshold) Judge(r Reading) string {
	switch {
	case r.blind:
		return Failed
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

// SetValue fills in the value.
func (out *Result) SetValue(t Threshold, read Reading) {
	if read.none {
		out.Text = read.lack()
		return
	}
	out.Value = &read.shown
	out.Bound = math.IsInf(read.high, 1) && read.low == read.shown
	out.Text = t.Kind().format(read.shown)
	if out.Bound {
		out.Text = "≥ " + out.Text
	}
	if out.Result == Undecided && !out.Bound {
		out.Text += ", but missing data may change it"
	}
}

// format formats a value for people.
func (k Kind) format(v float64) string {
	switch k {
	case TimeKind:
		return units.Duration(int64(v))
	case ShareKind:
		return units.Percent(v) + " %"
	case RateKind, PaceKind:
		return units.Rate(v) + "/s"
	case ValueKind:
		return units.Value(v)
	default:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
}

// JudgeWindows judges every window of size neighbouring points, and writes the worst into the result. It leaves out
// those that are idle, and those with a pause, if the pause decides.
func (t Threshold) JudgeWindows(points []Window, size int, idle func(Window) bool, out *Result) {
	all := tally{result: Passed}
	eachWindow(points, size, func(w Window) {
		if idle(w) || w.Paused && !t.judgesPaused() {
			return
		}
		read := w.Read(t)
		all.add(t, w.At, t.Judge(read), read)
	})
	all.write(t, out)
}

// A tally keeps the worst of all windows: failed before undecided, and among equals the one with the worst value.
type tally struct {
	result         string
	judged, failed int
	silent         int // windows in which a query gave no answer
	worst          Reading
	at             int64
}

func (a *tally) add(t Threshold, at int64, result string, read Reading) {
	if t.Metric == "query" && result == Undecided { // --query-stale says how long a query may give no answer
		a.silent++
		return
	}
	if a.judged++; result == Failed {
		a.failed++
	}
	was, is := Severity(a.result), Severity(result)
	if a.judged == 1 || is > was || is == was && t.worse(read, a.worst) {
		a.worst, a.at = read, at
	}
	if is > was {
		a.result = result
	}
}

// Severity orders results of thresholds and checks.
func Severity(result string) int { return slices.Index([]string{Passed, Undecided, Failed}, result) }

// worse reports whether a is further from the threshold's condition than b.
func (t Threshold) worse(a, b Reading) bool {
	switch {
	case a.none || b.none: // a window whose query was silent for too long is the worst
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

// write writes the worst window into the report.
func (a *tally) write(t Threshold, out *Result) {
	if a.judged == 0 {
		out.Result, out.Text = Undecided, "in each window nothing was asked for, or the run was paused"
		if a.silent > 0 {
			out.Text = "the query gave no answer"
		}
		return
	}
	out.Result = a.result
	out.SetValue(t, a.worst)
	if t.Over == 0 {
		return
	}
	out.AtS = &a.at
	out.Text += fmt.Sprintf(" in seconds %d to %d", a.at, a.at+out.WindowS)
	if a.failed > 0 {
		out.Text += fmt.Sprintf(", %d of %d windows failed", a.failed, a.judged)
	}
	if a.silent > 0 {
		out.Text += fmt.Sprintf(", %d windows had no answer", a.silent)
	}
}
