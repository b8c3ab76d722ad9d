package model

import (
	"maps"
	"slices"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// quietTime is how long a ledger that may have forgotten rows grants nothing new, µs: until every right is over that it
// could have forgotten.
const quietTime = reserve.TTL + reserve.Margin

// A Ledger has the budget of one endpoint, and a row for each run that may send there.
type Ledger struct {
	Identity string // of its server
	Without  WithoutBudget

	seen       string // the identity that the rows belong to
	first, now int64  // when this server was first called; the highest time seen
	quiet      int64  // until when nothing new is granted
	version    int64  // the highest one
	budget     reserve.Budget
	rows       map[string]*Row
}

// A Row is what a run may send at the endpoint.
type Row struct {
	Rate, Version, End int64
	Cap                int64 // the run has to come down to this; 0 = it has not
	Reported           int64 // the version of the budget that the run knows
}

// WithoutBudget switches off rules of budgets, to show that each is needed.
type WithoutBudget struct {
	LeaseEnds bool // a lease may be longer than the right of its run
	Law       bool // an order may raise the rate above the right
	Lowers    bool // who orders a lower rate gives the room back at once
	Settled   bool // room is given back before all workers know the lower law
	Version   bool // an answer of an older version is believed
	Anchor    bool // a right counts from the arrival of the answer
	Identity  bool // a right is stored on another server than the one that was read
	Verify    bool // a server that may have forgotten the right goes on promising by it
	Quiet     bool // a ledger that may have forgotten rows grants new ones at once
	Claim     bool // a claim is believed however old its row is
	Carry     bool // runs do not bring the budget back
}

// NewLedger returns a ledger without a budget, on a server with an identity.
func NewLedger(identity string, now int64) *Ledger {
	return &Ledger{Identity: identity, seen: identity, first: now, now: now, budget: reserve.Budget{Rate: reserve.Endless}, rows: map[string]*Row{}}
}

// Clone returns a copy: what a replica has.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.rows = map[string]*Row{}
	for run, row := range l.rows {
		r := *row
		c.rows[run] = &r
	}
	return &c
}

// Empty returns what is left after everything was deleted. It is quiet like a server that has forgotten rows.
func (l *Ledger) Empty(identity string, now int64) *Ledger {
	e := NewLedger(identity, now)
	e.Without = l.Without
	e.doubt()
	return e
}

// doubt begins the time in which nothing new is granted.
func (l *Ledger) doubt() {
	l.seen, l.first = l.Identity, l.now
	if !l.Without.Quiet {
		l.quiet = l.now + quietTime
	}
}

func (l *Ledger) advance(now int64) {
	l.now = max(l.now, now)
	if l.seen != l.Identity {
		l.now = now
		l.doubt()
	}
	maps.DeleteFunc(l.rows, func(_ string, r *Row) bool { return r.End < l.now })
	if l.quiet > 0 && l.now >= l.quiet { // rows may have come back that are too high together
		l.quiet = 0
		l.capRows()
	}
}

// fresh returns a version above all others. Modulo spread each server has its own.
func (l *Ledger) fresh(least int64) int64 {
	h := int64(0)
	for _, b := range []byte(l.Identity) {
		h = (h*31 + int64(b)) % spread
	}
	v := max(l.now, l.version+1, least+1)
	l.version = v + (h-v%spread+spread)%spread
	return l.version
}

// Reserved returns the sum of all rows but one.
func (l *Ledger) Reserved(but string) int64 {
	sum := int64(0)
	for run, r := range l.rows {
		if run != but {
			sum += r.Rate
		}
	}
	return sum
}

// capRows caps the rows in proportion if they are above the budget together.
func (l *Ledger) capRows() {
	sum := l.Reserved("")
	for _, r := range l.rows {
		if r.Cap = 0; sum > l.budget.Rate {
			r.Cap = max(1, int64(float64(r.Rate)*(float64(l.budget.Rate)/float64(sum)))) // rounded down
		}
	}
}

// Set sets the budget. If it is below what is reserved, nothing changes, unless cut says that the runs have to come down.
func (l *Ledger) Set(now, rate int64, cut bool) (ok bool) {
	l.advance(now)
	if l.Reserved("") > rate && !cut {
		return false
	}
	l.adopt(reserve.Budget{Rate: rate, Frozen: l.budget.Frozen, Version: l.fresh(l.budget.Version)})
	return true
}

// Freeze stops all sending at the endpoint, or allows it again.
func (l *Ledger) Freeze(now int64, frozen bool) {
	l.advance(now)
	l.adopt(reserve.Budget{Rate: l.budget.Rate, Frozen: frozen, Version: l.fresh(l.budget.Version)})
}

// adopt takes a budget that is newer than the one it has.
func (l *Ledger) adopt(b reserve.Budget) {
	if b.Version <= l.budget.Version {
		return
	}
	l.budget, l.version = b, max(l.version, b.Version)
	if l.quiet == 0 {
		l.capRows()
	}
}

// Done reports whether every run knows the budget, and sends no more than it allows.
func (l *Ledger) Done(now int64) bool {
	l.advance(now)
	for _, r := range l.rows {
		if r.Reported < l.budget.Version || r.Cap > 0 {
			return false
		}
	}
	return l.quiet == 0
}

// Runs returns the names of the runs that have a row.
func (l *Ledger) Runs() []string { return slices.Sorted(maps.Keys(l.rows)) }

// Ask renews, raises, lowers or verifies a row.
func (l *Ledger) Ask(now int64, a reserve.Ask) reserve.Grant {
	l.advance(now)
	if !l.Without.Carry {
		l.adopt(a.Budget)
	}
	row, status := l.rows[a.Run], "OK"
	believed := l.quiet > 0 && a.Right.Version > 0 && (a.Right.End >= l.first+reserve.Margin || l.Without.Claim)
	switch {
	case row == nil && a.Want == 0:
		return reserve.Grant{Status: status, Budget: l.budget}
	case row == nil:
		row = &Row{}
		l.rows[a.Run] = row
		if believed {
			row.Rate = a.Right.Rate
		}
		row.Version = l.fresh(a.Right.Version)
	case row.Version != a.Right.Version && !l.Without.Version:
		if believed {
			row.Rate = max(row.Rate, a.Right.Rate)
		}
		row.Version = l.fresh(max(row.Version, a.Right.Version))
	case a.Want < row.Rate:
		row.Rate = a.Want
	}
	left := int64(0)
	if a.Want > row.Rate {
		if status, left = l.raise(a, row); status == "OK" {
			row.Rate, row.Version = a.Want, l.fresh(row.Version)
		}
	}
	if row.Rate == 0 {
		delete(l.rows, a.Run)
		return reserve.Grant{Status: status, Budget: l.budget, Left: left}
	}
	if row.Rate <= row.Cap {
		row.Cap = 0
	}
	row.Reported, row.End = a.Budget.Version, l.now+reserve.TTL
	return reserve.Grant{Status: status, Rate: row.Rate, Version: row.Version, End: row.End, Budget: l.budget, Cap: row.Cap, Left: left}
}

// raise reports whether there is room for what is wanted, and how much room there is.
func (l *Ledger) raise(a reserve.Ask, row *Row) (status string, left int64) {
	left = max(0, l.budget.Rate-l.Reserved(a.Run))
	if row.Cap > 0 {
		left = min(left, row.Cap)
	}
	switch {
	case l.quiet > 0:
		return "QUIET", left
	case l.budget.Frozen:
		return "FROZEN", left
	case a.Want > left:
		return "FULL", left
	}
	return "OK", left
}
