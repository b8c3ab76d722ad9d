package report

import (
	"errors"
	"fmt"
	"strings"
)

// A Budget is what the server counted over the whole run.
type Budget struct {
	Issued    int64 // slots that were due, whosever they were
	Skipped   int64 // of these, those that were nobody's
	Ungranted int64 // never issued though the rate asked for them: only runs with a limiter have these
}

// An Audit accounts for every slot of a run. All terms count slots or requests,
// are ≥ 0, and obey, exactly and at any moment of a run:
//
//	issued = sent + late_dropped + skipped + recalled + lost + held
//	asked  = issued − recalled − overrun + ungranted
//	sent   = completed + failed + in_flight
//
// asked is the integral of the rate in force: a slot at or after the end of its
// generation was never asked for, so it is either recalled or, if it was fired
// all the same, overrun.
//
// A closed loop has no slots. Of it only the last equation holds: see ofLoop and
// Report.CheckAudit.
//
// A leased slot that its incarnation has not accounted for belongs to recalled
// as far as the incarnation has such slots at or after the end of their
// generation, else to held while the process runs, and to lost when it is gone.
// While it runs this may still change to what really happens; asked does not.
type Audit struct {
	Issued      int64 `json:"issued"`       // slots that were due, whosever they were
	Asked       int64 `json:"asked"`        // requests the rate in force asked for
	Sent        int64 `json:"sent"`         // requests that began to be sent
	LateDropped int64 `json:"late_dropped"` // too late to send
	Skipped     int64 `json:"skipped"`      // nobody's
	Recalled    int64 `json:"recalled"`     // dropped because their generation had ended
	Lost        int64 `json:"lost"`         // leased to an incarnation that is gone, fate unknown
	Held        int64 `json:"held"`         // leased to an incarnation that runs, fate still open
	Overrun     int64 `json:"overrun"`      // not recalled though their generation had ended, learned too late: fired, or dropped as late
	Ungranted   int64 `json:"ungranted"`    // asked for, never issued: what passed without a grant, in a run with a limiter
	Completed   int64 `json:"completed"`    // answered as expected
	Failed      int64 `json:"failed"`       // ended otherwise
	InFlight    int64 `json:"in_flight"`    // sent and not ended, as far as is known
}

// newAudit sums the server's counts and those of every incarnation.
func newAudit(b Budget, workers []WorkerInput) Audit {
	a := Audit{Issued: b.Issued, Skipped: b.Skipped, Ungranted: b.Ungranted}
	for _, w := range workers {
		a.addIncarnation(w)
	}
	a.Asked = a.Issued - a.Recalled - a.Overrun + a.Ungranted
	return a
}

// ofLoop is the audit of a closed loop: what became of its requests, and no slots.
func (a Audit) ofLoop() Audit {
	return Audit{Sent: a.Sent, Completed: a.Completed, Failed: a.Failed, InFlight: a.InFlight}
}

// addIncarnation adds one incarnation: what it told, and what must have become
// of the slots it did not account for (see Audit).
func (a *Audit) addIncarnation(w WorkerInput) {
	var told Counts
	if w.Total != nil {
		told = w.Total.Counts
		a.InFlight += w.Total.InFlight()
	}
	open := max(0, w.Leased-told.Slots())
	recalled := told.Recalled + min(open, max(0, w.Beyond-told.Recalled))
	rest := open - (recalled - told.Recalled)

	a.Sent += told.Sent
	a.LateDropped += told.LateDropped
	a.Issued -= told.Ungranted // the worker owned them, and nobody was given them to send
	a.Ungranted += told.Ungranted
	a.Completed += told.Completed
	a.Failed += told.Failed
	a.Recalled += recalled
	a.Overrun += max(0, w.Beyond-recalled)
	if w.Gone {
		a.Lost += rest
	} else {
		a.Held += rest
	}
}

// A term is one named number of an equation, added or subtracted.
type term struct {
	name  string
	n     int64
	minus bool
}

// sum returns the value of the terms.
func sum(terms []term) int64 {
	var total int64
	for _, t := range terms {
		if t.minus {
			total -= t.n
		} else {
			total += t.n
		}
	}
	return total
}

// equation writes "name n = first … + second … − third …", leaving out what is
// zero after the first term, with ≠ where the sides differ.
func equation(name string, n int64, terms []term) string {
	var b strings.Builder
	sign := "="
	if n != sum(terms) {
		sign = "≠"
	}
	fmt.Fprintf(&b, "%s %d %s", name, n, sign)
	for i, t := range terms {
		switch {
		case i == 0:
		case t.n == 0:
			continue
		case t.minus:
			b.WriteString(" −")
		default:
			b.WriteString(" +")
		}
		fmt.Fprintf(&b, " %s %d", t.name, t.n)
	}
	return b.String()
}

// kept is the share of what was asked for that was not dropped late, 1 − late_dropped/asked: 0 to 1.
func (a Audit) kept() float64 {
	if a.LateDropped == 0 || a.Asked <= 0 {
		return 1
	}
	return max(0, 1-float64(a.LateDropped)/float64(a.Asked))
}

// issuedTerms is the right side of the first equation of Audit.
func (a Audit) issuedTerms() []term {
	return []term{
		{name: "sent", n: a.Sent},
		{name: "late_dropped", n: a.LateDropped}, {name: "skipped", n: a.Skipped},
		{name: "recalled", n: a.Recalled}, {name: "lost", n: a.Lost}, {name: "held", n: a.Held},
	}
}

// askedTerms is the right side of the second equation.
func (a Audit) askedTerms() []term {
	return []term{
		{name: "issued", n: a.Issued}, {name: "recalled", n: a.Recalled, minus: true},
		{name: "overrun", n: a.Overrun, minus: true}, {name: "ungranted", n: a.Ungranted},
	}
}

// sentTerms is the right side of the third equation.
func (a Audit) sentTerms() []term {
	return []term{
		{name: "completed", n: a.Completed}, {name: "failed", n: a.Failed},
		{name: "in_flight", n: a.InFlight},
	}
}

// reasonTerms is the promise: asked is what was sent for it, and each reason
// for not sending. It follows from the first two equations.
func (a Audit) reasonTerms() []term {
	return []term{
		{name: "sent", n: a.Sent}, {name: "overrun", n: a.Overrun, minus: true},
		{name: "late_dropped", n: a.LateDropped}, {name: "skipped", n: a.Skipped},
		{name: "lost", n: a.Lost}, {name: "held", n: a.Held}, {name: "ungranted", n: a.Ungranted},
	}
}

// An identity is an equation of Audit: a term and what it must be the sum of.
type identity struct {
	name  string
	n     int64
	terms []term
}

// Check returns an error that names, with the numbers, each equation of Audit
// that does not hold and each term that is negative; nil if all is well. Of a
// closed loop ask Report.CheckAudit.
func (a Audit) Check() error {
	return checkAll(identity{"issued", a.Issued, a.issuedTerms()}, identity{"asked", a.Asked, a.askedTerms()}, identity{"sent", a.Sent, a.sentTerms()})
}

// CheckAudit is Audit.Check for a run of either kind: a closed loop has only the
// last equation.
func (r Report) CheckAudit() error {
	if r.ClosedLoop {
		return checkAll(identity{"sent", r.Audit.Sent, r.Audit.sentTerms()})
	}
	return r.Audit.Check()
}

// checkAll is Check for some equations.
func checkAll(all ...identity) error {
	var problems []error
	for _, e := range all {
		if total := sum(e.terms); total != e.n {
			problems = append(problems, fmt.Errorf("audit: %s, which is %d", equation(e.name, e.n, e.terms), total))
		}
		for _, t := range append(e.terms, term{name: e.name, n: e.n}) {
			if t.n < 0 {
				problems = append(problems, fmt.Errorf("audit: %s is negative: %d", t.name, t.n))
			}
		}
	}
	return errors.Join(problems...)
}
