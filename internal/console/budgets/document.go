// Package budgets shows the ledger of budgets to people and programs: what runs may send at endpoints.
//
//	doc := budgets.All(state) // or budgets.At(state, "api.example.com:443")
//	err := doc.WriteList(os.Stdout) // or WriteEndpoint
//
// A Document is also what loadctl budget export writes and import reads.
package budgets

import (
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// Document is what the ledger has, or the part of it that was asked for. Rates are requests per second. Times are those of
// the ledger's clock.
type Document struct {
	Change   *Change   `json:"change,omitempty"`   // of a command that changes something
	Endpoint *Endpoint `json:"endpoint,omitempty"` // of At
	At       time.Time `json:"at"`
	// Until when nothing new is granted, because the ledger is new or may have forgotten what runs hold. Zero = it grants.
	QuietUntil time.Time `json:"quiet_until,omitzero"`
	Budgets    []Budget  `json:"budgets"`
	Rows       []Row     `json:"rows"`
	Waiting    []Place   `json:"waiting"` // the first in line first
}

// Change is what a command did.
type Change struct {
	Name    string    `json:"name"`
	Command string    `json:"command"`
	Changed bool      `json:"changed"` // false: it was so already
	At      time.Time `json:"at"`
}

// Endpoint is what there is for a host.
type Endpoint struct {
	Host     string   `json:"host"`
	Budget   string   `json:"budget,omitempty"` // the one that bounds it; empty = none
	Rate     float64  `json:"rate,omitempty"`   // of that
	Reserved float64  `json:"reserved"`         // by all runs that share it
	Left     *float64 `json:"left,omitempty"`   // nil = there is no bound, or each host has its own
	Frozen   bool     `json:"frozen"`           // by any budget that fits
}

// Budget is a budget with what runs hold of it.
type Budget struct {
	Name     string    `json:"name"`
	Rate     float64   `json:"rate,omitempty"` // 0 = there is only a freeze
	SetAt    time.Time `json:"set_at,omitzero"`
	Note     string    `json:"note,omitempty"`
	By       string    `json:"by,omitempty"`
	Frozen   bool      `json:"frozen"`
	FrozenAt time.Time `json:"frozen_at,omitzero"` // or when that ended
	Why      string    `json:"why,omitempty"`
	FrozenBy string    `json:"frozen_by,omitempty"`
	Reserved float64   `json:"reserved"`       // where it is the narrowest that has a rate
	Left     *float64  `json:"left,omitempty"` // nil = it has no rate, or is *
	Runs     int       `json:"runs"`
}

// Row is what a run may send at a host.
type Row struct {
	Host   string    `json:"host"`
	Run    string    `json:"run"` // its name; empty = unknown
	UID    string    `json:"uid"`
	Who    string    `json:"who"`
	Since  time.Time `json:"since"`
	Rate   float64   `json:"rate"`
	Until  time.Time `json:"until"`            // unless it is renewed
	DownTo float64   `json:"down_to,omitzero"` // it has to come down to this; 0 = it has not
	Budget string    `json:"budget,omitempty"` // that bounds it; empty = none
}

// Place is that of a run that waits for room at a host. It is not made yet.
type Place struct {
	Host  string    `json:"host"`
	Run   string    `json:"run"`
	UID   string    `json:"uid"`
	Who   string    `json:"who"`
	Since time.Time `json:"since"`
	Rate  float64   `json:"rate"` // that it wants
}

// All returns all that the ledger has. Budgets that were removed are left out.
func All(s ledger.State) Document {
	d := Document{At: s.Now, QuietUntil: s.Quiet}
	return d.with(s, s.Budgets, s.Rows, s.Queue)
}

// At returns what there is for a host or for a name of a budget: the budgets that fit it, and the rows that share its rate.
func At(s ledger.State, host string) Document {
	b := s.Bound(host)
	rows, sum := s.Sharing(host)
	line := s.InLine(host)
	if host[0] == '*' {
		rows, sum = s.Under(host)
		line = slices.DeleteFunc(slices.Clone(s.Queue), func(p ledger.Place) bool { return s.Bound(p.Host).Name != host })
	}
	fitting := s.Fitting(host)
	e := &Endpoint{Host: host, Budget: b.Name, Rate: rate(b.Rate), Reserved: perSecond(sum), Left: left(b, sum)}
	if host == "*" {
		e.Left = nil
	}
	e.Frozen = slices.ContainsFunc(fitting, func(b ledger.Budget) bool { return b.Frozen })
	d := Document{Endpoint: e, At: s.Now, QuietUntil: s.Quiet}
	return d.with(s, fitting, rows, line)
}

// Each returns what there is for each name of a budget, and for each host without one where runs have rows.
func Each(s ledger.State) (all []Endpoint) {
	d := All(s)
	names := d.unbounded()
	for i, b := range d.Budgets {
		names = slices.Insert(slices.DeleteFunc(names, func(name string) bool { return name == b.Name }), i, b.Name)
	}
	for _, name := range names {
		all = append(all, *At(s, name).Endpoint)
	}
	return all
}

// Of returns what a change has left: the budget, and the rows that it fits.
func Of(s ledger.State, c Change) Document {
	d := Document{Change: &c, At: s.Now, QuietUntil: s.Quiet}
	return d.with(s, []ledger.Budget{s.Budget(c.Name)}, s.Fitted(c.Name), nil)
}

func (d Document) with(s ledger.State, budgets []ledger.Budget, rows []ledger.Row, line []ledger.Place) Document {
	d.Budgets, d.Rows, d.Waiting = []Budget{}, []Row{}, []Place{}
	for _, p := range line {
		d.Waiting = append(d.Waiting, Place{p.Host, p.People.Run, p.Run, p.People.Who, p.Entered, perSecond(p.Rate)})
	}
	for _, b := range budgets {
		if b.Rate >= reserve.Endless && !b.Frozen {
			continue
		}
		under, sum := s.Under(b.Name)
		x := Budget{
			Name: b.Name, Rate: rate(b.Rate), Frozen: b.Frozen, Reserved: perSecond(sum), Runs: len(under),
			FrozenAt: b.FrozenAt(), Why: b.Why.Text, FrozenBy: b.Why.Who,
		}
		if x.Rate > 0 {
			x.SetAt, x.Note, x.By = b.SetAt(), b.Note.Text, b.Note.Who
		}
		if b.Name != "*" {
			x.Left = left(b, sum)
		}
		d.Budgets = append(d.Budgets, x)
	}
	for _, r := range rows {
		d.Rows = append(d.Rows, Row{
			Host: r.Host, Run: r.People.Run, UID: r.Run, Who: r.People.Who, Since: r.Since(), Rate: perSecond(r.Rate),
			Until: r.Ends, DownTo: perSecond(r.Cap), Budget: s.Bound(r.Host).Name,
		})
	}
	return d
}

// perSecond returns a rate of the ledger in requests per second.
func perSecond(rate int64) float64 { return ledger.RateOf(rate).Float() }

// rate is perSecond; 0 = without an end.
func rate(r int64) float64 {
	if r >= reserve.Endless {
		return 0
	}
	return perSecond(r)
}

// left returns how much of a budget is not reserved; nil if it has no rate.
func left(b ledger.Budget, reserved int64) *float64 {
	if b.Rate >= reserve.Endless {
		return nil
	}
	free := perSecond(max(0, b.Rate-reserved))
	return &free
}

// unbounded are the hosts where runs have rows without a budget of that name: none bounds them, or it is *.
func (d Document) unbounded() (hosts []string) {
	for _, r := range d.Rows {
		if host := endpoint.Bare(r.Host); (r.Budget == "" || r.Budget == "*") && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
