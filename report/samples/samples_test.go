package samples

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// request is one request of a run, as the tests make it.
func request(rng *rand.Rand, ordinal uint64) Sample {
	classes := []string{"", "", "", "status", "timeout"}
	s := Sample{
		Ordinal: ordinal, Worker: fmt.Sprint("w", rng.IntN(3)), Step: []string{"a", "b"}[rng.IntN(2)], Class: classes[rng.IntN(len(classes))],
		Due: time.UnixMicro(int64(ordinal) * 100).UTC(), Traced: odd(ordinal), Latency: rng.Int64N(90_000), // they end in the order in which they are due
	}
	s.Request = &Message{Start: "GET / HTTP/1.1", Body: strings.Repeat("x", rng.IntN(100))}
	return s
}

// odd says whose traces are recorded.
func odd(ordinal uint64) bool { return ordinal%7 == 1 }

// collect gives requests to the collectors of their workers, and returns what these keep.
func collect(all []Sample, closed bool, l Limits) []Set {
	steps := []string{"a", "b"}
	collectors, choosers := map[string]*Collector{}, map[string][2]*Chooser{}
	for i, s := range all {
		if collectors[s.Worker] == nil {
			c := NewCollector(s.Worker, steps, closed, l)
			collectors[s.Worker], choosers[s.Worker] = c, [2]*Chooser{c.Chooser(odd), c.Chooser(odd)}
		}
		c, step := choosers[s.Worker][i%2], slices.Index(steps, s.Step)
		if c.Worth(step, s.Class, s.Ordinal, s.Latency) {
			c.Add(step, s)
		}
	}
	var sets []Set
	for _, c := range collectors {
		set, _ := c.Set()
		sets = append(sets, set)
	}
	return sets
}

// TestMergeIsOneWorker: what many workers keep has, merged, exactly the samples of the whole run.
func TestMergeIsOneWorker(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(1, seed))
		var all []Sample
		for i := range 50 + rng.IntN(500) {
			all = append(all, request(rng, uint64(i)))
		}
		closed := seed%2 == 1
		merged, want := Merge(collect(all, closed, Limits{})...), Merge(Set{all, closed})
		if !reflect.DeepEqual(merged, want) {
			t.Fatalf("seed %d: %d samples, want %d", seed, len(merged.Samples), len(want.Samples))
		}
		if again := Merge(merged, merged); !reflect.DeepEqual(again, merged) {
			t.Fatalf("seed %d: merged with itself it is another set", seed)
		}
	}
}

// TestKept: of each step the ten slowest, of each class and step the first three, and five by chance.
func TestKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var all []Sample
	for i := range 5000 {
		all = append(all, request(rng, uint64(i)))
	}
	kept := Merge(collect(all, false, Limits{})...)
	for _, step := range []string{"a", "b"} {
		of := slices.DeleteFunc(slices.Clone(all), func(s Sample) bool { return s.Step != step })
		slices.SortFunc(of, func(a, b Sample) int { return cmp.Compare(b.Latency, a.Latency) })
		if got, want := ordinals(kept, step, Slow, ""), sorted(of[:slowest]); !slices.Equal(got, want) {
			t.Errorf("step %s: the slowest are %v, want %v", step, got, want)
		}
		of = slices.DeleteFunc(of, func(s Sample) bool { return !s.Traced })
		if got, want := ordinals(kept, step, Traced, ""), sorted(of[:mostTraced]); !slices.Equal(got, want) {
			t.Errorf("step %s: the slowest with traces are %v, want %v", step, got, want)
		}
		if n := len(ordinals(kept, step, Good, "")); n != randoms {
			t.Errorf("step %s: %d good ones, want %d", step, n, randoms)
		}
		for _, class := range []string{"status", "timeout"} {
			failed := slices.DeleteFunc(slices.Clone(all), func(s Sample) bool { return s.Step != step || s.Class != class })
			if got, want := ordinals(kept, step, First, class), sorted(failed[:firsts]); !slices.Equal(got, want) {
				t.Errorf("step %s, class %s: the first are %v, want %v", step, class, got, want)
			}
			if n := len(ordinals(kept, step, Random, class)); n != randoms {
				t.Errorf("step %s, class %s: %d by chance, want %d", step, class, n, randoms)
			}
		}
	}
}

// ordinals returns those of the samples that are kept for a reason.
func ordinals(set Set, step, why, class string) (all []uint64) {
	for _, s := range set.Samples {
		if s.Step == step && slices.Contains(s.Why, why) && (class == "" || s.Class == class) {
			all = append(all, s.Ordinal)
		}
	}
	slices.Sort(all)
	return all
}

func sorted(all []Sample) (found []uint64) {
	for _, s := range all {
		found = append(found, s.Ordinal)
	}
	slices.Sort(found)
	return found
}

// TestChanceIsFair: each failed request is kept by chance as often as others, whichever worker sent it.
func TestChanceIsFair(t *testing.T) {
	const requests, runs = 100, 1000
	counts := make([]int, requests)
	for run := range runs {
		var all []Sample
		for i := range requests {
			s := Sample{Ordinal: uint64(run*requests + i), Worker: fmt.Sprint(i % 7), Class: "status", Step: "a", Due: time.UnixMicro(int64(i)), Request: &Message{}}
			all = append(all, s)
		}
		for _, o := range ordinals(Merge(collect(all, false, Limits{})...), "a", Random, "") {
			counts[o%requests]++
		}
	}
	want := float64(runs*randoms) / requests
	var chi float64
	for _, n := range counts {
		chi += (float64(n) - want) * (float64(n) - want) / want
	}
	if chi > 160 { // of 99 degrees of freedom: once in 10,000 times
		t.Errorf("χ² is %.0f", chi)
	}
}

// TestBounds: a set within bounds has at most so many whole samples and bytes, and the times of all that are slowest.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var all []Sample
	for i := range 3000 {
		s := request(rng, uint64(i))
		s.Response = &Message{Body: strings.Repeat("y", rng.IntN(20_000)), Headers: []Header{{"A", strings.Repeat("z", rng.IntN(8000))}}}
		all = append(all, s)
	}
	l := Limits{Whole: 20, Bytes: 100_000}
	for _, set := range collect(all, false, l) {
		whole, bytes := 0, 0
		for _, s := range set.Samples {
			if s.Whole() {
				whole, bytes = whole+1, bytes+s.size()
			}
		}
		if whole > l.Whole || bytes > l.Bytes || whole < 5 {
			t.Errorf("%d whole samples with %d bytes", whole, bytes)
		}
	}
	bounded, want := Merge(collect(all, false, l)...), Merge(Set{Samples: all})
	for _, step := range []string{"a", "b"} {
		if got, want := ordinals(bounded, step, Slow, ""), ordinals(want, step, Slow, ""); !slices.Equal(got, want) {
			t.Errorf("step %s: the slowest are %v, want %v", step, got, want)
		}
	}
}

// TestWorthIsRare: what pushes nothing out is not worth its cost, even if bounds have pushed out its like before.
func TestWorthIsRare(t *testing.T) {
	c := NewCollector("w", nil, false, Limits{Whole: 1, Bytes: 2000}).Chooser(odd)
	n := 0
	for i := range uint64(100_000) {
		class := []string{"status", "check a", "check b", "timeout"}[i%4]
		if c.Worth(0, class, i, int64(i*7919%1000)) {
			n++
			c.Add(0, Sample{Ordinal: i, Class: class, Traced: odd(i), Latency: int64(i * 7919 % 1000), Due: time.UnixMicro(int64(i)), Request: &Message{Body: strings.Repeat("x", 1000)}})
		}
	}
	if n > 400 {
		t.Errorf("%d of 100,000 requests were worth keeping", n)
	}
	if allocs := testing.AllocsPerRun(100, func() { c.Worth(0, "status", 1<<40, 1) }); allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

// TestHolds: what Holds says is what Worth will say of a good request.
func TestHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	c := NewCollector("w", []string{"a", "b"}, false, Limits{}).Chooser(odd)
	for i := range uint64(3000) {
		latency, from := rng.Int64N(1000), c.Holds(0, i)
		if worth := c.Worth(0, "", i, latency); worth != (latency >= from) {
			t.Fatalf("request %d with latency %d: worth is %v, and it is held from %d on", i, latency, worth, from)
		} else if worth {
			c.Add(0, Sample{Ordinal: i, Step: "a", Latency: latency, Traced: odd(i)})
		}
	}
}

// TestCodec: a set survives, and what is none is an error.
func TestCodec(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	set := Set{Closed: true}
	for i := range 30 {
		set.Samples = append(set.Samples, request(rng, uint64(i)))
	}
	text, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Set
	if err := read.UnmarshalBinary(text); err != nil || !reflect.DeepEqual(read, set) {
		t.Errorf("%v", err)
	}
	for i, bad := range [][]byte{nil, []byte("x"), text[:len(text)-9], text[:20], []byte(`{"v":1,"samples":[]}`)} {
		if err := read.UnmarshalBinary(bad); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: %v", i, err)
		}
	}
	for i, s := range []Sample{{Ordinal: 1<<53 + 1}, {Latency: -1}, {BytesIn: 1 << 54}, {Connection: Connection{Number: -1}}, {Response: &Message{Length: -1}}} {
		text, err := Set{Samples: []Sample{s}}.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.UnmarshalBinary(text); err == nil {
			t.Errorf("number %d is taken", i)
		}
	}
}

// TestEncode: a set fits into the share of each worker, however many there are, and the slowest requests stay longest.
func TestEncode(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var all []Sample
	for i := range 2000 {
		s := request(rng, uint64(i))
		body := make([]byte, 1000)
		for i := range body {
			body[i] = byte('a' + rng.IntN(26))
		}
		s.Response = &Message{Body: string(body)}
		all = append(all, s)
	}
	set := Merge(Set{Samples: all})
	slow := ordinals(set, "a", Slow, "")
	for _, n := range []int64{0, 1, 16, 17, 100, 1000, 2000, 10_000, 1_000_000} {
		share := Share(n)
		if share > MostBytes || int64(share)*max(1, n) > MostRunBytes {
			t.Errorf("%d workers: %d bytes each", n, share)
		}
		text, err := set.Encode(share)
		var read Set
		if err != nil || n < 30_000 && len(text) > share || read.UnmarshalBinary(text) != nil {
			t.Errorf("%d workers: %d bytes, %d may be; %v", n, len(text), share, err)
		}
		if got := ordinals(read, "a", Slow, ""); n <= 1000 && !slices.Equal(got, slow) {
			t.Errorf("%d workers: the slowest are %v, want %v", n, got, slow)
		}
	}
}
