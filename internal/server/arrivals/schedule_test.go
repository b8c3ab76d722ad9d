package arrivals

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// Schedule waits for the first arrival, executes the plan in order of time without changing it, and ends with the
// context.
func TestSchedule(t *testing.T) {
	s := start(t, Options{})
	plan := []Stall{{time.Hour, time.Second}, {0, 10 * time.Minute}}
	want := slices.Clone(plan)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.Schedule(ctx, plan)
		close(ended)
	}()
	c := dial(t, s)
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil { // the answer may be held back already
		t.Fatal(err)
	}
	await.True(t, "a stall", func() bool { return s.stalledTo.Load() != 0 })
	first := time.Unix(0, s.Arrivals()[0]).Sub(s.began) // the stall begins with it, on the schedule's clock some moments later
	if to := time.Duration(s.stalledTo.Load()); to < first+10*time.Minute || to > time.Since(s.began)+10*time.Minute {
		t.Errorf("stalled until %v after the first arrival", to-first)
	}
	select {
	case <-ended:
		t.Error("the second stall was not waited for")
	default:
	}
	cancel()
	<-ended
	if !slices.Equal(plan, want) {
		t.Errorf("the plan is now %v", plan)
	}

	idle := start(t, Options{})
	idle.Schedule(ctx, plan) // nothing arrives: it ends all the same
	if idle.stalledTo.Load() != 0 {
		t.Error("stalls before the first arrival")
	}
}
