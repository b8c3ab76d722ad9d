package model

import (
	"slices"

	"github.com/loadctl/loadctl/pacer/lease"
)

// A Bound is what a run may send at endpoints that other runs share, by its rights in the ledger of budgets
// (docs/adr/0045-endpoint-budgets.md). The zero Bound bounds nothing.
type Bound struct {
	Rights string // text that the script only compares; "" = there is no bound
	Allow  int64  // no law may have a higher rate, requests per 1,000,000 s
	Until  int64  // no lease is longer, µs; 0 = this server may have forgotten the rights
}

// frozen says whether nobody may send at an endpoint of the run.
type frozen int64

const (
	notFrozen      frozen = iota
	isFrozen              // it does not send anyway
	pausedByFreeze        // it was paused for that, and will be resumed
)

// doubt notes that this server may have forgotten what the run may send.
func (r *Run) doubt() {
	if r.bound.Allow < endless {
		r.bound.Until = 0
	}
}

// leaseEnd returns until when a reply leases, µs.
func (r *Run) leaseEnd() int64 {
	if r.reweigh(); r.peak > r.bound.Allow {
		return 0
	}
	if r.Without.Rights {
		return r.now + r.Hold
	}
	return min(r.now+r.Hold, r.bound.Until)
}

// reweigh weighs if the laws have changed, or if that may lower the peak to what is allowed.
func (r *Run) reweigh() {
	if r.changed || r.peak > r.bound.Allow {
		r.weigh()
	}
}

// weigh finds the highest rate by laws that are in force or will be, and by their plans.
func (r *Run) weigh() {
	r.peak = 0
	if r.laws == nil {
		r.peak = r.plan().Peak()
	}
	all := r.laws.All()
	for i, l := range all {
		over := slices.ContainsFunc(all[i+1:], func(x lease.Law) bool {
			return r.laws.Live(x.ID) && x.ClockEpoch == r.clockEpoch && x.T0 <= r.now-margin
		})
		if r.laws.Live(l.ID) && l.Phase == lease.Running && !over {
			r.peak = max(r.peak, l.Plan.Peak())
		}
	}
	if r.high = max(r.high, r.peak); r.peak > r.bound.Allow { // the ledger must be asked before anybody sends that
		r.bound.Until = 0
	}
}

// mayBegin reports whether a run that has not begun may send by its plan.
func (r *Run) mayBegin() bool {
	return r.frozen == notFrozen && r.peak <= r.bound.Allow && r.bound.Until > r.now
}

// settled reports whether no worker can go by a law that is not in force any more.
func (r *Run) settled() bool {
	return r.grace == 0 && !slices.ContainsFunc(r.present(), func(m *Member) bool { return r.laws != nil && m.known < r.command })
}

// refused returns the status of an order that is refused, or "". With RESERVE it returns the highest rate that the run would
// have.
func (r *Run) refused(o Order) (status string, want int64) {
	switch {
	case o.Kind == "pause" || o.Kind == "stop" || o.Kind == "cap" || r.ended(r.time):
		return "", 0
	case o.Kind == "set-rate":
		want = (&lease.Plan{Pieces: o.Pieces}).Peak()
	case o.scales():
		want = o.aim(r.newestPlan()).Peak()
	default: // start, resume
		want = r.newestPlan().Peak()
	}
	switch {
	case r.frozen != notFrozen:
		return "FROZEN", 0
	case (want > r.peak || o.Kind == "start") && (want > r.bound.Allow || r.bound.Until <= r.now):
		return "RESERVE", want
	}
	return "", 0
}

// newestPlan returns the plan that the run goes by, or will.
func (r *Run) newestPlan() *lease.Plan {
	if r.laws == nil {
		return r.plan()
	}
	return r.laws.Newest().Plan
}

// A RightCall reads what bounds a run, or replaces it if nothing has changed since it was read.
type RightCall struct {
	Store    bool
	Lower    bool   // only if no worker can go by a higher rate
	Identity string // of the server that was read
	Was      string // the rights that were read
	Bound    Bound
	Latest   int64 // it is refused later, µs
	Frozen   bool
}

// A RightAnswer is what bounds a run. Status is OK, or RETRY: something has changed, or it is too late.
type RightAnswer struct {
	Status     string
	Now        int64
	Identity   string
	Bound      Bound
	Peak, High int64
	Settled    bool // no worker sends more than Peak
	Frozen     bool
}

// Right reads or replaces what bounds the run. An end of a freeze resumes what the freeze paused.
func (r *Run) Right(now int64, c RightCall) RightAnswer {
	r.advance(now)
	r.settle()
	a := RightAnswer{Status: "OK"}
	switch {
	case !c.Store:
	case c.Identity != r.epoch || c.Was != r.bound.Rights || r.now > c.Latest,
		c.Lower && (r.grace > 0 || r.high != r.peak || c.Bound.Allow < r.high):
		a.Status = "RETRY"
	default:
		r.bound = c.Bound
		r.freeze(c.Frozen)
	}
	r.settle()
	a.Now, a.Identity, a.Bound, a.Peak, a.High, a.Settled, a.Frozen = r.now, r.epoch, r.bound, r.peak, r.high, r.grace == 0 && r.high == r.peak, r.frozen != notFrozen
	return a
}

// settle lowers what a worker may still go by.
func (r *Run) settle() {
	r.weigh()
	if r.grace == 0 && len(r.present()) == 0 && r.ended(r.time) { // nobody is left who could send
		r.peak, r.high = 0, 0
	}
	if r.settled() {
		r.high = r.peak
	}
}

// freeze pauses a run that sends, and resumes it when that is over.
func (r *Run) freeze(on bool) {
	running := r.laws != nil && r.laws.Newest().Phase == lease.Running
	switch {
	case on && running:
		r.change(Order{Kind: "pause"})
		r.frozen = pausedByFreeze
	case on:
		r.frozen = max(r.frozen, isFrozen)
	case r.frozen == pausedByFreeze && r.newestPlan().Peak() <= r.bound.Allow:
		r.change(Order{Kind: "resume"})
		r.frozen = notFrozen
	case r.frozen == isFrozen:
		r.frozen = notFrozen
	}
}
