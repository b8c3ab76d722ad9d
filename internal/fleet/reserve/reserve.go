// Package reserve is how a run gets the right to send at an endpoint whose budget many runs share
// (docs/adr/0045-endpoint-budgets.md). It is arithmetic: the calls themselves are made elsewhere.
//
// The budget lies in a ledger, with a row for each run. A run holds a copy of its row, its right. Three leases nest: a
// worker's lease ends before the right of its run, and the right ends before the row. A change has four steps:
//
//	reading            from the run: its clock, identity, right, and what it needs
//	reading.Raise(…)   to the ledger, which answers with a Grant
//	reading.Granted(…) to the run, which refuses it if it is another server than in the reading
//	the order          to the run, which refuses a law above its right
//
// The ledger is asked before the run may send more. It is given room back after every worker sends less.
package reserve

import (
	"slices"

	"github.com/loadctl/loadctl/pacer"
)

// Times, µs.
const (
	TTL     = 30_000_000 // from a renewal of a row to its end
	Margin  = 1_000_000  // a right ends before its row by this; no two servers' clocks differ by more after a failover
	Every   = 3_000_000  // from one renewal to the next
	Unused  = 10_000_000 // a raise that was not used for so long is given back
	Endless = pacer.Endless
)

// A Budget is what all runs together may send at the endpoints that its name fits. Every run carries copies of those that
// fit its endpoint. The rate and the freeze are changed apart, so each has a version: of two copies the newer rate counts,
// and the newer freeze.
type Budget struct {
	Name    string // HOST:PORT, HOST, *.DOMAIN for all its hosts together, or * for each other host; "" = there is none
	Rate    int64  // requests per 1,000,000 s; Endless = no budget
	Version int64  // of the rate; 0 = it was never set
	Frozen  bool   // no run may send
	Freeze  int64  // version of Frozen; 0 = it was never changed
}

// With returns the budget with the newer rate and the newer freeze of both.
func (b Budget) With(other Budget) Budget {
	if other.Version > b.Version {
		b.Rate, b.Version = other.Rate, other.Version
	}
	if other.Freeze > b.Freeze {
		b.Frozen, b.Freeze = other.Frozen, other.Freeze
	}
	return b
}

// Merge returns what is known by both: have, with the newer rates and freezes of more.
func Merge(have, more []Budget) []Budget {
	merged := slices.Clone(have)
	for _, b := range more {
		if i := slices.IndexFunc(merged, func(x Budget) bool { return x.Name == b.Name }); i >= 0 {
			merged[i] = merged[i].With(b)
		} else {
			merged = append(merged, b)
		}
	}
	return merged
}

// A Right is what a run may send at an endpoint: its copy of the ledger's row.
type Right struct {
	Rate    int64 // requests per 1,000,000 s
	Version int64 // of the row
	Until   int64 // µs of the run's clock. No lease of a worker is longer. 0 = the right is to be verified
	End     int64 // of the row, µs of the ledger's clock
}

// A Reading is what a run says of itself, before the ledger is asked.
type Reading struct {
	Host     string // of the endpoint
	Run      string // its uid
	At       int64  // µs of the run's clock
	Identity string
	Right    Right
	Budgets  []Budget // that fit the host
	Raised   int64    // when the right got its version, µs of the run's clock
	Need     int64    // the highest rate at which a worker may send, now or by the plan
	Settled  bool     // Need is exact: no worker can know a law that this server does not
}

// An Ask is a call of the ledger for the row of a run.
type Ask struct {
	Host    string // HOST or HOST:PORT
	Run     string
	Want    int64 // the rate; lower than before, it gives room back
	Right   Right // the run's copy
	Budgets []Budget
}

// A Grant is the ledger's answer. Status is OK; FULL, there is no room for what was wanted, all else is as it was; QUIET,
// as FULL, because the ledger may have forgotten rows; FROZEN, as FULL.
type Grant struct {
	Status  string
	Rate    int64
	Version int64 // of the row; 0 = there is no row
	End     int64
	Budgets []Budget // that fit the host, by name
	Bounded bool     // one of them bounds the rate, or is frozen
	Cap     int64    // the run has to come down to this rate; 0 = it has not
	Left    int64    // room that is left for the run, FULL only
}

// Renew asks for what the run has, or for what it needs if its right is to be verified.
func (r Reading) Renew() Ask {
	want := r.Right.Rate
	if r.Right.Until == 0 {
		want = max(want, r.Need)
	}
	return Ask{r.Host, r.Run, want, r.Right, r.Budgets}
}

// Raise asks for the right to send at a rate.
func (r Reading) Raise(rate int64) Ask {
	return Ask{r.Host, r.Run, max(rate, r.Right.Rate, r.Need), r.Right, r.Budgets}
}

// Granted returns the right that follows from the answer. It counts from the reading, because the answer may be late. At
// an endpoint without a budget it has no end. If there is a budget now, and no room for the run, such a right is over. A right
// is not prolonged while the run has to come down, and then only at the rate that it had to come down to. ok is false if
// nothing follows.
func (r Reading) Granted(g Grant) (right Right, ok bool) {
	if g.Version == 0 {
		right = r.Right
		right.Until = r.At
		return right, g.Bounded && r.Right.Until == Endless && r.Right.Version > 0
	}
	right = Right{g.Rate, g.Version, Endless, g.End}
	if g.Bounded {
		right.Until = r.At + TTL - Margin
	}
	switch {
	case r.tooHigh(g):
		right.Until = min(right.Until, r.Right.Until) // it is prolonged when the run has come down
	case g.Cap > 0:
		right.Rate = g.Cap // an order may use all of a right
	}
	return right, true
}

// tooHigh reports whether the run has to come down, or may have to.
func (r Reading) tooHigh(g Grant) bool {
	return g.Frozen() && r.Need > 0 || g.Cap > 0 && (r.Need > g.Cap || !r.Settled)
}

// Late reports whether it is too late at a time of the run's clock to store what followed from the reading: the row may be
// over.
func (r Reading) Late(now int64) bool { return now > r.At+TTL-Margin }

// Surplus reports whether the right is higher than it has to be, and nobody is about to use the rest.
func (r Reading) Surplus(limit int64) bool {
	return r.Settled && r.Right.Until > 0 && r.Need < r.Right.Rate && (r.At-r.Raised >= Unused || limit > 0 && r.Need <= limit)
}

// Frozen reports whether one of the budgets is frozen.
func (g Grant) Frozen() bool {
	return slices.ContainsFunc(g.Budgets, func(b Budget) bool { return b.Frozen })
}

// Version returns the highest version of budgets. The ledger's versions only grow, so a run that knows it knows all that
// are older.
func Version(budgets []Budget) (most int64) {
	for _, b := range budgets {
		most = max(most, b.Version, b.Freeze)
	}
	return most
}
