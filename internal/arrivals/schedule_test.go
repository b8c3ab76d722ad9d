package arrivals

import (
	"context"
	"slices"
	"testing"
	"time"
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
	for deadline := time.Now().Add(20 * time.Second); s.stalledTo.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no stall")
		}
	}
	if left := time.Duration(s.stalledTo.Load()) - time.Since(s.began); left > 10*time.Minute || left < 9*time.Minute {
		t.Errorf("stalled for another %v", left)
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
