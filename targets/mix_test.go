package targets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/rows"
)

// mixed returns a spec of steps a, b, … with these weights.
func mixed(weights ...int64) Spec {
	var s Spec
	for i, w := range weights {
		s.Flows = append(s.Flows, Flow{Name: fmt.Sprint("f", i), Weight: w, Steps: []Step{Step{Name: fmt.Sprint("s", i), URL: fmt.Sprint("http://a/", i)}}})
	}
	return s
}

// Among the first n requests each step has its share, less than one more or less; so in any window less than two.
func TestMixIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	cases := [][]int64{{8, 2}, {80, 20}, {1}, {1, 1, 1}, {1, 9999}, {7, 11, 13, 1, 1}, {0, 3}}
	for range 60 {
		var weights []int64
		for range 1 + rng.IntN(40) {
			weights = append(weights, 1+rng.Int64N(60))
		}
		cases = append(cases, weights)
	}
	for _, weights := range cases {
		s := mixed(weights...)
		m, sum := s.Mix(), 0.0
		for _, f := range s.Flows {
			sum += float64(f.weight())
		}
		counts := make([]float64, len(weights))
		for n := range uint64(2 * len(m.cycle)) {
			counts[m.Step(n)]++
			for i, f := range s.Flows {
				if want := float64(n+1) * float64(f.weight()) / sum; math.Abs(counts[i]-want) >= 1 {
					t.Fatalf("weights %v: step %d has %v of the first %d, want %v", weights, i, counts[i], n+1, want)
				}
			}
		}
	}
	if got := mixed(80, 20).Mix().cycle; !slices.Equal(got, []uint16{0, 0, 0, 0, 1}) {
		t.Errorf("80 and 20 are not 4 and 1: %v", got)
	}
}

// The rows of a file go in turn to the steps that use it, and to no others.
func TestMixSharesRows(t *testing.T) {
	s := mixed(3, 2, 5)
	s.Flows[0].Steps[0].URL += "?${users.name}"
	s.Flows[1].Steps[0].Body = []byte("${users.name}")
	s.Flows[2].Steps[0].URL += "?${items.id}"
	s.Data = []rows.Source{
		{Name: "users", Columns: []string{"name"}, Rows: 7, Pick: rows.Once},
		{Name: "items", Columns: []string{"id"}, Rows: 1000, Pick: rows.Cycle},
	}
	m := s.Mix()
	next := map[string]uint64{}
	for n := range uint64(100) {
		source := "users"
		if m.Step(n) == 2 {
			source = "items"
		}
		if got := m.turn(source, n); got != next[source] {
			t.Fatalf("request %d has turn %d of %s, want %d", n, got, source, next[source])
		}
		if next[source]++; next["users"] == 8 && s.Once() != int64(n) {
			t.Errorf("Once %d, but request %d uses the eighth row of seven", s.Once(), n)
			next["users"] = math.MaxUint64 / 2 // said once
		}
		if next["users"] == 8 {
			return
		}
	}
}

// A mix performs each request as the Target of its step does, over shared connections.
func TestMixTarget(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	from := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Method+" "+r.URL.Path+" "+r.Header.Get("X")]++
		from[r.RemoteAddr] = true
		if r.URL.Path == "/teapot" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	s := Spec{Flows: []Flow{
		{Name: "l", Weight: 4, Steps: []Step{{Name: "list", URL: server.URL + "/list"}}},
		{Name: "t", Weight: 1, Steps: []Step{{Name: "tea", URL: server.URL + "/teapot", Method: "PUT", Headers: []Header{{"X", "y"}}, Expect: "418"}}},
	}}
	target, err := New(s, Local{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	mix := s.Mix()
	for n := range uint64(100) {
		if out := target.Do(context.Background(), Call{Number: n, Step: mix.Step(n)}); out.Class != "" {
			t.Fatal(n, out)
		}
	}
	if got["GET /list "] != 80 || got["PUT /teapot y"] != 20 || len(from) != 1 {
		t.Errorf("%v over %d connections", got, len(from))
	}
	wire, ok, err := NewWire(s, Local{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for n := range uint64(5) {
		if text := string(wire.Step(mix.Step(n)).Request); strings.HasPrefix(text, "PUT /teapot") != (mix.Step(n) == 1) {
			t.Errorf("request %d: %s", n, text)
		}
	}
}

func TestMixErrors(t *testing.T) {
	ok := Step{Name: "a", URL: "http://a/"}
	for want, s := range map[string]Spec{
		"leave out URL, method":                         {URL: "http://a/", Flows: []Flow{{Name: "f", Steps: []Step{ok}}}},
		"flow a: the weight must":                       {Flows: []Flow{{Name: "a", Weight: -1, Steps: []Step{ok}}}},
		"step a: url: is missing":                       {Flows: []Flow{{Name: "f", Steps: []Step{Step{Name: "a"}}}}},
		"flow f: step 1: name \"\": give 1 to 64 bytes": {Flows: []Flow{{Name: "f", Steps: []Step{Step{URL: "http://a"}}}}},
		"leave out braces, commas":                      {Flows: []Flow{{Name: "f", Steps: []Step{Step{Name: "a}", URL: "http://a"}}}}},
		"step b: check":                                 {Flows: []Flow{{Name: "f", Steps: []Step{ok}}, {Name: "f", Steps: []Step{Step{Name: "b", URL: "http://a", Checks: []string{"x"}}}}}},
		"step b: header 1":                              {Flows: []Flow{{Name: "f", Steps: []Step{ok}}, {Name: "f", Steps: []Step{Step{Name: "b", URL: "http://a", Headers: []Header{{"", ""}}}}}}},
		"there is no data file":                         {Flows: []Flow{{Name: "f", Steps: []Step{Step{Name: "b", URL: "http://a/${x.y}"}}}}},
		"their sum is 109518":                           mixed(9999, 9998, 9973, 9967, 9949, 9941, 9931, 9929, 9923, 9907, 10000, 1),
		"no placeholder uses users":                     {Flows: []Flow{{Name: "f", Steps: []Step{ok}}}, Data: []rows.Source{{Name: "users", Columns: []string{"a"}, Rows: 1, Pick: "once"}}},
	} {
		err := s.Validate()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	many := mixed(make([]int64, MaxFlows+1)...)
	if err := many.Validate(); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Error(err)
	}
}

// A mix travels as JSON, shows no secrets, and its differences are named.
func TestMixTravels(t *testing.T) {
	s := Spec{Flows: []Flow{{Name: "a", Weight: 2, Steps: []Step{{Name: "a", URL: "http://u:secret@a/", Headers: []Header{{"Authorization", "secret"}}, Body: []byte("secret")}}}}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(text, &back); err != nil || len(s.Diff(back)) > 0 {
		t.Error(err, s.Diff(back))
	}
	if shown := fmt.Sprintf("%+v", s.Redacted()); strings.Contains(shown, "secret") || !strings.Contains(fmt.Sprint(s.Flows), "secret") {
		t.Error(shown)
	}
	back.Flows[0].Steps[0].Body = []byte("other")
	if d := s.Diff(back); !slices.Equal(d, []string{"step a: body differs"}) {
		t.Errorf("%q", d)
	}
	back.Flows[0].Weight = 3
	if d := s.Diff(back); !slices.Equal(d, []string{"flows: a 2 there, a 3 here"}) {
		t.Errorf("%q", d)
	}
	if hosts := (Spec{Flows: []Flow{{Name: "f", Steps: []Step{Step{URL: "http://a/"}}}, {Name: "f", Steps: []Step{Step{URL: "https://b"}}}, {Name: "f", Steps: []Step{Step{URL: "http://a/2"}}}}}).Hosts(); !slices.Equal(hosts, []string{"a:80", "b:443"}) {
		t.Error(hosts)
	}
}

// TestMixOfRequests: so many whole flows as fit into a number of requests, and no more.
func TestMixOfRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		s := mixed(1+rng.Int64N(20), 1+rng.Int64N(20), 1+rng.Int64N(20))
		for i := range s.Flows {
			s.Flows[i].Steps = make([]Step, 1+rng.IntN(5))
		}
		m := s.Mix()
		requests := rng.Int64N(5000)
		n := m.Slots(requests)
		if m.Requests(n) > requests || m.Requests(n+1) <= requests {
			t.Fatalf("%d flows for %d requests: %d, and with one more %d", n, requests, m.Requests(n), m.Requests(n+1))
		}
		var sum int64
		for k := range uint64(n) {
			sum += int64(m.Rest(m.Step(k)) + 1)
		}
		if sum != m.Requests(n) {
			t.Fatalf("%d flows have %d requests, not %d", n, sum, m.Requests(n))
		}
	}
}

// TestPreconnectOfMix: each server gets its share of the connections, also while another one does not answer.
func TestPreconnectOfMix(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var dead, alive atomic.Int64
	p := &pool{dial: func(ctx context.Context, _ time.Time, to endpoint) (*conn, error) {
		if to.address == "dead" {
			dead.Add(1)
			<-ctx.Done()
		} else if alive.Add(1) == 8 {
			cancel()
		}
		return nil, net.UnknownNetworkError("none")
	}}
	to := func(addr string) Target { return &httpTarget{first: &message{to: endpoint{address: addr}}, pool: p} }
	mix := Spec{Flows: []Flow{{Name: "a", Weight: 2, Steps: make([]Step, 1)}, {Name: "b", Weight: 1, Steps: make([]Step, 2)}}}.Mix()
	target := &mixTarget{mix: mix, steps: []Target{to("dead"), to("alive"), to("alive")}}
	if n := target.Preconnect(ctx, 16, time.Microsecond); n != 0 || alive.Load() != 8 {
		t.Errorf("%d are open, %d were tried at the one that answers, %d at the other", n, alive.Load(), dead.Load())
	}
}
