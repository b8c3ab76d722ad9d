package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// quietTime is how long a ledger that may have forgotten rows grants nothing new, µs: until every right is over that it
// could have forgotten.
const quietTime = reserve.TTL + reserve.Margin

// A Ledger has the budgets of endpoints, and a row for each run that may send at one. It is lua/ledger.lua as plain Go.
type Ledger struct {
	Identity string // of its server
	Without  WithoutBudget

	seen       string // the identity that the rows belong to
	first, now int64  // when this server was first called; the highest time seen
	quiet      int64  // until when nothing new is granted; 0 = it is over
	version    int64  // the highest one
	budgets    map[string]reserve.Budget
	rows       map[place]*Row
}

// A place is where a row is: the host of the endpoint, and the run.
type place struct{ host, run string }

// A Row is what a run may send at an endpoint.
type Row struct {
	Rate, Version, End int64
	Cap                int64         // the run has to come down to this; 0 = it has not
	Reported           int64         // the version of the budget that the run knows
	Claim              reserve.Right // what it was believed by this server; its Version is 0 if it was not
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
	Newest    bool // a late copy of a claim is believed
	Late      bool // a right is stored however old the reading is
	Prolong   bool // a right is prolonged while the run has to come down
	Capped    bool // a run that has come down gets its right back as high as it was
	Apart     bool // a freeze gives the rate of its budget a newer version too
}

// NewLedger returns a ledger without budgets, on a server with an identity that never had one.
func NewLedger(identity string, now int64) *Ledger {
	return &Ledger{Identity: identity, seen: identity, first: now, now: now, budgets: map[string]reserve.Budget{}, rows: map[place]*Row{}}
}

// Clone returns a copy: what a replica has.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.budgets, c.rows = maps.Clone(l.budgets), map[place]*Row{}
	for at, row := range l.rows {
		r := *row
		c.rows[at] = &r
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
	maps.DeleteFunc(l.rows, func(_ place, r *Row) bool { return r.End < l.now })
	if l.quiet > 0 && l.now >= l.quiet { // rows may have come back that are too high together
		l.quiet = 0
		for at := range l.rows {
			l.capRows(l.group(at.host))
		}
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

// fit returns the names of budgets that fit a host, the narrowest first: HOST:PORT, HOST, *.DOMAIN, longer ones first, and *.
func fit(host string) []string {
	name := bare(host)
	names := []string{host}
	if name != host {
		names = append(names, name)
	}
	for rest, more := name, true; more; {
		if _, rest, more = strings.Cut(rest, "."); more {
			names = append(names, "*."+rest)
		}
	}
	return append(names, "*")
}

// bare returns a host without its port. The host may be an IPv6 address in brackets.
func bare(host string) string {
	if end := strings.Index(host, "]"); end >= 0 {
		return host[:end+1]
	}
	name, _, _ := strings.Cut(host, ":")
	return name
}

// budget returns the rate that a host shares, and with whom: with all that the name of the narrowest budget fits, or with the
// other ports of the host if that is * or there is none.
func (l *Ledger) budget(host string) (group string, rate int64) {
	for _, name := range fit(host) {
		if b, ok := l.budgets[name]; !ok || b.Rate >= reserve.Endless {
			continue
		}
		if name == "*" {
			return bare(host), l.budgets[name].Rate
		}
		return name, l.budgets[name].Rate
	}
	return bare(host), reserve.Endless
}

// fitting returns the budgets that fit a host, also those that were removed, and whether one is frozen.
func (l *Ledger) fitting(host string) (all []reserve.Budget, frozen bool) {
	for _, name := range fit(host) {
		if b, ok := l.budgets[name]; ok {
			all, frozen = append(all, b), frozen || b.Frozen
		}
	}
	return all, frozen
}

func (l *Ledger) group(host string) string {
	group, _ := l.budget(host)
	return group
}

// Reserved returns the sum of the rows of a group, but for one.
func (l *Ledger) Reserved(group string, but place) int64 {
	sum := int64(0)
	for at, r := range l.rows {
		if at != but && l.group(at.host) == group {
			sum += r.Rate
		}
	}
	return sum
}

// capRows caps the rows of a group in proportion if they are above its budget together.
func (l *Ledger) capRows(group string) {
	sum := l.Reserved(group, place{})
	for at, r := range l.rows {
		if l.group(at.host) != group {
			continue
		}
		r.Cap = 0
		if _, rate := l.budget(at.host); sum > rate {
			r.Cap = max(1, int64(float64(r.Rate)*(float64(rate)/float64(sum)))) // rounded down
		}
	}
}

// Set sets a budget; a rate of [reserve.Endless] removes it. If it is below what is reserved, nothing changes, unless cut
// says that the runs have to come down.
func (l *Ledger) Set(now int64, name string, rate int64, cut bool) (version int64, ok bool) {
	l.advance(now)
	before := maps.Clone(l.budgets)
	b := l.named(name)
	b.Rate, b.Version = rate, l.fresh(b.Version)
	l.budgets[name] = b
	if !cut && l.above() {
		l.budgets = before
		return 0, false
	}
	l.capAll()
	return l.version, true
}

// above reports whether a group has more rows than its budget allows.
func (l *Ledger) above() bool {
	for at := range l.rows {
		if group, rate := l.budget(at.host); l.Reserved(group, place{}) > rate {
			return true
		}
	}
	return false
}

func (l *Ledger) capAll() {
	for at := range l.rows {
		if l.quiet == 0 {
			l.capRows(l.group(at.host))
		}
	}
}

// Freeze stops all sending at the endpoints that a name fits, or allows it again. There need not be a budget.
func (l *Ledger) Freeze(now int64, name string, frozen bool) (version int64) {
	l.advance(now)
	b := l.named(name)
	b.Frozen, b.Freeze = frozen, l.fresh(b.Freeze)
	if l.Without.Apart {
		b.Version = b.Freeze
	}
	l.budgets[name] = b
	l.capAll()
	return l.version
}

// named returns the budget of a name. One that was never set bounds nothing.
func (l *Ledger) named(name string) reserve.Budget {
	if b, ok := l.budgets[name]; ok {
		return b
	}
	return reserve.Budget{Name: name, Rate: reserve.Endless}
}

// adopt takes a budget that a run brings, where it is newer than the ledger's.
func (l *Ledger) adopt(b reserve.Budget) {
	if was := l.named(b.Name); b.Name != "" && was.With(b) != was {
		l.budgets[b.Name], l.version = was.With(b), max(l.version, b.Version, b.Freeze)
		l.capAll()
	}
}

// Known returns how far a change of a rate or a freeze has come: FORGOTTEN, the ledger does not have it; CHANGED, somebody
// has made a later one; WAITING, a run does not know it, or sends more than it allows; DONE. Who made the change asks until
// it is done: a failover may forget it.
func (l *Ledger) Known(now int64, name string, version int64, freeze bool) string {
	l.advance(now)
	b := l.named(name)
	has := b.Version
	if freeze {
		has = b.Freeze
	}
	switch {
	case has < version:
		return "FORGOTTEN"
	case has > version:
		return "CHANGED"
	}
	for at, r := range l.rows {
		if slices.Contains(fit(at.host), name) && (r.Reported < version || r.Cap > 0) {
			return "WAITING"
		}
	}
	if l.quiet > 0 {
		return "WAITING"
	}
	return "DONE"
}

// Quiet reports whether this server may have forgotten rows, and so grants nothing new and caps nothing.
func (l *Ledger) Quiet() bool { return l.quiet > 0 || l.seen != l.Identity }

// Ask renews, raises, lowers or verifies a row.
func (l *Ledger) Ask(now int64, a reserve.Ask) reserve.Grant {
	l.advance(now)
	if !l.Without.Carry {
		for _, b := range a.Budgets {
			l.adopt(b)
		}
	}
	at := place{a.Host, a.Run}
	budgets, frozen := l.fitting(a.Host)
	_, rate := l.budget(a.Host)
	answer := reserve.Grant{Budgets: budgets, Bounded: frozen || rate < reserve.Endless}
	row, status := l.rows[at], "OK"
	switch {
	case row == nil && a.Want == 0:
		answer.Status = status
		return answer
	case row == nil:
		row = &Row{}
		l.rows[at] = row
		l.believe(row, a.Right)
		row.Version = l.fresh(a.Right.Version)
	case row.Version != a.Right.Version && !l.Without.Version:
		l.believe(row, a.Right)
		row.Version = l.fresh(max(row.Version, a.Right.Version))
	case a.Want < row.Rate:
		row.Rate = a.Want
	}
	left := int64(0)
	if a.Want > row.Rate {
		if status, left = l.raise(at, a.Want, row); status == "OK" {
			row.Rate, row.Version = a.Want, l.fresh(row.Version)
		}
	}
	answer.Status, answer.Left = status, left
	if row.Rate == 0 {
		delete(l.rows, at)
		return answer
	}
	if row.Rate <= row.Cap {
		row.Cap = 0
	}
	row.Reported, row.End = reserve.Version(a.Budgets), l.now+reserve.TTL
	answer.Rate, answer.Version, answer.End, answer.Cap = row.Rate, row.Version, row.End, row.Cap
	return answer
}

// believe takes what a run says of a row that this server may have forgotten. Such a call may be a late copy, from before
// the run lowered its right. So of two the newer one counts.
func (l *Ledger) believe(row *Row, r reserve.Right) {
	if l.quiet == 0 || r.Version == 0 || r.End < l.first+reserve.Margin && !l.Without.Claim {
		return
	}
	switch c := row.Claim; {
	case l.Without.Newest, c.Version == 0 && r.Version > row.Version:
		row.Rate, row.Claim = max(row.Rate, r.Rate), r
	case c.Version > 0 && (r.Version > c.Version || r.Version == c.Version && r.End > c.End):
		row.Rate, row.Claim = r.Rate, r
	}
}

// raise reports whether there is room for what is wanted, and how much room there is.
func (l *Ledger) raise(at place, want int64, row *Row) (status string, left int64) {
	group, rate := l.budget(at.host)
	_, frozen := l.fitting(at.host)
	left = max(0, rate-l.Reserved(group, at))
	if row.Cap > 0 {
		left = min(left, row.Cap)
	}
	switch {
	case frozen:
		return "FROZEN", left
	case rate >= reserve.Endless:
	case l.quiet > 0:
		return "QUIET", left
	case want > left:
		return "FULL", left
	}
	return "OK", left
}
