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

// Add adds it to a step. Without headers and statuses, as over tcp, only checks are added. What the step says itself wins: a header of the same name, and which statuses are good. Other
// checks add up.
func (c Common) Add(s *targets.Step) {
	if !targets.HasHeaders(s.URL) {
		c.Headers, c.Expect = nil, ""
	}
	s.Headers = slices.Concat(s.Headers, besides(c.Headers, s.Headers))
	own := s.Expect != "" || slices.ContainsFunc(s.Checks, ofStatus)
	if !own && !slices.ContainsFunc(c.Checks, ofStatus) {
		s.Expect = c.Expect
	}
	for _, text := range c.Checks {
		if !slices.Contains(s.Checks, text) && (!own || !ofStatus(text)) {
			s.Checks = append(slices.Clip(s.Checks), text)
		}
	}
}

// ofStatus reports whether a check says which statuses are good. wire.CheckStep says what is wrong with it.
func ofStatus(text string) bool {
	l, err := check.Parse([]string{text})
	return err == nil && l.Statuses()
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
