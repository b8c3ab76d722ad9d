package pacer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// member is a simulated worker: it fires each slot exactly when due.
type member struct {
	name   string
	leaser *pacer.Leaser
	wake   chan struct{}
	mu     sync.Mutex
	ranges []pacer.Range
	at     []int64 // when each range came, ns
	since  []int64 // when each recall became known, ns; parallel to known
	known  pacer.Recalls
	err    error
	cancel context.CancelFunc
	done   chan struct{}
	dead   int64 // ns; 0 = alive
}

func (m *member) Lease(r pacer.Range) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ranges = append(m.ranges, r)
	m.at = append(m.at, time.Now().UnixNano())
}

func (m *member) Notice(n pacer.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range n.Recalls {
		if !slices.Contains(m.known, r) {
			m.known = append(m.known, r)
			m.since = append(m.since, time.Now().UnixNano())
		}
	}
}

// sends are the due times of the slots it fires, the late ones apart, and how many it recalled.
func (m *member) sends() (due []int64, late, recalled int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.ranges {
		next := 0
		for c := r.Cursor(0, 1); c.Ok(); c.Next() {
			for next < len(m.known) && m.since[next] <= c.Due() {
				next++
			}
			known := m.known[:next]
			switch {
			case m.dead > 0 && c.Due() >= m.dead:
			case known.Recalled(c.Generation(), c.Slot(), c.Due()):
				recalled++
			case c.Due() < m.at[i]:
				late++
			default:
				due = append(due, c.Due())
			}
		}
	}
	return due, late, recalled
}

// fleet is a run in virtual time.
type fleet struct {
	limiter *model.Limiter
	members []*member
	rng     *rand.Rand
}

func newFleet(o model.Options) *fleet {
	f := &fleet{limiter: model.NewLimiter(model.New(o)), rng: rand.New(rand.NewPCG(1, 2))}
	var mu sync.Mutex
	f.limiter.Delay = func(pacer.Ask) (time.Duration, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(100+f.rng.IntN(1500)) * time.Microsecond, time.Duration(100+f.rng.IntN(1500)) * time.Microsecond
	}
	return f
}

func (f *fleet) join(weight int64) *member {
	m := &member{name: fmt.Sprint("w", len(f.members)), wake: make(chan struct{}, 1), done: make(chan struct{})}
	m.leaser = &pacer.Leaser{Limiter: f.limiter, Sink: m, Clock: pacer.NewClock(), Worker: m.name, Incarnation: "i", Weight: weight, Wake: m.wake}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	f.members = append(f.members, m)
	go func() {
		defer close(m.done)
		m.err = m.leaser.Run(ctx)
	}()
	return m
}

func (f *fleet) command(id, kind string, r pacer.Rate) {
	ps, _ := pacer.Constant(r, 0).Pieces()
	f.limiter.Do(func(b *model.Budget, now int64) { b.Command(now, id, kind, ps) })
	for _, m := range f.members {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

func (f *fleet) wait(t *testing.T) {
	t.Helper()
	for _, m := range f.members {
		if m.dead > 0 {
			continue
		}
		<-m.done
		if !errors.Is(m.err, pacer.ErrEnded) && !errors.Is(m.err, pacer.ErrStopped) && !errors.Is(m.err, context.Canceled) {
			t.Errorf("%s: %v", m.name, m.err)
		}
	}
}

// all is every send of the fleet in order of time, and each member's own.
func (f *fleet) all(t *testing.T) (all []int64, each [][]int64, late int) {
	t.Helper()
	for _, m := range f.members {
		due, l, _ := m.sends()
		late += l
		slices.Sort(due)
		all = append(all, due...)
		each = append(each, due)
	}
	slices.Sort(all)
	return all, each, late
}

func maxIn(sorted []int64, w time.Duration) int {
	best, j := 0, 0
	for i := range sorted {
		for sorted[i]-sorted[j] >= int64(w) {
			j++
		}
		best = max(best, i-j+1)
	}
	return best
}

func compile(t *testing.T, p pacer.Profile) model.Options {
	t.Helper()
	ps, err := p.Pieces()
	if err != nil {
		t.Fatal(err)
	}
	return model.Options{Pieces: ps, Loop: p.Loop, Span: p.Length().Microseconds()}
}

func TestFleetIsExactAndEven(t *testing.T) {
	for _, c := range []struct {
		workers int
		rate    int64
	}{{1, 1}, {3, 1}, {20, 50}, {4, 100}, {2, 20_000}, {4, 4_000}, {6, 2_000}, {50, 5_000}, {300, 20_000}} {
		t.Run(fmt.Sprintf("%d workers %d per second", c.workers, c.rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const seconds = 10
				o := compile(t, pacer.Constant(pacer.PerSecond(c.rate), seconds*time.Second))
				o.Min = int64(c.workers)
				f := newFleet(o)
				for range c.workers {
					f.join(1)
				}
				f.wait(t)
				all, each, late := f.all(t)
				if len(all) != int(c.rate)*seconds || late > 0 {
					f.limiter.Do(func(b *model.Budget, _ int64) {
						t.Errorf("sent %d of %d, late %d, skipped %d", len(all), c.rate*seconds, late, b.Skipped)
					})
				}
				for _, w := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
					bound := float64(c.rate)*w.Seconds() + 1
					if n := maxIn(all, w); float64(n) > bound {
						t.Errorf("%d in %v, at most %.1f", n, w, bound)
					}
				}
				if calls := float64(f.limiter.Calls()) / float64(c.workers) / seconds; calls > 12 {
					t.Errorf("%.1f calls per worker and second", calls)
				}
				if c.rate < int64(100*c.workers) {
					return // too few slots a worker to speak of evenness
				}
				for i, own := range each {
					if n, share := maxIn(own, time.Second), float64(c.rate)/float64(c.workers); float64(n) > 1.3*share {
						t.Errorf("worker %d sent %d in a second, its share is %.1f", i, n, share)
					}
				}
			})
		})
	}
}

// count is how many of the sorted times lie in [from, to).
func count(sorted []int64, from, to time.Time) int {
	i, _ := slices.BinarySearch(sorted, from.UnixNano())
	j, _ := slices.BinarySearch(sorted, to.UnixNano())
	return j - i
}

func (f *fleet) skipped() (n int64) {
	f.limiter.Do(func(b *model.Budget, _ int64) { n = b.Skipped })
	return n
}

func TestFleetFollowsProfiles(t *testing.T) {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(5000)})
	var five []pacer.Stage
	for _, r := range []int64{100, 900, 900, 3000, 0} {
		five = append(five, pacer.Stage{Length: 1111 * time.Millisecond, To: pacer.PerSecond(r)})
	}
	sine, err := pacer.Sine(pacer.PerSecond(500), pacer.PerSecond(400), 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := pacer.ParseProfile("steps:from=100,to=400,by=100,every=1500ms")
	if err != nil {
		t.Fatal(err)
	}
	quick, err := pacer.Sine(pacer.PerSecond(1000), pacer.PerSecond(500), 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	profiles := map[string]pacer.Profile{"ramp": ramp, "five": pacer.Stages(pacer.PerSecond(50), five...), "sine": sine, "quick sine": quick, "steps": steps}
	for name, p := range profiles {
		follows(t, name, p, 1) // alone it has to keep up with every piece
		follows(t, name, p, 4)
	}
}

func follows(t *testing.T, name string, p pacer.Profile, workers int) {
	t.Run(fmt.Sprint(name, " ", workers), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := compile(t, p)
			if p.Loop {
				o.Span = 10_000_000
			}
			o.Min = int64(workers)
			f := newFleet(o)
			for range workers {
				f.join(1)
			}
			f.wait(t)
			all, _, late := f.all(t)
			want := p.Integral(time.Duration(o.Span) * time.Microsecond)
			if d := float64(len(all)) - want; d < -1.001 || d > 1.001 || late > 0 || f.skipped() > 0 {
				t.Errorf("sent %d, the integral is %.2f; late %d, skipped %d", len(all), want, late, f.skipped())
			}
		})
	})
}

// A limited number of requests also ends after a change in the last moment, when there is nothing left to send.
func TestRequestsEndAfterALateChange(t *testing.T) {
	for after := 700 * time.Millisecond; after < 1500*time.Millisecond; after += 10 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			o := compile(t, pacer.Constant(pacer.PerSecond(10), 0))
			o.Requests = 10
			f := newFleet(o)
			f.join(1)
			time.Sleep(after)
			f.command("1", "set-rate", pacer.PerSecond(10))
			f.command("2", "pause", pacer.Rate{})
			f.command("3", "resume", pacer.Rate{})
			f.wait(t)
			if all, _, _ := f.all(t); len(all) != 10 {
				t.Errorf("changed after %v: sent %d of 10", after, len(all))
			}
		})
	}
}

func TestFleetShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := compile(t, pacer.Constant(pacer.PerSecond(6000), 20*time.Second))
		o.Min = 3
		f := newFleet(o)
		for _, w := range []int64{1, 1, 4} {
			f.join(w)
		}
		f.wait(t)
		_, each, _ := f.all(t)
		for i, want := range []float64{20_000, 20_000, 80_000} {
			if got := float64(len(each[i])); got < want*0.99 || got > want*1.01 {
				t.Errorf("worker %d sent %.0f, its share is %.0f", i, got, want)
			}
		}
	})
}

func TestFleetJoinsAndLosesMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := compile(t, pacer.Constant(pacer.PerSecond(4000), 30*time.Second))
		o.Min = 4
		f := newFleet(o)
		start := time.Now()
		for range 4 {
			f.join(1)
		}
		time.Sleep(5 * time.Second)
		for range 4 {
			f.join(1)
		}
		time.Sleep(5 * time.Second)
		_, each, late := f.all(t)
		if late > 0 || f.skipped() > 0 {
			t.Errorf("joining: late %d, skipped %d", late, f.skipped())
		}
		for i, own := range each {
			if n := count(own, start.Add(8*time.Second), start.Add(10*time.Second)); n < 950 || n > 1050 {
				t.Errorf("worker %d sent %d in the two seconds after the joins had settled, its share is 1000", i, n)
			}
		}
		for _, m := range f.members[:4] { // half the fleet dies at one instant
			m.cancel()
			m.dead = time.Now().UnixNano()
		}
		died := time.Now()
		f.wait(t)
		all, _, _ := f.all(t)
		if n := count(all, died.Add(2*time.Second), died.Add(17*time.Second)); n != 60_000 {
			t.Errorf("sent %d of 60000 from two seconds after the loss of half the fleet", n)
		}
		if f.skipped() > 0 {
			t.Errorf("skipped %d", f.skipped())
		}
	})
}

func TestFleetFollowsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := compile(t, pacer.Constant(pacer.PerSecond(1000), 0))
		o.Min = 4
		f := newFleet(o)
		for range 4 {
			f.join(1)
		}
		time.Sleep(1 * time.Second)
		rng := rand.New(rand.NewPCG(7, 7))
		for i := range 300 {
			f.command(fmt.Sprint(i), "set-rate", pacer.PerSecond(rng.Int64N(5000)))
			if i%50 == 10 {
				f.command(fmt.Sprint("p", i), "pause", pacer.Rate{})
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
				f.command(fmt.Sprint("r", i), "resume", pacer.Rate{})
			}
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		f.command("stop", "stop", pacer.Rate{})
		stopped := time.Now()
		f.wait(t)
		all, _, late := f.all(t)
		var issued, beyond, recalled, skipped int64
		f.limiter.Do(func(b *model.Budget, _ int64) { issued, beyond, skipped = b.Issued, b.Beyond, b.Skipped })
		for _, m := range f.members {
			_, _, r := m.sends()
			recalled += int64(r)
		}
		overrun := beyond - recalled
		if asked := issued - beyond; int64(len(all)) != asked+overrun-skipped || late > 0 || skipped > 0 {
			t.Errorf("asked %d, sent %d, overrun %d, late %d, skipped %d", asked, len(all), overrun, late, skipped)
		}
		if overrun > 0 { // with round trips under 4 ms every change is known before it is in force
			t.Errorf("overrun %d", overrun)
		}
		if n := count(all, stopped.Add(21*time.Millisecond), stopped.Add(time.Hour)); n > 0 {
			t.Errorf("%d sent after the stop was in force", n)
		}
		var want float64
		f.limiter.Do(func(b *model.Budget, _ int64) {
			for i, g := range b.Laws {
				end := b.Ended
				if i+1 < len(b.Laws) {
					end = b.Laws[i+1].T0
				}
				want += float64(g.Before(min(end, g.Ends)))
			}
		})
		if d := float64(len(all)) - want; d < -2 || d > 2 {
			t.Errorf("sent %d, the laws ask for %.0f", len(all), want)
		}
	})
}

// A pause in the last moments of a repeating profile must not ask for what came due while it lasted.
func TestPauseJustBeforeTheEnd(t *testing.T) {
	p, err := pacer.Sine(pacer.PerSecond(1000), pacer.PerSecond(500), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []time.Duration{50 * time.Millisecond, 10 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			o := compile(t, p)
			o.Span = 5_000_000
			f := newFleet(o)
			f.join(1)
			time.Sleep(5*time.Second + pacer.DefaultHorizon - before)
			f.command("p", "pause", pacer.Rate{})
			time.Sleep(time.Minute)
			f.command("r", "resume", pacer.Rate{})
			f.wait(t)
			if all, _, _ := f.all(t); len(all) < 4990 || len(all) > 5010 || f.skipped() > 0 {
				t.Errorf("paused %v before the end: sent %d of 5000, skipped %d", before, len(all), f.skipped())
			}
		})
	}
}
