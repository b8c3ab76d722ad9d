package seen

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
)

// A Set agrees with a map, for few values that come often and for many that come seldom.
func TestSetIsAMap(t *testing.T) {
	for _, different := range []int{1, 10, 1000, 200_000} {
		r := rand.New(rand.NewPCG(5, uint64(different)))
		s, want := New(Most), map[string]int{}
		for range 3 * different {
			value := strconv.Itoa(r.IntN(different))
			if had := want[value] > 0; s.Has(value) != had || s.Add(value) != had {
				t.Fatalf("of %d: %q was there is %v", different, value, had)
			}
			want[value]++
		}
		twice := 0
		for _, n := range want {
			if n > 1 {
				twice++
			}
		}
		if s.Values() != int64(len(want)) || s.Twice() != int64(twice) || s.Missed() != 0 {
			t.Errorf("of %d: values %d, twice %d, missed %d; want %d, %d", different, s.Values(), s.Twice(), s.Missed(), len(want), twice)
		}
	}
}

// A full set takes no more values, says how often that was, and still knows those it has.
func TestSetIsBounded(t *testing.T) {
	s := New(100)
	for i := range 150 {
		if s.Add(strconv.Itoa(i)) {
			t.Errorf("%d was there", i)
		}
	}
	if s.Values() != 100 || s.Missed() != 50 || s.Has("120") || !s.Has("99") || !s.Add("99") || s.Twice() != 1 {
		t.Errorf("values %d, missed %d, twice %d", s.Values(), s.Missed(), s.Twice())
	}
}

// Of calls at the same time with one value, one is the first.
func TestSetIsSafe(t *testing.T) {
	const callers, different = 8, 5000
	s := New(Most)
	var all sync.WaitGroup
	var mu sync.Mutex
	first := map[int]int{}
	for range callers {
		all.Go(func() {
			for i := range different {
				if !s.Add(strconv.Itoa(i)) {
					mu.Lock()
					first[i]++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	for i := range different {
		if first[i] != 1 {
			t.Fatalf("%d was new %d times", i, first[i])
		}
	}
	if s.Values() != different || s.Twice() != different {
		t.Errorf("values %d, twice %d", s.Values(), s.Twice())
	}
}

// The hash 0, which also marks a free slot, is a value like others.
func TestHashZero(t *testing.T) {
	s := New(Most)
	if s.shards[0].add(s, 0) || !s.shards[0].has(0) || !s.shards[0].add(s, 0) || s.Values() != 1 {
		t.Errorf("values %d", s.Values())
	}
}

// Shards grow, but not to more than thrice what they hold.
func TestSetIsSmall(t *testing.T) {
	s := New(Most)
	for i := range 1_000_000 {
		s.Add(strconv.Itoa(i))
	}
	slots := 0
	for i := range s.shards {
		slots += len(s.shards[i].slots)
	}
	if slots > 3_200_000 {
		t.Errorf("%d slots for %d values", slots, s.Values())
	}
}
