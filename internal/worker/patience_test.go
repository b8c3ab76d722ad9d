package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// TestPatience: a worker ends by itself when Redis has been silent for a while and the run is over by its plan, and not before.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name        string
		length      time.Duration
		started     bool
		paused      time.Duration // from the start on
		stood       time.Duration // what replies say of pauses before, longer than those that were seen
		joins       time.Duration // since the start
		silentAfter time.Duration // since the start
		ends        time.Duration // since the start, ±1 s; 0 = not within an hour
	}{
		{"silent long before the end", time.Minute, true, 0, 0, 0, 5 * time.Second, time.Minute},
		{"silent just before the end", time.Minute, true, 0, 0, 0, 55 * time.Second, 55*time.Second + silence},
		{"silent after the end: it was moved", time.Minute, true, 0, 0, 0, 3 * time.Minute, 3*time.Minute + silence},
		{"a pause moves the end", time.Minute, true, 2 * time.Minute, 0, 0, 125 * time.Second, 3 * time.Minute},
		{"a pause before it joined moves the end", time.Minute, true, 0, 2 * time.Minute, 150 * time.Second, 155 * time.Second, 3 * time.Minute},
		{"it joins in a pause", time.Minute, true, 2 * time.Minute, 2 * time.Minute, 119 * time.Second, 125 * time.Second, 3 * time.Minute},
		{"the plan was left", time.Minute, true, 2 * time.Minute, pacer.LeftPlan * time.Microsecond, 0, 125 * time.Second, 3 * time.Minute},
		{"no planned end", 0, true, 0, 0, 0, time.Second, 0},
		{"not begun", time.Minute, false, 0, 0, 0, time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, start := pacer.NewClock(), time.Now()
				us := time.Now().UnixMicro()
				clock.Sample(clock.Now(), clock.Now(), us)
				p := &patience{clock: clock, length: c.length, started: func() int64 {
					if c.started {
						return us
					}
					return 0
				}}
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				var calling sync.WaitGroup
				calling.Go(func() {
					time.Sleep(c.joins + min(c.joins, time.Second)) // who joins a fleet may have to wait for the first reply
					for time.Since(start) < c.silentAfter {
						reply := pacer.Reply{Status: pacer.StatusOK, Stood: c.stood.Microseconds()}
						if time.Since(start) < c.paused {
							reply.Status = pacer.StatusPaused
						}
						p.heard(reply)
						time.Sleep(100 * time.Millisecond)
					}
				})
				defer calling.Wait()
				ended, end := context.WithCancelCause(ctx)
				defer end(nil)
				time.Sleep(c.joins)
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
