package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// timed is a Server that notes when it was called, and tells when to call again.
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

// TestBeats: calls a second apart go with the beats, but for the first; where there is no beat they are a quarter later. More frequent ones do not wait.
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
