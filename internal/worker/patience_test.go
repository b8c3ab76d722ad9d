package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestPatience: a worker ends by itself when Redis has been silent for a while and the run is over by its laws, and not before.
func TestPatience(t *testing.T) {
	type law struct {
		at    time.Duration
		phase lease.Phase
		end   time.Duration // 0 = none is planned
	}
	for _, c := range []struct {
		name        string
		laws        []law // all known from the beginning
		silentAfter time.Duration
		ends        time.Duration // ±1 s; 0 = not within an hour
	}{
		{"silent long before the end", []law{{0, lease.Running, time.Minute}}, 5 * time.Second, time.Minute},
		{"silent just before the end", []law{{0, lease.Running, time.Minute}}, 55 * time.Second, 55*time.Second + silence},
		{"silent after the end", []law{{0, lease.Running, time.Minute}}, 3 * time.Minute, 3*time.Minute + silence},
		{"a pause moves the end", []law{{0, lease.Running, time.Minute}, {30 * time.Second, lease.Paused, 0}, {150 * time.Second, lease.Running, 3 * time.Minute}}, time.Second, 3 * time.Minute},
		{"a pause that lasts", []law{{0, lease.Running, time.Minute}, {30 * time.Second, lease.Paused, 0}}, 31 * time.Second, 0},
		{"a stop", []law{{0, lease.Running, time.Hour}, {30 * time.Second, lease.Stopped, 0}}, 31 * time.Second, 31*time.Second + silence},
		{"no planned end", []law{{0, lease.Running, 0}}, time.Second, 0},
		{"not begun", nil, time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				clock, start := pacer.NewClock(), time.Now()
				var laws []lease.Law
				for i, l := range c.laws {
					end := pacer.Endless
					if l.end > 0 {
						end = start.Add(l.end).UnixMicro()
					}
					laws = append(laws, lease.Law{Law: pacer.Law{ID: int64(i + 1), T0: start.Add(l.at).UnixMicro(), Den: 1}, Phase: l.phase, Prev: int64(i), End: end, Era: 1})
				}
				var newest atomic.Pointer[lease.View]
				if c.laws != nil {
					newest.Store(&lease.View{Version: 1, Era: 1, Laws: (*lease.Laws)(nil).With(laws...)})
				}
				p := &patience{clock: clock, view: &newest}
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				var calling sync.WaitGroup
				calling.Go(func() {
					for time.Since(start) < c.silentAfter {
						p.heard()
						time.Sleep(100 * time.Millisecond)
					}
				})
				defer calling.Wait()
				ended, end := context.WithCancelCause(ctx)
				defer end(nil)
				p.watch(ctx, end)
				switch took := time.Since(start); {
				case c.ends == 0 && ended.Err() != nil && errors.Is(context.Cause(ended), ErrSilence):
					t.Errorf("ended after %v", took)
				case c.ends > 0 && !errors.Is(context.Cause(ended), ErrSilence):
					t.Errorf("not ended: %v", context.Cause(ended))
				case c.ends > 0 && (took < c.ends || took > c.ends+time.Second):
					t.Errorf("ended after %v, want %v", took, c.ends)
				}
			})
		})
	}
}
