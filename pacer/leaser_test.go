package pacer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

var errNetwork = errors.New("connection refused")

// fake is a Limiter that answers as it is told, and a Sink and log handler that note what comes. All on virtual time.
type fake struct {
	answer func(ctx context.Context, call int, a pacer.Ask) (pacer.Reply, error) // call counts from 0
	rtt    time.Duration

	mu    sync.Mutex
	asks  []pacer.Ask
	times []time.Time // of the asks
	got   []string    // what the Sink was given
	logs  []string
}

func (f *fake) Lease(ctx context.Context, a pacer.Ask) (pacer.Reply, error) {
	f.mu.Lock()
	call := len(f.asks)
	f.asks, f.times = append(f.asks, a), append(f.times, time.Now())
	f.mu.Unlock()
	time.Sleep(f.rtt)
	return f.answer(ctx, call, a)
}

// calls is how many there were by now, when all goroutines have come to rest.
func (f *fake) calls() int {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asks)
}

type fakeSink struct{ *fake }

func (s fakeSink) Lease(r pacer.Range) {
	text := fmt.Sprintf("lease %d+%d of %d", r.First, r.N, r.Law.ID)
	if r.At > 0 {
		text += fmt.Sprintf(" at %v", time.Duration(r.At)*time.Microsecond)
	}
	s.got = append(s.got, text)
}

// Notice is noted where it brings something new.
func (s fakeSink) Notice(n pacer.Notice) {
	text := "recall"
	for _, r := range n.Recalls {
		text += fmt.Sprint(" ", r.ID)
	}
	for _, p := range n.Permits {
		text += fmt.Sprintf(" permit %d from %d to %d", p.Phi(), p.From, p.Until)
	}
	if text != "recall" && !slices.Contains(s.got, text) {
		s.got = append(s.got, text)
	}
}

func (f *fake) Enabled(context.Context, slog.Level) bool { return true }
func (f *fake) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f *fake) WithGroup(string) slog.Handler            { return f }

// Handle implements slog.Handler.
func (f *fake) Handle(_ context.Context, r slog.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, r.Level.String()+" "+r.Message)
	return nil
}

func (f *fake) leaser() *pacer.Leaser {
	return &pacer.Leaser{Limiter: f, Sink: fakeSink{f}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "i", Log: slog.New(f)}
}

// ok is a reply of Redis, whose clock is the virtual one.
func ok(change ...func(*pacer.Reply)) pacer.Reply {
	now := time.Now().UnixMicro()
	r := pacer.Reply{Status: pacer.StatusOK, Now: now, Time: now, LeasedAt: now, Members: 1, Weights: 1}
	for _, c := range change {
		c(&r)
	}
	return r
}

func status(s pacer.Status) func(*pacer.Reply) { return func(r *pacer.Reply) { r.Status = s } }

// grant adds the numbers first … first+n−1 of generation id.
func grant(id, first, n int64) func(*pacer.Reply) {
	return func(r *pacer.Reply) {
		r.Range = pacer.Range{Law: pacer.Law{ID: id, R0: 100, R1: 100, Den: 1, K: pacer.Endless, F: 1}, First: first, N: n}
	}
}

// lead runs a Leaser against answer until it ends, in a bubble of virtual time.
func lead(t *testing.T, f *fake, check func(t *testing.T, f *fake, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: f.answer, rtt: f.rtt}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // or one that never ends would hang in no time at all
		defer cancel()
		check(t, f, f.leaser().Run(ctx))
	})
}

func TestLeaserRepeatsACallUntilItsOutcomeIsKnown(t *testing.T) {
	f := &fake{rtt: time.Millisecond, answer: func(ctx context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
		switch call {
		case 1, 2, 3, 6:
			return pacer.Reply{}, errNetwork
		case 4: // a call that takes for ever
			<-ctx.Done()
			return pacer.Reply{}, ctx.Err()
		case 9:
			return ok(status(pacer.StatusEnded)), nil
		}
		return ok(), nil
	}}
	lead(t, f, func(t *testing.T, f *fake, err error) {
		if !errors.Is(err, pacer.ErrEnded) {
			t.Errorf("Run = %v", err)
		}
		var seqs []int64
		for i, a := range f.asks {
			seqs = append(seqs, a.Seq)
			if i == 0 {
				continue
			}
			last := f.asks[i-1]
			if a.Seq == last.Seq && a != last {
				t.Errorf("call %d is %+v, which repeats %+v", i, a, last)
			}
			if a.Seq != last.Seq && a.Ack != f.times[i-1].Add(f.rtt).UnixMicro() {
				t.Errorf("call %d acknowledges %d, the last reply was leased at %d", i, a.Ack, f.times[i-1].Add(f.rtt).UnixMicro())
			}
		}
		if want := []int64{1, 2, 2, 2, 2, 2, 3, 3, 4, 5}; !slices.Equal(seqs, want) {
			t.Errorf("sequence numbers %v, want %v", seqs, want)
		}
		if hung := f.times[5].Sub(f.times[4]); hung < 250*time.Millisecond || hung > 600*time.Millisecond {
			t.Errorf("a call that hangs is repeated after %v", hung)
		}
	})
}

func TestLeaserAsksAsItIsConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*pacer.Leaser)
		weight  int64
		horizon time.Duration
	}{
		"defaults": {func(*pacer.Leaser) {}, 1, pacer.DefaultHorizon},
		"all set":  {func(l *pacer.Leaser) { l.Weight, l.Horizon = 4, 2*time.Second }, 4, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var observed int
			f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
				if call == 20 {
					return ok(status(pacer.StatusStopped)), nil
				}
				return ok(), nil
			}}
			l := f.leaser()
			c.change(l)
			l.Observe = func(r pacer.Reply) { observed++ }
			if err := l.Run(t.Context()); !errors.Is(err, pacer.ErrStopped) {
				t.Fatalf("%s: Run = %v", name, err)
			}
			covered := time.Duration(0)
			for i, a := range f.asks {
				if a.Worker != "w" || a.Incarnation != "i" || a.Weight != c.weight || a.RTTHi != 10_000 || a.PhiHeld != 0 {
					t.Errorf("%s: call %d is %+v", name, i, a)
				}
				covered = time.UnixMicro(a.Until).Sub(f.times[i])
				if covered <= 0 || covered > c.horizon || i == 0 && covered > c.horizon*3/10 {
					t.Errorf("%s: call %d asks for %v", name, i, covered)
				}
			}
			if covered < c.horizon-2*time.Microsecond || observed != len(f.asks) {
				t.Errorf("%s: covered for %v in the end; %d of %d replies observed", name, covered, observed, len(f.asks))
			}
		})
	}
}

func TestLeaserMeasuresTheRoundTrip(t *testing.T) {
	for _, c := range []struct{ rtt, first, tenth time.Duration }{
		{4 * time.Millisecond, 12 * time.Millisecond, 4 * time.Millisecond},
		{40 * time.Millisecond, 120 * time.Millisecond, 40 * time.Millisecond},
	} {
		f := &fake{rtt: c.rtt, answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
			if call == 30 {
				return ok(status(pacer.StatusEnded)), nil
			}
			return ok(), nil
		}}
		lead(t, f, func(t *testing.T, f *fake, _ error) {
			// RFC 6298: srtt + 4·rttvar, 3 rtt after the first sample, and down to the round trip if it stays.
			if got := f.asks[1].RTTHi; got != c.first.Microseconds() {
				t.Errorf("round trip %v: %d µs after the first call", c.rtt, got)
			}
			if got := f.asks[30].RTTHi; got < c.tenth.Microseconds() || got > c.tenth.Microseconds()*101/100 {
				t.Errorf("round trip %v: %d µs after 30 calls", c.rtt, got)
			}
		})
	}
}

func TestLeaserEnds(t *testing.T) {
	for _, c := range []struct {
		status pacer.Status
		want   error
		text   string
		lease  bool // what comes with the reply is handed over
	}{
		{pacer.StatusEnded, pacer.ErrEnded, "the run has ended", true},
		{pacer.StatusStopped, pacer.ErrStopped, "the run was stopped", true},
		{pacer.StatusNoState, pacer.ErrNoState, "does not exist", false},
		{pacer.StatusReplaced, pacer.ErrReplaced, "--id", false},
		{"NONSENSE", nil, `status "NONSENSE"`, false},
		{"", nil, `status ""`, false},
	} {
		f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
			if call >= 2 {
				return ok(status(c.status), grant(7, 5, 3)), nil
			}
			return ok(), nil
		}}
		lead(t, f, func(t *testing.T, f *fake, err error) {
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q: Run = %v, want %v, %q", c.status, err, c.want, c.text)
			}
			if patient := errors.Is(c.want, pacer.ErrNoState); (len(f.asks) != 3) != patient || (len(f.got) == 1) != c.lease {
				t.Errorf("%q: %d calls, handed over: %v", c.status, len(f.asks), f.got)
			}
		})
	}
}

func TestLeaserGoesOn(t *testing.T) {
	for _, s := range []pacer.Status{pacer.StatusOK, pacer.StatusWait, pacer.StatusPaused, pacer.StatusStale} {
		f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
			if call == 100 {
				return ok(status(pacer.StatusEnded)), nil
			}
			return ok(status(s)), nil
		}}
		lead(t, f, func(t *testing.T, f *fake, err error) {
			if !errors.Is(err, pacer.ErrEnded) || len(f.asks) != 101 || f.asks[100].Seq != 101 {
				t.Errorf("%s: Run = %v after %d calls", s, err, len(f.asks))
			}
			if took := f.times[100].Sub(f.times[0]); took < 5*time.Second || took > 15*time.Second {
				t.Errorf("%s: 100 calls in %v, want about one every 0.2 H", s, took)
			}
		})
	}
}

var errEnough = errors.New("enough")

func TestLeaserWaitsForTheOutstandingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &fake{answer: func(call context.Context, n int, _ pacer.Ask) (pacer.Reply, error) {
			switch n {
			case 0:
				return ok(), nil
			case 1: // the context ends while this call is on its way, and its outcome is not known
				time.Sleep(20 * time.Millisecond)
				cancel(errEnough)
				time.Sleep(20 * time.Millisecond)
				if call.Err() != nil {
					t.Error("the outstanding call was cancelled")
				}
				return pacer.Reply{}, errNetwork
			}
			return ok(grant(7, 5, 3)), nil
		}}
		if err := f.leaser().Run(ctx); !errors.Is(err, errEnough) {
			t.Errorf("Run = %v, want the context's cause", err)
		}
		if len(f.asks) != 3 || f.asks[2] != f.asks[1] {
			t.Errorf("calls %+v, want one, and one twice", f.asks)
		}
		if want := []string{"lease 5+3 of 7"}; !slices.Equal(f.got, want) {
			t.Errorf("the Sink has %v, want %v", f.got, want)
		}
	})
}

func TestLeaserDoesNotWaitForEver(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"refused":   func(context.Context) error { return errNetwork },
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			f := &fake{answer: func(ctx context.Context, _ int, _ pacer.Ask) (pacer.Reply, error) { return pacer.Reply{}, answer(ctx) }}
			var ended time.Time
			go func() {
				time.Sleep(10 * time.Second)
				ended = time.Now()
				cancel(errEnough)
			}()
			err := f.leaser().Run(ctx)
			if took := time.Since(ended); !errors.Is(err, errEnough) || took > 2*time.Second {
				t.Errorf("%s: Run = %v, %v after its context", name, err, took)
			}
			for i, a := range f.asks {
				if a != f.asks[0] {
					t.Errorf("%s: call %d is %+v, the first was %+v", name, i, a, f.asks[0])
				}
			}
		})
	}
}

func TestLeaserAsksNothingAfterItsContext(t *testing.T) {
	for i := range 64 { // a wake and the end at one instant
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			wake := make(chan struct{}, 1)
			f := &fake{answer: func(context.Context, int, pacer.Ask) (pacer.Reply, error) {
				cancel(errEnough)
				select {
				case wake <- struct{}{}:
				default:
				}
				return ok(), nil
			}}
			l := f.leaser()
			l.Wake = wake
			if err := l.Run(ctx); !errors.Is(err, errEnough) || len(f.asks) != 1 {
				t.Errorf("try %d: Run = %v after %d calls", i, err, len(f.asks))
			}
		})
	}
}

func TestLeaserHandsRecallsOverFirst(t *testing.T) {
	first, second := pacer.Recall{ID: 8, T0: 1, Prev: 7, Cut: 4}, pacer.Recall{ID: 9, T0: 2, Prev: 8, Cut: 1}
	recalls := func(rs ...pacer.Recall) func(*pacer.Reply) { return func(r *pacer.Reply) { r.Recalls = rs } }
	replies := [][]func(*pacer.Reply){
		{grant(7, 0, 4)},
		{},
		{recalls(first), grant(8, 0, 2)},
		{recalls(first), grant(8, 2, 2)}, // known
		{recalls(first, second), grant(9, 0, 1)},
		{recalls(second)},
		{recalls(first)}, // old
		{status(pacer.StatusStopped), recalls(second, pacer.Recall{ID: 10, Prev: 9})},
	}
	f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) { return ok(replies[call]...), nil }}
	lead(t, f, func(t *testing.T, f *fake, _ error) {
		want := []string{"lease 0+4 of 7", "recall 8", "lease 0+2 of 8", "lease 2+2 of 8", "recall 8 9", "lease 0+1 of 9", "recall 8 9 10"}
		if !reflect.DeepEqual(f.got, want) {
			t.Errorf("the Sink has %v, want %v", f.got, want)
		}
	})
}

func TestLeaserIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(context.Context, int, pacer.Ask) (pacer.Reply, error) { return ok(), nil }}
		wake := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		l := f.leaser()
		l.Wake = wake
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(5 * time.Second)
		for range 20 {
			for asked := f.calls(); f.calls() == asked; { // until right behind a call
				time.Sleep(time.Millisecond)
			}
			time.Sleep(7 * time.Millisecond) // and far from the next
			asked := f.calls()
			wake <- struct{}{}
			if n := f.calls() - asked; n != 1 {
				t.Fatalf("%d calls where it was woken, want one", n)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestLeaserComesBackWhenTold(t *testing.T) {
	for _, in := range []time.Duration{-time.Hour, 0, 20 * time.Millisecond, 50 * time.Millisecond, 70 * time.Millisecond} {
		f := &fake{rtt: time.Millisecond, answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
			switch call {
			case 49: // covered
				return ok(func(r *pacer.Reply) { r.Next = time.Now().Add(in).UnixMicro() }), nil
			case 50:
				return ok(status(pacer.StatusEnded)), nil
			}
			return ok(), nil
		}}
		lead(t, f, func(t *testing.T, f *fake, _ error) {
			want := max(in, 5*time.Millisecond) // not sooner than refresh
			if got := f.times[50].Sub(f.times[49]) - f.rtt; got < want*3/4-time.Millisecond || got > want*5/4+time.Millisecond {
				t.Errorf("told to come back after %v, it comes after %v", in, got)
			}
		})
	}
}

// What a limiter grants of slots that are past is due when the grant arrives, however far away Redis is.
func TestLeaserGrantsArriveLate(t *testing.T) {
	const far = 300 * time.Millisecond // each way
	f := &fake{rtt: far, answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
		if call > 0 {
			return ok(status(pacer.StatusEnded)), nil
		}
		r := ok(grant(1, 0, 5))
		r.LeasedAt, r.Now, r.Time = 9_000_000, 9_000_000, 9_000_000
		r.Range.At = r.LeasedAt
		time.Sleep(far)
		return r, nil
	}}
	lead(t, f, func(t *testing.T, f *fake, _ error) {
		if want := "lease 0+5 of 1 at 9.3s"; !slices.Contains(f.got, want) {
			t.Errorf("got %q, want %q", f.got, want)
		}
	})
}

// ranges is a Sink that keeps the ranges it is given.
type ranges []pacer.Range

func (r *ranges) Lease(x pacer.Range)   { *r = append(*r, x) }
func (r *ranges) Notice(_ pacer.Notice) {}

// A grant that takes longer to come than round trips usually do is late: its slots are not due when it comes, nor behind the beginning of a
// permit that is in force by then.
func TestLeaserGrantsComeTooLate(t *testing.T) {
	const trip, calls = 2 * time.Millisecond, 40
	for name, c := range map[string]struct {
		late   time.Duration // how much longer the grant takes to come
		lost   int           // how often its reply is lost before
		permit time.Duration // when the permit begins, since the reply before; 0 = there is none
		want   time.Duration // how long after the grant its slots are due at the earliest, ±100 µs; with a permit at its beginning
	}{
		"as ever":         {0, 0, 0, trip / 2},
		"late":            {200 * time.Millisecond, 0, 0, trip},
		"lost":            {0, 5, 0, trip},
		"before a permit": {200 * time.Millisecond, 0, time.Hour, trip},
		"behind a permit": {200 * time.Millisecond, 2, time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var permit pacer.Permit
				var stored pacer.Reply
				f := &fake{rtt: trip / 2}
				f.answer = func(_ context.Context, call int, a pacer.Ask) (pacer.Reply, error) {
					switch {
					case a.Seq > calls:
						return ok(status(pacer.StatusEnded)), nil
					case a.Seq < calls:
						r := ok()
						if from := r.Now + c.permit.Microseconds(); c.permit > 0 {
							permit = pacer.Permit{Law: pacer.Law{R0: 1, R1: 1, Den: 1, F: 1, K: pacer.Endless}, From: from, Until: from + 1e6}
							r.Permit = permit
						}
						time.Sleep(trip / 2)
						return r, nil
					case stored.LeasedAt == 0:
						stored = ok(grant(1, 0, 5))
						stored.Range.At = stored.LeasedAt
					}
					time.Sleep(trip/2 + c.late)
					if call < calls-1+c.lost {
						return pacer.Reply{}, errNetwork
					}
					r := stored
					r.Now, r.Time = ok().Now-1000, ok().Time-1000 // half a round trip ago
					return r, nil
				}
				got := ranges{}
				l := f.leaser()
				l.Sink = &got
				if err := l.Run(t.Context()); !errors.Is(err, pacer.ErrEnded) || len(got) != 1 {
					t.Fatalf("%v, %d ranges", err, len(got))
				}
				want := stored.LeasedAt + c.want.Microseconds()
				if c.want == 0 {
					want = permit.From
				}
				if d := got[0].At - want; d < -100 || d > 100 {
					t.Errorf("due %d µs after the grant, want %d", got[0].At-stored.LeasedAt, want-stored.LeasedAt)
				}
			})
		})
	}
}

// Members of a fleet of 5000, told by each reply to come back at once, together stay below Qmax.
func TestLeaserCallsAreBounded(t *testing.T) {
	for _, c := range []struct{ fleet, qmax int64 }{{5000, 0}, {5000, 2000}, {300, 100}} {
		synctest.Test(t, func(t *testing.T) {
			const members, length = 20, 600 * time.Second
			qmax := cmp.Or(c.qmax, pacer.DefaultQmax)
			ctx, cancel := context.WithTimeout(t.Context(), length)
			defer cancel()
			calls := make([]int, members)
			var wg sync.WaitGroup
			for i := range members {
				f := &fake{rtt: 2 * time.Millisecond, answer: func(context.Context, int, pacer.Ask) (pacer.Reply, error) {
					return ok(func(r *pacer.Reply) {
						r.Members, r.Next, r.Horizon = c.fleet, r.Now, max(500_000, 3*1_000_000*c.fleet/qmax)
					}), nil
				}}
				l := f.leaser()
				l.Worker, l.Qmax = fmt.Sprint(i), c.qmax
				wg.Go(func() {
					l.Run(ctx)
					calls[i] = len(f.asks)
				})
			}
			wg.Wait()
			total := 0
			for _, n := range calls {
				total += n - 1 // the first, of a member that knows nothing yet
			}
			if got := float64(total) / members * float64(c.fleet) / length.Seconds(); got > float64(qmax) || got < 0.9*float64(qmax) {
				t.Errorf("%d members make %.0f calls/s, at most %d", c.fleet, got, qmax)
			}
		})
	}
}

func TestLeaserWarnsOnceASeries(t *testing.T) {
	f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
		switch {
		case call < 3, call > 5 && call < 20, call == 30:
			return pacer.Reply{}, errNetwork
		case call == 40:
			return ok(status(pacer.StatusEnded)), nil
		}
		return ok(), nil
	}}
	lead(t, f, func(t *testing.T, f *fake, _ error) {
		var want []string
		for range 3 {
			want = append(want, "WARN no lease; sending what is held and trying again", "INFO leasing again")
		}
		if !slices.Equal(f.logs, want) {
			t.Errorf("logged %q, want %q", f.logs, want)
		}
	})
}

func TestLeaserTellsOfClocks(t *testing.T) {
	// Redis' clock goes back by a minute.
	f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
		switch {
		case call == 400:
			return ok(status(pacer.StatusEnded), func(r *pacer.Reply) { r.Time -= 60_000_000 }), nil
		case call >= 10:
			return ok(func(r *pacer.Reply) { r.Time -= 60_000_000 }), nil
		}
		return ok(), nil
	}}
	lead(t, f, func(t *testing.T, f *fake, _ error) {
		if want := []string{"WARN clock stepped"}; !slices.Equal(f.logs, want) {
			t.Errorf("logged %q, want %q", f.logs, want)
		}
	})
}

// A suspect confirms each answer at once, keeps its permit until it is handed over, and then ends it there.
func TestLeaserIsHandedOver(t *testing.T) {
	permit := func(phi, from, until int64) func(*pacer.Reply) {
		return func(r *pacer.Reply) {
			now := r.Now
			r.Permit = pacer.Permit{Law: pacer.Law{R0: phi, R1: phi, Den: 1_000_000, K: pacer.Endless, F: 1}, From: now + from, Until: now + until}
		}
	}
	hand := func(r *pacer.Reply) { r.Hand = r.Now + 300_000 }
	f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
		switch call {
		case 0:
			return ok(permit(5, 500_000, 10_000_000)), nil
		case 1:
			time.Sleep(2 * time.Second)
			return ok(status(pacer.StatusSuspect)), nil
		case 2:
			return ok(permit(4, 700_000, 10_000_000), hand, grant(1, 0, 5)), nil
		case 3:
			return ok(permit(4, 500_000, 10_000_000)), nil
		case 60:
			return ok(status(pacer.StatusEnded)), nil
		}
		return ok(permit(4, 500_000, 10_000_000)), nil
	}}
	lead(t, f, func(t *testing.T, f *fake, _ error) {
		first, third := f.times[0].UnixMicro(), f.times[2].UnixMicro()
		until := fmt.Sprintf("recall permit 5 from %d to %d", first+500_000, third+300_000)
		fourth := f.times[3].UnixMicro()
		want := []string{
			fmt.Sprintf("recall permit 5 from %d to %d", first+500_000, first+10_000_000),
			until + fmt.Sprintf(" permit 4 from %d to %d", third+700_000, third+10_000_000), "lease 0+5 of 1",
			until + fmt.Sprintf(" permit 4 from %d to %d", fourth+500_000, fourth+10_000_000),
		}
		if len(f.got) < 4 || !slices.Equal(f.got[:4], want) {
			t.Errorf("the Sink has\n%s\nwant\n%s", strings.Join(f.got, "\n"), strings.Join(want, "\n"))
		}
		if at := f.times[59].Sub(f.times[2]); at < 400*time.Millisecond || strings.Contains(f.got[len(f.got)-1], "permit 5") {
			t.Errorf("the old permit is kept behind its end: %v later %s", at, f.got[len(f.got)-1])
		}
		for i, phi := range []int64{0, 5, 5, 4, 4} {
			if f.asks[i].PhiHeld != phi {
				t.Errorf("call %d tells of a permit of %d, it held %d", i, f.asks[i].PhiHeld, phi)
			}
		}
		if soon := f.times[3].Sub(f.times[2]); soon > 10*time.Millisecond {
			t.Errorf("the hand-over was confirmed after %v", soon)
		}
		if f.asks[2].Ack <= f.asks[1].Ack || f.asks[3].Leased != 5 {
			t.Errorf("asks %+v", f.asks[1:4])
		}
	})
}

// A server that has forgotten a change is told of it again, once, and only where it makes a difference.
func TestLeaserReasserts(t *testing.T) {
	old, change := pacer.Recall{ID: 6, T0: 1, Prev: 5}, pacer.Recall{ID: 8, T0: 2, Prev: 7}
	failover := pacer.Recall{ID: 20, T0: 9, Prev: 7}
	type reply = []func(*pacer.Reply)
	recalls := func(rs ...pacer.Recall) func(*pacer.Reply) { return func(r *pacer.Reply) { r.Recalls = rs } }
	rate := func(id, perSecond int64) func(*pacer.Reply) {
		return func(r *pacer.Reply) {
			grant(id, 0, 1)(r)
			r.Range.Law.R0, r.Range.Law.R1 = perSecond, perSecond
		}
	}
	left := func(r *pacer.Reply) { r.Stood = pacer.LeftPlan }
	many := recalls(pacer.Recall{ID: 11}, pacer.Recall{ID: 12}, pacer.Recall{ID: 13}, pacer.Recall{ID: 14})
	for name, c := range map[string]struct {
		replies []reply
		want    string
	}{
		"a lower rate": {[]reply{
			{rate(7, 100), recalls(old)},
			{rate(9, 50), recalls(old, change), left},
			{recalls(old, failover)},
			{rate(21, 100), recalls(old, failover)},
			{rate(21, 100), recalls(old, failover)},
		}, "set 50"},
		"a plan": {[]reply{{rate(7, 100), recalls(old)}, {rate(9, 50), recalls(old, change)}, {rate(21, 100), recalls(old, failover)}}, ""},
		"a pause": {[]reply{
			{rate(7, 100), recalls(old)},
			{status(pacer.StatusPaused), recalls(old, change)},
			{rate(21, 100), recalls(old, failover)},
		}, "pause"},
		"nothing":       {[]reply{{rate(9, 50), recalls(old, change), left}, {rate(21, 80), recalls(old, change, failover)}}, ""},
		"the same rate": {[]reply{{rate(9, 50), recalls(old, change), left}, {rate(21, 50), recalls(old, failover)}}, ""},
		"many changes":  {[]reply{{rate(9, 50), recalls(old, change), left}, {rate(30, 80), many}}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(_ context.Context, call int, _ pacer.Ask) (pacer.Reply, error) {
				if call == len(c.replies) {
					return ok(status(pacer.StatusEnded)), nil
				}
				return ok(c.replies[call]...), nil
			}}
			var got []string
			l := f.leaser()
			l.Reassert = func(_ context.Context, k pacer.Known, _ int64) error {
				if k.Paused {
					got = append(got, "pause")
				} else {
					got = append(got, fmt.Sprint("set ", k.Law.R0))
				}
				return nil
			}
			if err := l.Run(t.Context()); !errors.Is(err, pacer.ErrEnded) {
				t.Errorf("%s: %v", name, err)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s: told again %q, want %q", name, text, c.want)
			}
		})
	}
}

// joinBounded is join for a fleet whose members make at most qmax calls a second.
func joinBounded(f *fleet, qmax int64) {
	m := &member{name: fmt.Sprint("w", len(f.members)), done: make(chan struct{})}
	m.leaser = &pacer.Leaser{Limiter: f.limiter, Sink: m, Clock: pacer.NewClock(), Worker: m.name, Incarnation: "i", Qmax: qmax}
	f.members = append(f.members, m)
	go func() {
		defer close(m.done)
		m.err = m.leaser.Run(context.Background())
	}()
}

// Where calls are far apart, by the network or by the size of the fleet, each must ask for more than 0.3·H: members
// that fall behind leave slots to be taken at the last moment, and those come too late.
func TestFleetKeepsUpWhereCallsAreFarApart(t *testing.T) {
	for _, c := range []struct {
		workers    int
		rate, qmax int64
		rtt        time.Duration
	}{{100, 4000, 500, 0}, {200, 4000, 400, 0}, {10, 4000, 0, 50 * time.Millisecond}, {10, 4000, 0, 100 * time.Millisecond}, {10, 4000, 0, 150 * time.Millisecond}} {
		t.Run(fmt.Sprintf("%d workers %d calls %v", c.workers, c.qmax, c.rtt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const seconds = 20
				o := compile(t, pacer.Constant(pacer.PerSecond(c.rate), seconds*time.Second))
				o.Min, o.Qmax = int64(c.workers), c.qmax
				f := newFleet(o)
				near := f.limiter.Delay
				f.limiter.Delay = func(a pacer.Ask) (time.Duration, time.Duration) {
					there, back := near(a)
					return there + c.rtt/2, back + c.rtt/2
				}
				for range c.workers {
					joinBounded(f, c.qmax)
				}
				f.wait(t)
				all, each, late := f.all(t)
				if len(all) != int(c.rate)*seconds || late > 0 || f.skipped() > 0 {
					t.Errorf("sent %d of %d, late %d, skipped %d", len(all), c.rate*seconds, late, f.skipped())
				}
				for i, own := range each {
					if n, share := len(own), float64(len(all))/float64(c.workers); float64(n) < 0.9*share || float64(n) > 1.15*share {
						t.Errorf("worker %d sent %d, its share is %.0f", i, n, share)
					}
				}
			})
		})
	}
}
