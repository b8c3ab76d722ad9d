package budgetsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// slow is how long a lower budget may take until every worker obeys it: a run that is cut off from all may use its right to
// the end. A ledger that may have forgotten rows caps none, so the time begins anew when it knows all again.
const slow = reserve.TTL + 8*second

// judged is what is compared.
type judged struct {
	budgets []change
	thawed  []change // 1 = not frozen
	emptied []int64  // when the ledger was emptied
	quiet   []span   // when the ledger may have forgotten rows
	worst   string
	above   int64 // looks with more than the budget
	most    int64 // the fullest look, in thousandths of the budget
	sent    int64 // sum of looks
	idle    int64 // looks at a worker that reaches its run and has no lease
}

// A change of the budget, from a true time on.
type change struct{ at, to int64 }

func (w *world) budgetIs(rate int64) { w.budgets = append(w.budgets, change{w.Now, rate}) }

func (w *world) frozenIs(frozen bool) {
	to := int64(1)
	if frozen {
		to = 0
	}
	w.thawed = append(w.thawed, change{w.Now, to})
}

// noteQuiet notes whether the ledger may have forgotten rows.
func (w *world) noteQuiet() {
	last := len(w.quiet) - 1
	switch {
	case !w.ledger.state.Quiet():
	case last >= 0 && w.quiet[last].to >= w.Now-every:
		w.quiet[last].to = w.Now
	default:
		w.quiet = append(w.quiet, span{w.Now, w.Now})
	}
}

// since returns from when on budgets count that a worker may still obey: what changed before, every worker obeys.
func (w *world) since() int64 {
	since := w.Now - slow
	for _, q := range slices.Backward(w.quiet) {
		if q.to > since {
			since = min(since, q.from-slow)
		}
	}
	return since
}

// newcomer reports whether a run got its first right when the ledger had lost the budget, and may still send beside it: it has
// a row, or is cut off from the ledger since, and goes by a right without end.
func (w *world) newcomer(r *run, since int64) bool {
	return slices.ContainsFunc(w.emptied, func(at int64) bool {
		return at <= r.admitted && (since <= at && w.Now < r.rowEnds || w.Now < r.unbound)
	})
}

// allowed returns the highest budget that was in force since a time.
func (w *world) allowed(since int64) int64 {
	if highest(w.thawed, since, 1) == 0 {
		return 0
	}
	return highest(w.budgets, since, reserve.Endless)
}

// highest returns the highest value that was in force since a time.
func highest(all []change, since, first int64) int64 {
	most, before := int64(0), first
	for _, c := range all {
		if c.at <= since {
			before = c.to
		} else {
			most = max(most, c.to)
		}
	}
	return max(most, before)
}

// look compares what all runs may send with the budget.
func (w *world) look() {
	w.noteQuiet()
	sum, since := int64(0), w.since()
	for _, r := range w.runs {
		rate := r.sending()
		if w.sent += rate / 1000; !w.newcomer(r, since) {
			sum += rate
		}
		for _, x := range r.workers {
			if x.begun && !x.dead && r.state != nil && x.until <= zero+w.Now+x.skew && w.Now > x.began+second {
				w.idle++
			}
		}
	}
	allowed := w.allowed(since)
	if allowed >= reserve.Endless {
		return
	}
	w.most = max(w.most, sum*1000/max(1, allowed))
	if sum <= allowed {
		return
	}
	if w.above++; w.worst == "" {
		w.worst = fmt.Sprintf("at %v all runs may send %d, the budget is %d", time.Duration(w.Now)*time.Microsecond, sum, allowed)
		w.trace("judge", "%s", w.worst)
	}
}

// A Result is what a simulation shows.
type Result struct {
	Above int64  // looks at which all runs together might send more than the budget
	Most  int64  // the fullest look, in thousandths of the budget
	Sent  int64  // sum of all looks
	Idle  int64  // looks at workers that had no lease
	Bad   string // the first thing that must not be
}

// Check returns an error if a promise is broken.
func (r Result) Check() error {
	if r.Bad != "" {
		return fmt.Errorf("%s", r.Bad)
	}
	return nil
}

func (w *world) result() Result {
	return Result{w.above, w.most, w.sent, w.idle, w.worst}
}
