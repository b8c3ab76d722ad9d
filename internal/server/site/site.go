// Package site says what a test server answers to which request, and keeps a log of each route.
//
//	s, err := site.New(200, []site.Route{{Pattern: "/slow/*", Latency: 50 * time.Millisecond}})
//	if err != nil { … }
//	route := s.Find(request)          // always one: Other if none fits
//	reply := route.Reply(request, body)
//	route.Sent(reply.Status, took)
//
// Guarantees: each request has exactly one route, so the counts of all routes add up to all requests. A site never
// redirects: a path that is not clean, such as //items, has the route of the clean one.
//
// Not here: how requests are read, counted and timed (package arrivals).
package site

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Other is the name of the route of all requests that no pattern fits.
const Other = "other"

// A Route says what is answered to some requests. The zero value, with a pattern, answers 200 and "ok" at once.
type Route struct {
	// Pattern is one of http.ServeMux: "GET /items/{id}", "/slow/". With "/*" at its end it fits all paths below.
	Pattern string
	// Status of the answers, 200 to 599; 0 = 200.
	Status int
	// Body of the answers; "" = "ok". It is sent as JSON if it is JSON.
	Body string
	// Latency is how long a request waits for its answer.
	Latency time.Duration
	// Jitter is added to Latency: a random time for each answer, uniform in [0, Jitter).
	Jitter time.Duration
	// Stalls hold back the answers of this route alone.
	Stalls []Stall
	// Answer, if not nil, is called for each request when it has been received whole, and says what is answered instead
	// of Status and Body. It must be safe for concurrent use. The body has at most MostBody bytes.
	Answer func(r *http.Request, body []byte) Reply
}

// MostBody is how many bytes of the body of a request a site looks at, from its beginning.
const MostBody = 1 << 20

// A Stall holds back answers for Length, from At after the first arrival.
type Stall struct{ At, Length time.Duration }

// A Reply is an answer.
type Reply struct {
	Status int         // 200 to 599
	Header http.Header // may be nil
	Body   []byte
	Delay  time.Duration // in addition to that of the route
	Stream Stream        // if not nil, writes the answer instead of Body
}

// A Stream writes an answer in pieces. The request had been received whole when it arrived, and with all delays its
// answer may begin when it is ready. An error means that the answer is not whole.
type Stream func(arrived, ready time.Time, out Out) error

// An Out takes the pieces of an answer.
type Out interface {
	// Wait returns at a time, or with an error if client or server go away before.
	Wait(until time.Time) error
	// Send sends a piece at once. The first one has the head of the answer before it, and may be empty.
	Send(piece []byte) error
}

// A Site has routes. New makes one. All methods are safe for concurrent use.
type Site struct {
	mux    *http.ServeMux
	routes []*Served // in the order of New; the last one is Other
	served map[string]*Served
}

// New returns a site of routes; status, 200 to 599, is that of the answers to all other requests. An error is one line
// that names a pattern, and says what to do.
func New(status int, routes []Route) (*Site, error) {
	s := &Site{mux: http.NewServeMux(), served: map[string]*Served{}}
	for _, r := range routes {
		pattern := muxPattern(r.Pattern)
		if s.served[pattern] != nil {
			return nil, fmt.Errorf("%.100q: is given twice; leave one out", r.Pattern)
		}
		if reason := never(pattern); reason != "" {
			return nil, fmt.Errorf("%.100q: %s; %s", r.Pattern, reason, patternForm)
		}
		if err := register(s.mux, pattern); err != nil {
			return nil, s.explain(r.Pattern, err)
		}
		s.served[pattern] = newServed(r, len(s.routes))
		s.routes = append(s.routes, s.served[pattern])
	}
	s.routes = append(s.routes, newServed(Route{Pattern: Other, Status: status}, len(s.routes)))
	return s, nil
}

// Change puts the settings of a route into routes. If they have one with the same pattern and an Answer, its latency,
// jitter and stalls change; a status or a body replaces the Answer. Else the route is added.
func Change(routes []Route, by Route) []Route {
	i := slices.IndexFunc(routes, func(r Route) bool { return r.Pattern == by.Pattern && r.Answer != nil })
	if i < 0 {
		return append(routes, by)
	}
	if by.Answer == nil && by.Status == 0 && by.Body == "" {
		by.Answer = routes[i].Answer
	}
	routes[i] = by
	return routes
}

// muxPattern returns a pattern as http.ServeMux has it.
func muxPattern(pattern string) string {
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return below + "/"
	}
	return pattern
}

// never says why a pattern would fit no request, though the mux takes it.
func never(pattern string) string {
	words := strings.Fields(pattern)
	switch {
	case len(words) == 0 || len(words) > 2:
		return "it is no path"
	case len(words) == 2 && words[0] != strings.ToUpper(words[0]):
		return "a method is in capital letters"
	case strings.ContainsAny(pattern, "?#"):
		return "a query is no part of it"
	case strings.Contains(pattern, "//"):
		return "it has no scheme and no // in it"
	case strings.Contains(pattern, "*"):
		return "* stands only at the end, after a slash; {name} is any text between slashes"
	}
	return ""
}

// register adds a pattern to a mux, which panics if it cannot.
func register(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler()) // it is never called: Find asks for the pattern only
	return nil
}

// patternForm says how a pattern is written.
const patternForm = `write a path with or without a method, such as "/slow/*" or "GET /items/{id}"`

// explain says why the mux refuses a pattern: it is not well formed, or fits the same requests as another one.
func (s *Site) explain(pattern string, err error) error {
	for _, o := range s.routes {
		two := http.NewServeMux()
		if register(two, muxPattern(o.Pattern)) == nil && register(two, muxPattern(pattern)) != nil && register(http.NewServeMux(), muxPattern(pattern)) == nil {
			return fmt.Errorf("%.100q: some requests fit %.100q too, and neither pattern is narrower; change one", pattern, o.Pattern)
		}
	}
	why := err.Error()
	if _, reason, ok := strings.Cut(why, fmt.Sprintf("parsing %q: ", muxPattern(pattern))); ok {
		why = reason
	}
	return fmt.Errorf("%.100q: %.200s; %s", pattern, why, patternForm)
}

// Routes returns all routes, in the order of New, with Other as the last one.
func (s *Site) Routes() []*Served { return s.routes }

// Find returns the route of a request. The narrowest pattern that fits it counts.
func (s *Site) Find(r *http.Request) *Served {
	_, pattern := s.mux.Handler(r)
	if route := s.served[pattern]; route != nil {
		return route
	}
	return s.routes[len(s.routes)-1]
}

// ErrBodyless says that an answer with such a status has no body.
var ErrBodyless = errors.New("an answer with this status has no body; leave one of them out")

// Check returns an error if the settings contradict one another.
func (r *Route) Check() error {
	if r.Body != "" && Bodyless(r.Status) {
		return ErrBodyless
	}
	return nil
}

// Bodyless reports whether an answer with this status has no body.
func Bodyless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// Delay returns how long the next answer waits because of Latency and Jitter.
func (r *Route) Delay() time.Duration {
	if r.Jitter > 0 {
		return r.Latency + rand.N(r.Jitter)
	}
	return r.Latency
}

// HeldUntil returns until when a stall holds back an answer that is ready at now; now itself if none does. Both are
// times since the first arrival.
func (r *Route) HeldUntil(now time.Duration) time.Duration {
	until := now
	for _, stall := range r.Stalls {
		if end := stall.At + stall.Length; stall.At <= now && now < end {
			until = max(until, end)
		}
	}
	return until
}
