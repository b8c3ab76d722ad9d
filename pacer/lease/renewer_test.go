package lease

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/pacer"
)

// timed is a Server that records when it was called, and says when to call again.
type timed struct {
	wait time.Duration

	mu    sync.Mutex
	calls []time.Time
}

func (s *timed) Renew(_ context.Context, c Call) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, time.Now())
	return Reply{Status: OK, Seq: c.Seq, Epoch: "server", Now: time.Now().UnixMicro(), Wait: s.wait.Microseconds()}, nil
}

type noSink struct{}

func (noSink) Take(*View)          {}
func (noSink) Taken() (int, int64) { return 0, 0 }

// TestBeats: calls a second apart go with the beats, except the first. Without a beat they come a quarter of a second
// later. More frequent calls do not wait for beats.
func TestBeats(t *testing.T) {
	for _, c := range []struct {
		wait        time.Duration
		beat        bool
		least, most int // calls in 20 s
		together    bool
	}{
		{time.Second, true, 19, 21, true},
		{time.Second, false, 15, 18, false}, {500 * time.Millisecond, true, 39, 42, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			server, beat := &timed{wait: c.wait}, make(chan struct{}, 1)
			r := &Renewer{Server: server, Sink: noSink{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "1", Beat: beat, Broken: ctx.Done()}
			done := make(chan error)
			go func() { done <- r.Run(context.WithoutCancel(ctx)) }()
			began := time.Now().Add(300 * time.Millisecond)
			time.Sleep(300 * time.Millisecond)
			for range 20 {
				if c.beat {
					beat <- struct{}{}
				}
				time.Sleep(time.Second)
			}
			cancel(nil)
			if err := <-done; !errors.Is(err, ErrHeld) {
				t.Error(err)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			beside := 0
			for _, at := range server.calls[1:] {
				if since := at.Sub(began) % time.Second; since > 50*time.Millisecond {
					beside++
				}
			}
			if n := len(server.calls) - 1; n < c.least || n > c.most || c.together && beside > 1 {
				t.Errorf("%+v: %d calls, %d of them between two beats", c, n, beside)
			}
		})
	}
}

// cutOff is a Server that leases the whole circle for two seconds, once, and then does not answer.
type cutOff struct{ answered bool }

func (s *cutOff) Renew(_ context.Context, c Call) (Reply, error) {
	if s.answered {
		return Reply{}, errors.New("i/o timeout")
	}
	s.answered = true
	now := time.Now().UnixMicro()
	law := Law{Law: pacer.Law{ID: 1, T0: now, R0: 1, R1: 1, Den: 1, K: pacer.Endless}, Plan: &Plan{}, End: pacer.Endless}
	return Reply{Status: OK, Seq: c.Seq, Epoch: "server", Now: now, P: now + 2_000_000, Version: 1, List: Whole(), Laws: []Law{law}, Wait: 500_000}, nil
}

// TestReportsThatItIsIdle: a worker whose lease ends while Redis does not answer says once that it sends nothing.
func TestReportsThatItIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log child.Output
		r := &Renewer{Server: &cutOff{}, Sink: noSink{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "1", Broken: ctx.Done(), Log: slog.New(slog.NewTextHandler(&log, nil))}
		done := make(chan error)
		go func() { done <- r.Run(context.WithoutCancel(ctx)) }()
		const idle = "the lease has ended and Redis does not answer; nothing is sent until it does"
		time.Sleep(1900 * time.Millisecond)
		synctest.Wait()
		if text := log.String(); strings.Contains(text, idle) || !strings.Contains(text, "the lease holds until it ends") {
			t.Errorf("while its lease lasts it says %s", text)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), idle); n != 1 {
			t.Errorf("it says %d times that it is idle:\n%s", n, log.String())
		}
		cancel()
		<-done
	})
}

// mute is a Server that gives all laws at once, and stops answering after a time.
type mute struct {
	laws  []Law
	until time.Time

	mu   sync.Mutex
	last time.Time // time of its last answer
}

func (s *mute) Renew(ctx context.Context, c Call) (Reply, error) {
	if !time.Now().Before(s.until) {
		<-ctx.Done()
		return Reply{}, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	return Reply{Status: OK, Seq: c.Seq, Epoch: "server", ClockEpoch: 1, Laws: s.laws, Now: time.Now().UnixMicro(), Wait: 500_000}, nil
}

// TestPatience: if Redis is silent for a while and the run is over by its laws, a worker ends by itself, not before.
func TestPatience(t *testing.T) {
	type law struct {
		at    time.Duration
		phase Phase
		end   time.Duration // the planned end; 0 = none
	}
	for _, c := range []struct {
		name        string
		laws        []law // all known from the beginning
		silentAfter time.Duration
		over        time.Duration // when the run is over by the laws; 0 = not within an hour
	}{
		{"silent long before the end", []law{{0, Running, time.Minute}}, 5 * time.Second, time.Minute},
		{"silent just before the end", []law{{0, Running, time.Minute}}, 55 * time.Second, time.Minute},
		{"silent after the end", []law{{0, Running, time.Minute}}, 3 * time.Minute, time.Minute},
		{"a pause moves the end", []law{{0, Running, time.Minute}, {30 * time.Second, Paused, 0}, {150 * time.Second, Running, 3 * time.Minute}}, time.Second, 3 * time.Minute},
		{"a pause that lasts", []law{{0, Running, time.Minute}, {30 * time.Second, Paused, 0}}, 31 * time.Second, 0},
		{"a stop", []law{{0, Running, time.Hour}, {30 * time.Second, Stopped, 0}}, 29 * time.Second, 30 * time.Second},
		{"no planned end", []law{{0, Running, 0}}, time.Second, 0},
		{"not begun", nil, time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				server := &mute{until: start.Add(c.silentAfter)}
				for i, l := range c.laws {
					end := pacer.Endless
					if l.end > 0 {
						end = start.Add(l.end).UnixMicro()
					}
					server.laws = append(server.laws, Law{Law: pacer.Law{ID: int64(i + 1), T0: start.Add(l.at).UnixMicro(), Den: 1}, Phase: l.phase, Prev: int64(i), End: end, ClockEpoch: 1})
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				r := &Renewer{Server: server, Sink: noSink{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "1"}
				err, took := r.Run(ctx), time.Since(start)
				server.mu.Lock()
				defer server.mu.Unlock()
				ends := max(c.over, server.last.Sub(start)+maxSilence)
				switch {
				case c.over == 0 && errors.Is(err, ErrSilence):
					t.Errorf("ended after %v", took)
				case c.over > 0 && !errors.Is(err, ErrSilence):
					t.Errorf("not ended: %v", err)
				case c.over > 0 && (took < ends || took > ends+1100*time.Millisecond): // at the next attempt
					t.Errorf("ended after %v, want %v", took, ends)
				}
			})
		})
	}
}

// sleepy is a Server that cannot be reached in a time in which the worker's process sleeps, and that says next that the
// run has ended.
type sleepy struct {
	mute
	sleeps, wakes time.Time
}

func (s *sleepy) Renew(ctx context.Context, c Call) (Reply, error) {
	now := time.Now()
	if !now.Before(s.sleeps) && now.Before(s.wakes) {
		time.Sleep(s.wakes.Sub(now))
		return Reply{}, errors.New("broken pipe")
	}
	return s.mute.Renew(ctx, c)
}

// TestWakesAfterTheEnd: a worker whose process slept past the planned end asks Redis before it judges that Redis is silent.
func TestWakesAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		server := &sleepy{mute: mute{until: start.Add(time.Hour)}, sleeps: start.Add(5 * time.Second), wakes: start.Add(40 * time.Second)}
		server.laws = []Law{
			{Law: pacer.Law{ID: 1, T0: start.UnixMicro(), Den: 1}, End: start.Add(10 * time.Second).UnixMicro(), ClockEpoch: 1},
			{Law: pacer.Law{ID: 2, T0: start.Add(10 * time.Second).UnixMicro(), Den: 1}, Phase: Ended, Prev: 1, End: pacer.Endless, ClockEpoch: 1},
		}
		r := &Renewer{Server: server, Sink: noSink{}, Clock: pacer.NewClock(), Worker: "w", Incarnation: "1"}
		if err := r.Run(t.Context()); !errors.Is(err, pacer.ErrEnded) {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// lostServer has lost the run's state. It counts calls.
type lostServer struct{ calls int }

func (s *lostServer) Renew(_ context.Context, c Call) (Reply, error) {
	s.calls++
	return Reply{Status: NoState, Seq: c.Seq}, nil
}

// TestLeaveOfALostRun: a worker that leaves while the run's state is lost waits between its calls for another worker to
// restore it.
func TestLeaveOfALostRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(lostServer)
		r := &Renewer{Server: server, Clock: pacer.NewClock(), Worker: "w", Incarnation: "1"}
		r.defaults()
		r.holder.view.Held = Whole()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := r.Leave(ctx, 0); !errors.Is(err, context.DeadlineExceeded) || server.calls < 10 || server.calls > 12 {
			t.Errorf("%d calls, %v", server.calls, err)
		}
	})
}
