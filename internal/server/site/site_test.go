package site

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// request is one that a server has received.
func request(method, target string) *http.Request { return httptest.NewRequest(method, target, nil) }

// TestFind: the narrowest pattern counts, and what no pattern fits is Other. No answer is a redirect.
func TestFind(t *testing.T) {
	s, err := New(418, []Route{
		{Pattern: "GET /items/{id}"}, {Pattern: "/items/{id}"}, {Pattern: "/slow/*", Status: 503}, {Pattern: "/slow/fast"},
		{Pattern: "shop.test/x"}, {Pattern: "/all/{$}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, target, pattern string }{
		{"GET", "/items/7", "GET /items/{id}"}, {"HEAD", "/items/7", "GET /items/{id}"}, {"POST", "/items/7?n=1", "/items/{id}"},
		{"GET", "/items/a%2Fb", "GET /items/{id}"}, {"GET", "/items/a/b", Other}, {"GET", "/items", Other}, {"GET", "//items/7", "GET /items/{id}"},
		{"GET", "/slow/a/b", "/slow/*"}, {"GET", "/slow/", "/slow/*"}, {"GET", "/slow", "/slow/*"}, {"PUT", "/slow/fast", "/slow/fast"},
		{"GET", "http://shop.test/x", "shop.test/x"}, {"GET", "/x", Other}, {"GET", "/all/", "/all/{$}"}, {"GET", "/all/1", Other}, {"GET", "/", Other},
	} {
		route := s.Find(request(c.method, c.target))
		if route.Pattern != c.pattern || s.Routes()[route.Index] != route {
			t.Errorf("%s %s: %s, want %s", c.method, c.target, route.Pattern, c.pattern)
		}
	}
	for target, status := range map[string]int{"/": 418, "/slow/x": 503, "/slow": 503, "/items/7": 200} {
		r := request("GET", target)
		if got := s.Find(r).Reply(r, nil); got.Status != status || string(got.Body) != "ok" || got.Header != nil {
			t.Errorf("%s: %+v, want %d", target, got, status)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		says     string
	}{
		{[]string{""}, `"": it is no path; write a path with or without a method, such as "/slow/*" or "GET /items/{id}"`},
		{[]string{"items"}, `"items": at offset 0: host/path missing /; write a path`},
		{[]string{"GET items"}, "host/path missing /"},
		{[]string{"/{id"}, "bad wildcard segment"},
		{[]string{"/{id}/{id}"}, "duplicate wildcard name"},
		{[]string{"/a{id}"}, "bad wildcard segment"},
		{[]string{"GE T /"}, "it is no path"},
		{[]string{"get /x"}, "a method is in capital letters"},
		{[]string{"(T) /x"}, "invalid method"},
		{[]string{"/x?n"}, "a query is no part of it"},
		{[]string{"/a/*/b"}, "* stands only at the end, after a slash; {name} is any text between slashes; write a path"},
		{[]string{"http://shop.test/x"}, "it has no scheme"},
		{[]string{"/x", "GET /x", "/x"}, `"/x": is given twice; leave one out`},
		{[]string{"/x/*", "/x/"}, "is given twice"},
		{[]string{"/a", "/{x}/b", "/a/{x}"}, `"/a/{x}": some requests fit "/{x}/b" too, and neither pattern is narrower; change one`},
		{[]string{"/{a}", "/{b}"}, "neither pattern is narrower"},
		{[]string{"/" + strings.Repeat("{", 1<<16)}, "bad wildcard segment"},
	} {
		var routes []Route
		for _, p := range c.patterns {
			routes = append(routes, Route{Pattern: p})
		}
		_, err := New(200, routes)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
			t.Errorf("%.100q: %.1000v, want %q", c.patterns, err, c.says)
		}
	}
}

// TestChange: a change keeps what the route answers, unless it has an answer of its own.
func TestChange(t *testing.T) {
	answer := func(*http.Request, []byte) Reply { return Reply{Status: 201} }
	old := func() []Route { return []Route{{Pattern: "/pay", Answer: answer}, {Pattern: "/x"}} }
	for _, c := range []struct {
		by      Route
		answers bool
		routes  int
	}{
		{Route{Pattern: "/pay", Latency: time.Second}, true, 2}, {Route{Pattern: "/pay", Status: 500}, false, 2}, {Route{Pattern: "/pay", Body: "x"}, false, 2},
		{Route{Pattern: "/y", Status: 500}, false, 3}, {Route{Pattern: "/x", Status: 500}, false, 3}, // a mistake that New finds
	} {
		got := Change(old(), c.by)
		i := slices.IndexFunc(got, func(r Route) bool { return r.Latency == c.by.Latency && r.Status == c.by.Status && r.Body == c.by.Body })
		if len(got) != c.routes || i < 0 || got[i].Pattern != c.by.Pattern || (got[i].Answer != nil) != c.answers {
			t.Errorf("%+v: %+v", c.by, got)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		route              Route
		status             int
		body, contentsType string
	}{
		{Route{}, 200, "ok", ""}, {Route{Status: 503}, 503, "ok", ""}, {Route{Status: 204}, 204, "", ""}, {Route{Status: 304}, 304, "", ""},
		{Route{Body: "plain, text"}, 200, "plain, text", ""}, {Route{Body: `{"a":1}`}, 200, `{"a":1}`, "application/json"},
		{Route{Body: "x", Answer: func(*http.Request, []byte) Reply { return Reply{Status: 409} }}, 409, "", ""},
	} {
		got := newServed(c.route, 0).Reply(nil, nil)
		if got.Status != c.status || string(got.Body) != c.body || got.Header.Get("Content-Type") != c.contentsType {
			t.Errorf("%+v: %+v", c.route, got)
		}
	}
	if (&Route{Status: 204, Body: "x"}).Check() == nil || (&Route{Status: 204}).Check() != nil || (&Route{Body: "x"}).Check() != nil {
		t.Error("a body without a place")
	}
}

// TestDelay: delays fill the range from Latency to Latency + Jitter.
func TestDelay(t *testing.T) {
	r := Route{Latency: 5 * time.Millisecond, Jitter: 2 * time.Millisecond}
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for range 10_000 {
		least, most = min(least, r.Delay()), max(most, r.Delay())
	}
	const tenth = 200 * time.Microsecond
	if least < r.Latency || least > r.Latency+tenth || most >= r.Latency+r.Jitter || most < r.Latency+r.Jitter-tenth {
		t.Errorf("from %v to %v", least, most)
	}
	if d := (&Route{Latency: 3}).Delay(); d != 3 {
		t.Errorf("without jitter: %v", d)
	}
}

func TestHeldUntil(t *testing.T) {
	r := Route{Stalls: []Stall{{At: 10, Length: 5}, {At: 12, Length: 10}, {At: 40, Length: 1}}}
	for now, want := range map[time.Duration]time.Duration{0: 0, 9: 9, 10: 15, 11: 15, 12: 22, 14: 22, 21: 22, 22: 22, 40: 41, 41: 41} {
		if got := r.HeldUntil(now); got != want {
			t.Errorf("at %d: %d, want %d", now, got, want)
		}
	}
}

// TestLog: the log counts each answer, however long it took.
func TestLog(t *testing.T) {
	s := newServed(Route{}, 0)
	if len(s.Statuses()) != 0 || s.Latency().Max != 0 {
		t.Errorf("of nothing: %v, %v", s.Statuses(), s.Latency())
	}
	for i := range 100 {
		s.Sent(200+300*(i%2), time.Duration(i+1)*time.Millisecond)
	}
	s.Sent(404, 2*time.Hour)
	if got := s.Statuses(); !slices.Equal(got, []Status{{200, 50}, {404, 1}, {500, 50}}) {
		t.Errorf("%v", got)
	}
	near := func(got int64, want time.Duration) bool { return math.Abs(float64(got)/float64(want)-1) < 0.002 }
	if d := s.Latency(); !near(d.Min, time.Millisecond) || !near(d.P50, 51*time.Millisecond) || !near(d.P90, 91*time.Millisecond) || !near(d.Max, time.Hour) {
		t.Errorf("%+v", d)
	}
}
