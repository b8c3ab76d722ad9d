package limit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/lua"
)

// joint is what each limit of All answered.
type joint struct {
	rules []*rule
	parts []Answer
}

// All joins sets of one store, such as 10 a second and 1,000 an hour for each user: each of them grants, or none does,
// in one atomic step. Answer.Refused says which of them refused. What is taken counts in each set, also for those who
// take from it alone. Remaining is the least, RetryAfter and ResetAfter are the longest of all.
//
// The sets must differ by name or prefix. Only PerKey of their options counts; options are those of the whole.
func All(sets []*Set, options ...Option) (*Set, error) {
	if len(sets) == 0 {
		return nil, errors.New("all of no sets: give one at least")
	}
	if i := slices.IndexFunc(options, func(o Option) bool { return o.apply == nil || o.name == "PerKey" }); i >= 0 {
		return nil, fmt.Errorf("all: %s is an option of one set: give it to NewSet", options[i].name)
	}
	s := &Set{store: sets[0].store}
	var names []string
	for _, one := range sets {
		if one.store != s.store {
			return nil, errors.New("all of sets in several stores: give each the same store")
		}
		for _, r := range one.rules {
			if slices.ContainsFunc(s.rules, func(o *rule) bool { return o.prefix == r.prefix && o.kind.name == r.kind.name }) {
				return nil, fmt.Errorf("all: %s %.64q twice: give each set another prefix", r.kind.name, r.prefix)
			}
			s.rules, names = append(s.rules, r), append(names, r.kind.script)
		}
	}
	if s.script = lua.Limiter(names[0]); len(names) > 1 {
		s.script = lua.All(names...)
	}
	return s.with(options)
}

// Refused lists the prefixes of the sets that refused a call of All.
func (a Answer) Refused() []string {
	var refused []string
	if a.joint != nil && a.Granted == 0 {
		for i, part := range a.joint.parts {
			if part.RetryAfter > 0 {
				refused = append(refused, a.joint.rules[i].prefix)
			}
		}
	}
	return refused
}

// together is the answer of several rules.
func together(rules []*rule, parts []Answer) Answer {
	a := parts[0]
	for _, part := range parts[1:] {
		a.Remaining = min(a.Remaining, part.Remaining)
		a.RetryAfter, a.ResetAfter = max(a.RetryAfter, part.RetryAfter), max(a.ResetAfter, part.ResetAfter)
	}
	a.joint = &joint{rules: rules, parts: parts}
	return a
}
