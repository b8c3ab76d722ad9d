package ledger

import (
	"slices"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// Who shares a budget. lua/ledger.lua decides by the same rules.

// Fitting returns the budgets that fit a host, the narrowest first.
func (s State) Fitting(host string) (all []Budget) {
	for _, name := range endpoint.Fits(host) {
		if i := s.index(name); i >= 0 {
			all = append(all, s.Budgets[i])
		}
	}
	return all
}

// Budget returns the budget of a name. One that was never set bounds nothing.
func (s State) Budget(name string) Budget {
	if i := s.index(name); i >= 0 {
		return s.Budgets[i]
	}
	return Budget{Budget: reserve.Budget{Name: name, Rate: reserve.Endless}}
}

func (s State) index(name string) int {
	return slices.IndexFunc(s.Budgets, func(b Budget) bool { return b.Name == name })
}

// Bound returns the budget that bounds a host: the narrowest that has a rate. Without one its rate is
// [reserve.Endless], and its name is empty.
func (s State) Bound(host string) Budget {
	for _, b := range s.Fitting(host) {
		if b.Rate < reserve.Endless {
			return b
		}
	}
	return Budget{Budget: reserve.Budget{Rate: reserve.Endless}}
}

// group returns with whom a host shares a rate, and the rate: with all that its budget fits, or with the other ports of the
// host if that is * or there is none.
func (s State) group(host string) (group string, rate int64) {
	b := s.Bound(host)
	if b.Name == "" || b.Name == "*" {
		return endpoint.Bare(host), b.Rate
	}
	return b.Name, b.Rate
}

// Sharing returns the rows that share a rate with a host, and the sum of their rates.
func (s State) Sharing(host string) (rows []Row, sum int64) {
	group, _ := s.group(host)
	for _, r := range s.Rows {
		if other, _ := s.group(r.Host); other == group {
			rows, sum = append(rows, r), sum+r.Rate
		}
	}
	return rows, sum
}

// Under returns the rows that the budget of a name bounds, and the sum of their rates.
func (s State) Under(name string) (rows []Row, sum int64) {
	for _, r := range s.Rows {
		if s.Bound(r.Host).Name == name {
			rows, sum = append(rows, r), sum+r.Rate
		}
	}
	return rows, sum
}

// With returns the state as it would be with another rate of a budget.
func (s State) With(name string, rate int64) State {
	b := s.Budget(name)
	b.Rate = rate
	s.Budgets = append(slices.DeleteFunc(slices.Clone(s.Budgets), func(x Budget) bool { return x.Name == name }), b)
	return s
}

// Above returns the rows that hold more together than their budget allows.
func (s State) Above() []Row {
	return slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool {
		_, rate := s.group(r.Host)
		_, sum := s.Sharing(r.Host)
		return sum <= rate
	})
}

// Fitted returns the rows at hosts that a name fits.
func (s State) Fitted(name string) []Row {
	return slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return !slices.Contains(endpoint.Fits(r.Host), name) })
}

// Behind returns the rows of runs that do not obey a change yet.
func (s State) Behind(c Change) []Row {
	return slices.DeleteFunc(s.Fitted(c.Name), func(r Row) bool { return r.Reported >= c.Version && r.Cap == 0 })
}
