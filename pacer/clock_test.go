package pacer_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

const (
	us  = int64(time.Microsecond)
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// reading is a Sample: sent at `at`, with a round trip of rtt. off is the error of the answer.
type reading struct{ at, rtt, off int64 }

func (r reading) put(c *pacer.Clock, base int64) bool {
	return c.Sample(r.at, r.at+r.rtt, (base+r.at+r.rtt/2+r.off)/1000)
}

func TestClockFollowsItsBestSample(t *testing.T) {
	const base = 1_000_000 * 1_000_000_000 // how far Redis is ahead, ns
	for _, c := range []struct {
		name     string
		readings []reading
		off, err int64
	}{
		{"the first is believed", []reading{{0, 10 * ms, 4 * ms}}, 4 * ms, 5 * ms},
		{"a slower one is not", []reading{{0, 2 * ms, 1 * ms}, {1 * sec, 10 * ms, -3 * ms}}, 1 * ms, 1*ms + 100*us + us/5},
		{"a quicker one is, in the first second at once", []reading{{0, 10 * ms, 4 * ms}, {500 * ms, 2 * ms, 0}}, 0, 1 * ms},
		{"and then at 500 ppm", []reading{{0, 10 * ms, 4 * ms}, {2 * sec, 2 * ms, 0}}, 4*ms - 996*us, 1*ms + 4*ms - 996*us},
		{"and is reached", []reading{{0, 10 * ms, 4 * ms}, {2 * sec, 2 * ms, 0}, {5 * sec, 8 * ms, 0}, {9 * sec, 8 * ms, 0}}, 0, 1*ms + 701*us},
		{"of two equal ones the newer", []reading{{0, 2 * ms, 100 * us}, {1 * sec, 2 * ms, 0}}, 0, 1 * ms},
		{"a quick one counts for 10 s", []reading{{0, 2 * ms, 1 * ms}, {5 * sec, 10 * ms, -1 * ms}, {9_990 * ms, 8 * ms, 0}}, 1 * ms, 1*ms + 1*ms},
		{"and no longer", []reading{{0, 2 * ms, 1 * ms}, {5 * sec, 10 * ms, -1 * ms}, {10_000 * ms, 8 * ms, 0}}, 0, 4 * ms},
	} {
		clock := pacer.NewClock()
		for i, r := range c.readings {
			if r.put(clock, base) {
				t.Errorf("%s: reading %d is taken for a step", c.name, i)
			}
		}
		const near = 2000 // TIME counts in µs
		if got := clock.Redis(0) - base; got < c.off-near || got > c.off+near {
			t.Errorf("%s: off by %v, want %v", c.name, time.Duration(got), time.Duration(c.off))
		}
		if got := int64(clock.Err()); got < c.err-near || got > c.err+near {
			t.Errorf("%s: Err() = %v, want %v", c.name, time.Duration(got), time.Duration(c.err))
		}
		if got := clock.Local(clock.Redis(12345)); got != 12345 {
			t.Errorf("%s: Local(Redis(12345)) = %d", c.name, got)
		}
	}
}

// world is a Redis whose clock drifts away from ours, behind a network with asymmetric delays.
type world struct {
	rng   *rand.Rand
	ahead int64 // ns, at local time 0
	drift int64 // ppm
	quick int64 // ns, the shortest delay of one way
	slow  float64
	local int64
}

func (w *world) redis(local int64) int64 { return local + w.ahead + local*w.drift/1_000_000 }

func (w *world) way() int64 { return w.quick + int64(w.slow*w.rng.ExpFloat64()) }

// call makes one call, and reports whether the clock takes it for a step.
func (w *world) call(c *pacer.Clock) bool {
	sent := w.local
	asked := sent + w.way()
	w.local = asked + w.way()
	return c.Sample(sent, w.local, w.redis(asked)/1000)
}

func TestClockErrorIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		w := &world{
			rng: rng, ahead: rng.Int64N(1_000_000*sec) - 500_000*sec, drift: rng.Int64N(201) - 100,
			quick: 1 + logInt(rng, 20*ms), slow: float64(logInt(rng, 20*ms)), local: rng.Int64N(1000 * sec),
		}
		if i%3 == 0 {
			w.drift = 100 - 200*int64(i/3%2)
		}
		clock := pacer.NewClock()
		apart := 5*ms + logInt(rng, 2*sec)
		received, first := int64(0), int64(0)
		for n := range 400 {
			before, elapsed := clock.Redis(0), -received
			if w.call(clock) {
				t.Fatalf("%+v: call %d is taken for a step", w, n)
			}
			received = w.local
			elapsed += received
			if n == 0 {
				first = received
			}
			if moved := clock.Redis(0) - before; received-first >= sec && max(moved, -moved) > elapsed*500/1_000_000 {
				t.Fatalf("%+v: call %d moves the clock by %v in %v", w, n, time.Duration(moved), time.Duration(elapsed))
			}
			wait := rng.Int64N(2 * apart)
			for _, later := range []int64{0, wait} { // right after the call, and right before the next
				local := w.local + later
				off := clock.Redis(local) - w.redis(local)
				if bound := int64(clock.Err()) + 2*us + later*100/1_000_000; max(off, -off) > bound {
					t.Fatalf("%+v: after call %d off by %v, Err() is %v", w, n, time.Duration(off), clock.Err())
				}
			}
			w.local += wait
		}
	}
}

func TestClockSeesSteps(t *testing.T) {
	for _, step := range []int64{20 * ms, -20 * ms, 3600 * sec, -3600 * sec} {
		w := &world{rng: rand.New(rand.NewPCG(2, 2)), ahead: 5000 * sec, drift: 20, quick: 200 * us, slow: float64(300 * us)}
		clock := pacer.NewClock()
		calls := func(n int) (steps int) {
			for range n {
				if w.call(clock) {
					steps++
				}
				w.local += 100 * ms
			}
			return steps
		}
		if n := calls(100); n != 0 {
			t.Errorf("%d steps before there was one", n)
		}
		w.ahead += step
		if !w.call(clock) {
			t.Errorf("a step of %v was not seen", time.Duration(step))
		}
		off := clock.Redis(w.local) - w.redis(w.local)
		if bound := int64(clock.Err()) + 2*us; max(off, -off) > bound || bound > 10*ms {
			t.Errorf("after a step of %v off by %v, Err() = %v", time.Duration(step), time.Duration(off), clock.Err())
		}
		if n := calls(300); n != 0 {
			t.Errorf("a step of %v was seen %d times more", time.Duration(step), n)
		}
	}
}

func TestClockBeforeTheFirstSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, begin := pacer.NewClock(), time.Now()
		if got := clock.Redis(clock.Now()); got != begin.UnixNano() || clock.Err() != 0 {
			t.Errorf("Redis(Now()) = %d, Err() = %v; want the wall clock's %d", got, clock.Err(), begin.UnixNano())
		}
		time.Sleep(3 * time.Second)
		if got := clock.Now() - begin.UnixNano(); got != 3*sec {
			t.Errorf("after 3 s Now() is %v further", time.Duration(got))
		}
	})
}

func TestClockIsReadByMany(t *testing.T) {
	clock := pacer.NewClock()
	clock.Sample(0, 1000, 5_000_000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if local := clock.Local(6 * sec); local > 1*sec+ms || local < 1*sec-ms || clock.Err() > time.Millisecond {
					t.Errorf("Local = %d, Err = %v", local, clock.Err())
					return
				}
			}
		})
	}
	for i := range int64(1000) {
		clock.Sample(i*ms, i*ms+1000, 5_000_000+i*1000)
	}
	wg.Wait()
}
