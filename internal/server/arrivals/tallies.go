package arrivals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/server/site"
)

// routes returns what arrivals are counted by: the routes of the Site, or one for all requests.
func (s *Server) routes() []*site.Served {
	if s.opts.Site == nil {
		return make([]*site.Served, 1)
	}
	return s.opts.Site.Routes()
}

// A tallies has the tally of a server and one for each of its routes. They are fed with the same arrivals, so the
// counts of the routes add up to that of the server, in each second.
type tallies struct {
	all    *Tally
	names  []string // of the routes; none if there is but one
	routes []*Tally
}

func (s *Server) newTallies() *tallies {
	t := &tallies{all: NewTally(time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second)}
	if routes := s.routes(); len(routes) > 1 {
		for _, r := range routes {
			t.names = append(t.names, r.Pattern)
			t.routes = append(t.routes, NewTally())
		}
	}
	return t
}

// add adds the arrivals of each route, sorted, as takeByRoute returns them.
func (t *tallies) add(byRoute [][]int64) {
	if len(t.routes) == 0 {
		t.all.Add(byRoute[0])
		return
	}
	all := slices.Concat(byRoute...)
	slices.Sort(all)
	t.all.Add(all)
	for i, r := range t.routes {
		r.origin = t.all.origin // so that all have the same seconds
		r.Add(byRoute[i])
	}
}

// during reports how many requests came on which route in the second that begins at a time, in ns since 1970.
func (t *tallies) during(begins int64) string {
	var parts []string
	for i, r := range t.routes {
		if n := r.during(begins); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", t.names[i], n))
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
