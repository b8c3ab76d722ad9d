package arrivals

import (
	"math"
	"sync"
	"testing"
	"time"
)

// Of the first n elements exactly floor(n·share) are picked, for each n.
func TestShareIsExact(t *testing.T) {
	for _, c := range []struct {
		share     float64
		num, each int64 // the same as a fraction
	}{{0, 0, 1}, {0.01, 1, 100}, {0.07, 7, 100}, {0.29, 29, 100}, {0.5, 1, 2}, {0.999, 999, 1000}, {1, 1, 1}} {
		s := share{part: shareOf(c.share)}
		picked := int64(0)
		for n := int64(1); n <= 2000; n++ {
			if s.next() {
				picked++
			}
			if want := n * c.num / c.each; picked != want || c.share > 0 && s.picked() != want {
				t.Fatalf("%v: of %d picked %d, says %d, want %d", c.share, n, picked, s.picked(), want)
			}
		}
	}
	// Where the pattern repeats.
	s := share{part: shareOf(0.25)}
	s.row.Store(3*shareUnit - 1)
	if !s.next() || s.next() || s.picked() != 3*shareUnit/4 {
		t.Errorf("picked %d of %d", s.picked(), s.row.Load())
	}
}

func TestErrorShare(t *testing.T) {
	s := start(t, Options{ErrorShare: 0.29, ErrorStatus: 503, Status: 204})
	var mu sync.Mutex
	got := make(map[int]int)
	var wg sync.WaitGroup
	for range 4 {
		c := dial(t, s)
		wg.Go(func() {
			for range 100 {
				status, err := get(c, "/")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				got[status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got[503] != 116 || got[204] != 284 || s.ErrorsAnswered() != 116 {
		t.Errorf("got %v, says %d errors", got, s.ErrorsAnswered())
	}
	plain := start(t, Options{ErrorShare: 1})
	if status, err := get(dial(t, plain), "/"); status != 500 || err != nil {
		t.Errorf("without ErrorStatus: %d, %v", status, err)
	}
}

// Delays fill the range from Latency to Latency + Jitter.
func TestJitter(t *testing.T) {
	o := Options{Latency: 5 * time.Millisecond, Jitter: 2 * time.Millisecond}
	least, most := int64(math.MaxInt64), int64(0)
	for range 10_000 {
		d := o.delay()
		least, most = min(least, d), max(most, d)
	}
	const tenth = int64(200 * time.Microsecond)
	from, to := int64(o.Latency), int64(o.Latency+o.Jitter)
	if least < from || least > from+tenth || most >= to || most < to-tenth {
		t.Errorf("from %v to %v", time.Duration(least), time.Duration(most))
	}
	if d := (&Options{}).delay(); d != 0 {
		t.Errorf("without both: %v", d)
	}
	s := start(t, o)
	c := dial(t, s)
	began := time.Now()
	if _, err := get(c, "/"); err != nil || time.Since(began) < o.Latency {
		t.Errorf("answered after %v, %v", time.Since(began), err)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{
		{Latency: -1}, {Jitter: -1}, {ErrorShare: -0.1}, {ErrorShare: 1.1}, {ErrorShare: math.NaN()}, {ErrorStatus: 99}, {Status: 1000},
	} {
		if s, err := Start(o); err == nil {
			s.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestFirstArrival(t *testing.T) {
	s := start(t, Options{})
	select {
	case <-s.FirstArrival():
		t.Fatal("before there is one")
	default:
	}
	c := dial(t, s)
	for range 2 {
		if _, err := get(c, "/"); err != nil {
			t.Fatal(err)
		}
		s.Reset() // so that the next is the first once more
	}
	select {
	case <-s.FirstArrival():
	default:
		t.Error("answered, and not said to have arrived")
	}
}
