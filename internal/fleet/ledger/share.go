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

// Group returns with whom a host shares a rate, and the rate: with all that the name of the narrowest budget fits, or with
// the other ports of the host if that is * or there is none.
func (s State) Group(host string) (group string, rate int64) {
	for _, b := range s.Fitting(host) {
		switch {
		case b.Rate >= reserve.Endless:
		case b.Name == "*":
			return endpoint.Bare(host), b.Rate
		default:
			return b.Name, b.Rate
		}
	}
	return endpoint.Bare(host), reserve.Endless
}

// Holding returns the rows that share a rate with a host, and the sum of their rates.
func (s State) Holding(host string) (rows []Row, sum int64) {
	group, _ := s.Group(host)
	for _, r := range s.Rows {
		if other, _ := s.Group(r.Host); other == group {
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
		_, rate := s.Group(r.Host)
		_, sum := s.Holding(r.Host)
		return sum <= rate
	})
}

// Behind returns the rows of runs that do not obey a change yet.
func (s State) Behind(c Change) []Row {
	return slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool {
		return !slices.Contains(endpoint.Fits(r.Host), c.Name) || r.Reported >= c.Version && r.Cap == 0
	})
}
