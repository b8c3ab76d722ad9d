package arrivals

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// poisson returns the times of n arrivals at a rate per second, in ns.
func poisson(rng *rand.Rand, n int, rate float64) []int64 {
	times, at := make([]int64, n), 0.0
	for i := range times {
		at += rng.ExpFloat64() / rate * 1e9
		times[i] = int64(at)
	}
	return times
}

// TestQueueEqualsServers: the recurrence agrees with c servers and one queue, simulated one by one.
func TestQueueEqualsServers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []int{1, 2, 8, 50} {
		const service = 10 * time.Millisecond
		q := newQueue(c, service)
		free := make([]int64, c) // when each server is free
		for i, at := range poisson(rng, 5_000, 0.95*float64(c)/service.Seconds()) {
			first := 0
			for s := range free {
				if free[s] < free[first] {
					first = s
				}
			}
			free[first] = max(at, free[first]) + int64(service)
			if done, ok := q.enter(at); !ok || done != free[first] {
				t.Fatalf("%d servers, request %d: done at %d, %v, want %d", c, i, done, ok, free[first])
			}
		}
	}
}

// TestQueueLoad: at half the capacity a request takes about the service time; above the capacity answers come at c/D.
func TestQueueLoad(t *testing.T) {
	const service, n = 10 * time.Millisecond, 20_000
	for _, c := range []struct {
		load, rate float64 // of the capacity; of the answers
		p50, p99   time.Duration
	}{{0.5, 400, service, 15 * time.Millisecond}, {1.2, 800, time.Hour, time.Hour}} {
		q, last := newQueue(8, service), int64(0)
		var took []int64
		for _, at := range poisson(rand.New(rand.NewPCG(3, 4)), n, 800*c.load) {
			done, ok := q.enter(at)
			if !ok {
				t.Fatal("refused")
			}
			took, last = append(took, done-at), max(last, done)
		}
		slices.Sort(took)
		if rate := n / time.Duration(last).Seconds(); rate < 0.98*c.rate || rate > 1.02*c.rate {
			t.Errorf("load %v: %.0f/s, want %.0f/s", c.load, rate, c.rate)
		}
		p50, p99 := time.Duration(took[n/2]), time.Duration(took[n*99/100])
		if time.Duration(took[0]) < service || p50 > c.p50 || p99 > c.p99 {
			t.Errorf("load %v: p50 %v, p99 %v", c.load, p50, p99)
		}
	}
}

// TestQueueIsBounded: beyond its limit a queue refuses, and refused requests take no time of a server.
func TestQueueIsBounded(t *testing.T) {
	q, refused := newQueue(4, time.Millisecond), 0
	for range QueueLimit + 1_000 {
		if _, ok := q.enter(0); !ok {
			refused++
		}
	}
	if taken := QueueLimit + 1_000 - refused; taken < QueueLimit || taken > QueueLimit+2*4 {
		t.Errorf("%d taken", taken)
	}
	if done, ok := q.enter(int64(time.Hour)); !ok || done != int64(time.Hour+time.Millisecond) {
		t.Errorf("later: done at %v, %v", time.Duration(done), ok)
	}
	for _, o := range []Options{
		{Capacity: -1}, {Capacity: MaxCapacity + 1, ServiceTime: time.Second}, {Capacity: 1}, {Capacity: 1, ServiceTime: -1}, {Capacity: 1, ServiceTime: MaxServiceTime + 1},
	} {
		if s, err := Start(o); err == nil {
			s.Close()
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestCapacity: with real connections. One at a time, each answer takes the service time; as many as there are servers
// are served side by side; more clients than servers get no more than c/D.
func TestCapacity(t *testing.T) {
	const service = 50 * time.Millisecond
	s := start(t, Options{Capacity: 4, ServiceTime: service})
	ask := func(connections, each int) time.Duration {
		began := time.Now()
		var wg sync.WaitGroup
		for range connections {
			c := dial(t, s)
			wg.Go(func() {
				for range each {
					if status, err := get(c, "/"); status != 200 || err != nil {
						t.Error(status, err)
					}
				}
			})
		}
		wg.Wait()
		return time.Since(began)
	}
	if took := ask(1, 3); took < 3*service {
		t.Errorf("alone: three took %v", took)
	}
	await.True(t, "one that takes about the service time", func() bool { return ask(1, 1) < 2*service })
	await.True(t, "four that are served side by side", func() bool { return ask(4, 1) < 2*service })
	if took := ask(12, 5); took < 12*5/4*service {
		t.Errorf("60 requests took %v, want %v at least", took, 12*5/4*service)
	}
}

// TestFullQueue: refused requests are answered at once, and the connection stays.
func TestFullQueue(t *testing.T) {
	s := start(t, Options{Capacity: 1, ServiceTime: time.Hour, Latency: time.Hour})
	for range QueueLimit + 2 {
		s.queue.enter(0)
	}
	c := dial(t, s)
	for range 3 {
		if status, err := get(c, "/"); status != 503 || err != nil {
			t.Errorf("%d, %v", status, err)
		}
	}
	if s.Count() != 3 {
		t.Errorf("%d arrived", s.Count())
	}
}
