package workload

import (
	"net/http"
	"slices"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
)

// Common is what all steps have, unless a step says otherwise. The zero value changes nothing.
type Common struct {
	Headers []targets.Header
	Expect  string
	Checks  []string
}

// Add adds it to a step. What the step says itself wins: a header of the same name, expected statuses, and a check of
// the status over expected statuses. Checks add up.
func (c Common) Add(s *targets.Step) {
	s.Headers = slices.Concat(s.Headers, besides(c.Headers, s.Headers))
	if own, err := check.Parse(s.Checks); s.Expect == "" && (err != nil || !own.Statuses()) { // Spec.CheckStep tells the error
		s.Expect = c.Expect
	}
	s.Checks = slices.Concat(s.Checks, slices.DeleteFunc(slices.Clone(c.Checks), func(text string) bool { return slices.Contains(s.Checks, text) }))
}

// bytes returns how much it adds to a step at most.
func (c Common) bytes() (n int) {
	for _, h := range c.Headers {
		n += len(h.Name) + len(h.Value)
	}
	for _, text := range c.Checks {
		n += len(text)
	}
	return n + len(c.Expect)
}

// besides returns the headers whose names are not among the others, whatever their case.
func besides(headers, others []targets.Header) (all []targets.Header) {
	taken := map[string]bool{}
	for _, h := range others {
		taken[http.CanonicalHeaderKey(h.Name)] = true
	}
	for _, h := range headers {
		if !taken[http.CanonicalHeaderKey(h.Name)] {
			all = append(all, h)
		}
	}
	return all
}
