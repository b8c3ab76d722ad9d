package targets

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
		s.Pick = Picks()[rng.IntN(2)]
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

// TestRequestsOfManySlots: where slots are no longer counted one by one, the numbers still agree with each other.
func TestRequestsOfManySlots(t *testing.T) {
	s := mixed(3, 7)
	s.Pick, s.Flows[0].Steps = PickRandom, make([]Step, 4)
	m := s.Mix()
	for n := int64(mostWalked) - 3; n < mostWalked+25; n++ {
		if got := m.Slots(m.Requests(n)); got != n {
			t.Errorf("%d slots, and back %d", n, got)
		}
		if got := m.Slots(m.Requests(n+1) - 1); got != n {
			t.Errorf("one request less than those of %d slots: %d", n+1, got)
		}
	}
	const many = 1_000_000_000
	if got := float64(m.Requests(many)); math.Abs(got/many/m.MeanSteps()-1) > 1e-5 {
		t.Errorf("%v requests, and the mean is %v", got, m.MeanSteps())
	}
}

// TestMixAtRandom: at random the shares hold on average, and what comes next does not depend on what came before.
func TestMixAtRandom(t *testing.T) {
	const n = 100_000
	for _, weights := range [][]int64{{80, 20}, {1, 1, 1}, {1, 9999}, {7, 11, 13, 1, 1}} {
		s, sum := mixed(weights...), 0.0
		for _, w := range weights {
			sum += float64(w)
		}
		s.Pick = PickRandom
		m, singles, pairs := s.Mix(), make([]float64, len(weights)), make([]float64, len(weights)*len(weights))
		last := m.Step(0)
		for number := range uint64(n) {
			step := m.Step(number + 1)
			singles[step]++
			pairs[last*len(weights)+step]++
			last = step
		}
		within := func(what string, got, share float64) {
			if most := 5 * math.Sqrt(n*share*(1-share)); math.Abs(got-n*share) > most {
				t.Errorf("weights %v: %s came %v times, want %v, %v more or less", weights, what, got, n*share, most)
			}
		}
		for i := range weights {
			within(fmt.Sprint("flow ", i), singles[i], float64(weights[i])/sum)
			for j := range weights {
				within(fmt.Sprintf("flow %d after %d", j, i), pairs[i*len(weights)+j], float64(weights[i])/sum*float64(weights[j])/sum)
			}
		}
	}
}

// TestRandomOrderIsFixed: all workers have one order, also those of another version. It must not change.
func TestRandomOrderIsFixed(t *testing.T) {
	s := mixed(3, 1)
	s.Pick = PickRandom
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var other Spec
	if err := json.Unmarshal(text, &other); err != nil || len(s.Diff(other)) > 0 {
		t.Fatal(err, s.Diff(other))
	}
	a, b, order := s.Mix(), other.Mix(), ""
	for number := range uint64(40) {
		if a.Step(number) != b.Step(number) {
			t.Fatalf("slot %d is another flow on another worker", number)
		}
		order += fmt.Sprint(a.Step(number))
	}
	if want := "0100000011100000100110000011101000010010"; order != want {
		t.Errorf("the order is %s, want %s", order, want)
	}
	other.Pick = PickCycle
	if d := s.Diff(other); !slices.Equal(d, []string{"targets pick: random there, cycle here"}) {
		t.Errorf("%q", d)
	}
	if s.Pick = ""; len(s.Diff(other)) > 0 {
		t.Errorf("the default is a difference: %q", s.Diff(other))
	}
}

// TestRowsOfARandomMix: no row comes twice before all slots of a pass had theirs, and with pick=once never.
func TestRowsOfARandomMix(t *testing.T) {
	const n = 1000
	s := mixed(3, 2)
	s.Pick = PickRandom
	s.Flows[0].Steps[0].URL += "?${users.name}&${items.id}"
	s.Flows[1].Steps[0].URL += "?${users.name}"
	s.Data = []rows.Source{
		{Name: "users", Columns: []string{"name"}, Rows: n, Pick: rows.Once},
		{Name: "items", Columns: []string{"id"}, Rows: n, Pick: rows.Shuffle},
	}
	if err := s.CheckWith(func(Spec) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.Once() != n {
		t.Errorf("the rows are used up after %d slots, want %d", s.Once(), n)
	}
	m := s.Mix()
	for _, d := range s.Data {
		seen, row, least := map[int64]bool{}, d.Picker(), n
		for number := range uint64(n) {
			if d.Name == "items" && m.Step(number) != 0 {
				least--
				continue
			}
			seen[row(m.turn(d.Name, number))] = true
		}
		if len(seen) != least {
			t.Errorf("%s: %d slots have %d different rows", d.Name, least, len(seen))
		}
	}
}

func BenchmarkMixStep(b *testing.B) {
	for _, pick := range Picks() {
		b.Run(pick, func(b *testing.B) {
			s := mixed(80, 20, 7)
			s.Pick = pick
			m, number := s.Mix(), uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				number += uint64(m.Step(number)) + 1
			}
		})
	}
}

// TestPauses: how long flows take if answers come at once, and how long nothing of a flow may be in flight.
func TestPauses(t *testing.T) {
	at := func(d time.Duration) Step { return Step{At: d} }
	after := func(d time.Duration) Step { return Step{After: &d} }
	for _, c := range []struct {
		steps       []Step
		flow, pause time.Duration
	}{
		{[]Step{at(0)}, 0, 0},
		{[]Step{at(0), after(0), after(2)}, 2, 2},
		{[]Step{at(0), at(5), after(3), after(1)}, 9, 5},
		{[]Step{at(0), after(3), at(10), at(11)}, 11, 10},
		{[]Step{at(0), after(9), at(4)}, 9, 9},
	} {
		if flow, pause := (Spec{Flows: []Flow{{Steps: c.steps}, {Steps: []Step{at(0)}}}}).Pauses(); flow != c.flow || pause != c.pause {
			t.Errorf("%+v: %v and %v", c, flow, pause)
		}
	}
}
