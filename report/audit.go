package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/report/record"
)

// A Budget holds the server's counts of the whole run.
type Budget struct {
	Asked     int64 // what the rate asked for, by the laws alone, whoever owned it; 0 = not known
	Issued    int64 // slots that were due, owned or not
	Skipped   int64 // of these, slots that no worker owned
	Held      int64 // of these, slots of which it is not known yet who owned them: workers may still report them
	Ungranted int64 // asked for but never issued: only in runs with a limiter
}

// An Audit accounts for every slot of a run. All terms count slots or requests, and are ≥ 0. At every moment of a run
// these equations hold exactly:
//
//	issued = sent + late_dropped + skipped + recalled + lost + held
//	asked  = issued − recalled − overrun + ungranted
//	sent   = completed + failed + in_flight − followed
//
// asked is the integral of the rate in force. A slot at or after the end of its law was never asked for: it is
// recalled, or overrun if it was sent anyway.
//
// A closed loop has no slots; only the last equation holds: see ofLoop and Report.CheckAudit.
//
// An incarnation may not have accounted for some of its slots. Such a slot counts as recalled if it may lie at or after
// the end of its law. Else it counts as held while the process runs, and as lost when the process is gone. While
// the process runs this may still change; asked does not. Right after the server has lost its state and got it back, it
// does not know who owned earlier slots: they count as held until the workers have reported (Budget.Held).
type Audit struct {
	Issued      int64 `json:"issued"`       // slots that were due, owned or not
	Asked       int64 `json:"asked"`        // requests that the rate in force asked for
	Sent        int64 `json:"sent"`         // requests whose sending began; of a flow of several requests, the first one
	LateDropped int64 `json:"late_dropped"` // too late to send
	Skipped     int64 `json:"skipped"`      // owned by no worker
	Recalled    int64 `json:"recalled"`     // dropped because their law had ended
	Lost        int64 `json:"lost"`         // owned by an incarnation that is gone; fate unknown
	Held        int64 `json:"held"`         // owned by an incarnation that runs, or that may; not decided yet
	Overrun     int64 `json:"overrun"`      // beyond the end of their law, but sent or dropped as late before the worker knew of the end, or that its name was taken
	Ungranted   int64 `json:"ungranted"`    // asked for but never issued: the limiter granted less than passed, in a run with a limiter
	Completed   int64 `json:"completed"`    // answered with an expected status
	Failed      int64 `json:"failed"`       // ended otherwise
	InFlight    int64 `json:"in_flight"`    // sent and not ended, as far as known

	// Followed counts the requests of flows after their first ones. They have no slots of their own.
	Followed int64 `json:"followed,omitempty"`
}

// Requests returns how many requests were sent: the first ones of flows, and those that followed.
func (a Audit) Requests() int64 { return a.Sent + a.Followed }

// newAudit adds up the counts of the server and of all incarnations.
func newAudit(b Budget, workers []WorkerInput) Audit {
	a := Audit{Issued: b.Issued, Skipped: b.Skipped, Held: b.Held, Ungranted: b.Ungranted}
	for _, w := range workers {
		a.addIncarnation(w)
	}
	a.Asked = a.Issued - a.Recalled - a.Overrun + a.Ungranted
	return a
}

// ofLoop returns the audit of a closed loop: only what became of its requests.
func (a Audit) ofLoop() Audit {
	return Audit{Sent: a.Sent, Completed: a.Completed, Failed: a.Failed, InFlight: a.InFlight}
}

// addIncarnation adds the counts of one incarnation, and accounts for the slots that it did not report (see Audit).
func (a *Audit) addIncarnation(w WorkerInput) {
	var reported record.Counts
	if w.Total != nil {
		reported = w.Total.Counts
		a.InFlight += w.Total.InFlight()
	}
	rest := w.Open()
	recalled := reported.Recalled + max(0, w.Leased-reported.Slots()) - rest

	a.Sent += reported.Sent
	a.Followed += reported.Followed
	a.LateDropped += reported.LateDropped
	a.Issued -= reported.Ungranted // the worker owned them, but the limiter did not grant them
	a.Ungranted += reported.Ungranted
	a.Completed += reported.Completed
	a.Failed += reported.Failed
	a.Recalled += recalled
	a.Overrun += max(0, w.Beyond-recalled)
	if w.Gone {
		a.Lost += rest
	} else {
		a.Held += rest
	}
}

// Open returns how many slots the incarnation owned and has not accounted for, without those that may lie at or after the
// end of their law. Of these it has accounted for as many as it has counted itself.
func (w WorkerInput) Open() int64 {
	var reported record.Counts
	if w.Total != nil {
		reported = w.Total.Counts
	}
	open := max(0, w.Leased-reported.Slots())
	return open - min(open, max(0, w.Beyond-max(reported.Recalled, reported.Overrun())))
}

// A Term is a named number of an equation.
type Term struct {
	Name  string
	N     int64
	Minus bool
}

// SumTerms returns the value of the terms.
func SumTerms(terms []Term) int64 {
	var total int64
	for _, t := range terms {
		if t.Minus {
			total -= t.N
		} else {
			total += t.N
		}
	}
	return total
}

// Equation formats "name n = first … + second … − third …". It leaves out later terms that are zero, and writes ≠ if
// the sides differ.
func Equation(name string, n int64, terms []Term) string {
	var b strings.Builder
	sign := "="
	if n != SumTerms(terms) {
		sign = "≠"
	}
	fmt.Fprintf(&b, "%s %d %s", name, n, sign)
	for i, t := range terms {
		switch {
		case i == 0:
		case t.N == 0:
			continue
		case t.Minus:
			b.WriteString(" −")
		default:
			b.WriteString(" +")
		}
		fmt.Fprintf(&b, " %s %d", t.Name, t.N)
	}
	return b.String()
}

// kept returns the share of what was asked for that was not dropped late, 0 to 1:
//
//	1 − (late_dropped + late)/(asked + followed + late)
//
// late is how many later requests of flows were dropped late.
func (a Audit) kept(late int64) float64 {
	asked := a.Asked + a.Followed + late
	if late += a.LateDropped; late == 0 || asked <= 0 {
		return 1
	}
	return max(0, 1-float64(late)/float64(asked))
}

// IssuedTerms is the right side of the first equation of Audit.
func (a Audit) IssuedTerms() []Term {
	return []Term{
		{Name: "sent", N: a.Sent},
		{Name: "late_dropped", N: a.LateDropped}, {Name: "skipped", N: a.Skipped},
		{Name: "recalled", N: a.Recalled}, {Name: "lost", N: a.Lost}, {Name: "held", N: a.Held},
	}
}

// AskedTerms is the right side of the second equation.
func (a Audit) AskedTerms() []Term {
	return []Term{
		{Name: "issued", N: a.Issued}, {Name: "recalled", N: a.Recalled, Minus: true},
		{Name: "overrun", N: a.Overrun, Minus: true}, {Name: "ungranted", N: a.Ungranted},
	}
}

// SentTerms is the right side of the third equation.
func (a Audit) SentTerms() []Term {
	return []Term{
		{Name: "completed", N: a.Completed}, {Name: "failed", N: a.Failed},
		{Name: "in_flight", N: a.InFlight}, {Name: "followed", N: a.Followed, Minus: true},
	}
}

// ReasonTerms is the right side of the equation that the report shows: asked is what was sent for it, plus each reason
// for not sending. It follows from the first two equations.
func (a Audit) ReasonTerms() []Term {
	return []Term{
		{Name: "sent", N: a.Sent}, {Name: "overrun", N: a.Overrun, Minus: true},
		{Name: "late_dropped", N: a.LateDropped}, {Name: "skipped", N: a.Skipped},
		{Name: "lost", N: a.Lost}, {Name: "held", N: a.Held}, {Name: "ungranted", N: a.Ungranted},
	}
}

// Balance returns the sides of the equation that the report shows: what became of all that was asked for, or in a closed
// loop of all that was sent.
func (r Report) Balance() (left Term, right []Term) {
	if r.ClosedLoop {
		return Term{Name: "sent", N: r.Audit.Sent}, r.Audit.SentTerms()
	}
	return Term{Name: "asked", N: r.Audit.Asked}, r.Audit.ReasonTerms()
}

// An identity is an equation of Audit: a term and the terms that add up to it.
type identity struct {
	name  string
	n     int64
	terms []Term
}

// Check returns an error for each equation of Audit that does not hold and each negative term, with the numbers; nil if
// all is well. For a closed loop use [Report.CheckAudit].
func (a Audit) Check() error {
	return checkAll(identity{"issued", a.Issued, a.IssuedTerms()}, identity{"asked", a.Asked, a.AskedTerms()}, identity{"sent", a.Sent, a.SentTerms()})
}

// CheckAudit is [Audit.Check] for runs of both kinds: for a closed loop it checks the last equation only.
func (r Report) CheckAudit() error {
	if r.ClosedLoop {
		return checkAll(identity{"sent", r.Audit.Sent, r.Audit.SentTerms()})
	}
	return r.Audit.Check()
}

// checkAll checks some equations.
func checkAll(all ...identity) error {
	var problems []error
	for _, e := range all {
		if total := SumTerms(e.terms); total != e.n {
			problems = append(problems, fmt.Errorf("audit: %s, which is %d", Equation(e.name, e.n, e.terms), total))
		}
		for _, t := range append(e.terms, Term{Name: e.name, N: e.n}) {
			if t.N < 0 {
				problems = append(problems, fmt.Errorf("audit: %s is negative: %d", t.Name, t.N))
			}
		}
	}
	return errors.Join(problems...)
}
