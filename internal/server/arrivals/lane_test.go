package arrivals

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Taken in any pieces, every arrival comes once and in order, and count and sum always agree.
func TestLaneTake(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		var l lane
		var total atomic.Int64
		var all, taken []int64
		at := int64(0)
		for range 100 {
			for range r.IntN(400) {
				at += r.Int64N(3)
				all = append(all, at)
				if n := l.record(at, nil, &total); n != int64(len(all)) {
					t.Fatalf("%d recorded, counted %d", len(all), n)
				}
			}
			until := at - r.Int64N(500)
			due, _ := slices.BinarySearch(all, until+1)
			due = max(due, len(taken)) // the call before may have gone further
			taken = l.take(taken, until)
			if len(taken) != due {
				t.Fatalf("took %d up to %d, want %d", len(taken), until, due)
			}
			if !slices.Equal(append(slices.Clone(taken), l.appendTimes(nil, 0)...), all) {
				t.Fatal("taken and kept are not all there were")
			}
		}
		l.reset(&total)
		if total.Load() != 0 || len(l.take(nil, at)) != 0 {
			t.Fatal("not forgotten")
		}
	}
}

// A lane that is emptied repeatedly reuses its memory.
func TestLaneTakeAllocatesNothing(t *testing.T) {
	var l lane
	var total atomic.Int64
	buffer := make([]int64, 0, 1000)
	at := int64(0)
	n := testing.AllocsPerRun(1000, func() {
		for range 30 {
			at++
			l.record(at, nil, &total)
		}
		buffer = l.take(buffer[:0], at-10)
	})
	if n != 0 || len(l.chunks) != 1 {
		t.Errorf("%v allocations, %d chunks", n, len(l.chunks))
	}
}

// Take during requests: nothing twice, nothing lost, in order.
func TestTakeWhileCounting(t *testing.T) {
	s := start(t, Options{NoPaths: true})
	const conns, each = 4, 300
	var clients, taker sync.WaitGroup
	for range conns {
		c := dial(t, s)
		clients.Go(func() {
			for range each {
				if _, err := get(c, "/"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var taken []int64
	over := make(chan struct{})
	taker.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				taken = append(taken, s.Take(s.Now())...) // without a margin: held up is the rule
			}
		}
	})
	clients.Wait()
	close(over)
	taker.Wait()
	taken = append(taken, s.Take(s.Now())...)
	if len(taken) != conns*each || !slices.IsSorted(taken) || taken[len(taken)-1] > s.Now() {
		t.Errorf("took %d of %d, sorted: %v", len(taken), conns*each, slices.IsSorted(taken))
	}
	if s.Count() != conns*each || len(s.Arrivals()) != 0 || len(s.Paths()) != 0 {
		t.Errorf("count %d, kept %d, paths %v", s.Count(), len(s.Arrivals()), s.Paths())
	}
	s.Reset()
	if s.Count() != 0 {
		t.Errorf("after Reset: count %d", s.Count())
	}
}

// Late records come with the next call, after earlier ones.
func TestTakeOfALateArrival(t *testing.T) {
	s := start(t, Options{})
	l := new(lane)
	s.lanes = append(s.lanes, l)
	wall := s.began.UnixNano()
	l.record(10, nil, &s.count)
	l.record(30, nil, &s.count)
	if got := s.Take(wall - 1); len(got) != 0 {
		t.Errorf("took %v from before the start", got)
	}
	if got := s.Take(wall + 20); !slices.Equal(got, []int64{wall + 10}) {
		t.Errorf("took %v", got)
	}
	late := new(lane)
	s.lanes = append(s.lanes, late)
	late.record(5, nil, &s.count)
	if got := s.Take(wall + 15); !slices.Equal(got, []int64{wall + 20}) {
		t.Errorf("the late one: %v, want %v", got, wall+20)
	}
	if got := s.Take(1 << 62); !slices.Equal(got, []int64{wall + 30}) {
		t.Errorf("took %v", got)
	}
	if future := s.Now(); s.takenTo+wall > future {
		t.Error("took up to a time in the future")
	}
}
