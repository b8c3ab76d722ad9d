package site

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// A Served is a route in use, with the log of its answers. All methods are safe for concurrent use.
type Served struct {
	Route
	Index int // among the routes of the site

	usual Reply // the answer without Answer

	mu       sync.Mutex // guards what follows
	latency  record.Histogram
	statuses map[int]int64
}

func newServed(r Route, index int) *Served {
	s := &Served{Route: r, Index: index, statuses: map[int]int64{}}
	s.usual = Reply{Status: cmp.Or(r.Status, http.StatusOK)}
	if !Bodyless(s.usual.Status) {
		s.usual.Body = []byte(cmp.Or(r.Body, "ok"))
	}
	if json.Valid(s.usual.Body) {
		s.usual.Header = http.Header{"Content-Type": {"application/json"}}
	}
	return s
}

// Reply returns the answer to a request. Nobody may change its header or body.
func (s *Served) Reply(r *http.Request, body []byte) Reply {
	if s.Answer != nil {
		return s.Answer(r, body)
	}
	return s.usual
}

// Sent notes an answer, and how long it took: from the first byte of the request to the end of the answer. More than an
// hour counts as an hour.
func (s *Served) Sent(status int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[status]++
	s.latency.Record(min(int64(took), record.HighestNS))
}

// A Status says how many answers had a status.
type Status struct {
	Status  int   `json:"status"`
	Answers int64 `json:"answers"`
}

// Statuses returns how many answers had which status, by status.
func (s *Served) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Status, 0, len(s.statuses))
	for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
		all = append(all, Status{status, s.statuses[status]})
	}
	return all
}

// Latency summarizes how long the answers took, in ns with 3 significant digits.
func (s *Served) Latency() record.Distribution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latency.Distribution(1)
}
