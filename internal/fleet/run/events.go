package run

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// Event is something that happened to a run.
type Event = report.Event

// eventsKept is about how many events the scripts keep.
const eventsKept = 10_000

// Unattended reports whether the run's dead-man's switch has stopped it.
func (r *Run) Unattended(ctx context.Context) (bool, error) {
	if r.Spec.Deadman == 0 {
		return false, nil
	}
	events, err := r.Events(ctx, eventsKept)
	return slices.ContainsFunc(events, func(e Event) bool { return e.Kind == "deadman" }), err
}

// Events returns the last n events, oldest first.
func (r *Run) Events(ctx context.Context, n int64) ([]Event, error) {
	entries, err := r.Client.XRevRangeN(ctx, r.Keys.Events, "+", "-", n).Result()
	if err != nil {
		return nil, Explain("read events of", r.Name, err)
	}
	slices.Reverse(entries)
	return r.parseEvents(entries)
}

// parseEvents reads events as they are stored.
func (r *Run) parseEvents(entries []redis.XMessage) ([]Event, error) {
	events := make([]Event, len(entries))
	for i, e := range entries {
		text := func(name string) string {
			s, _ := e.Values[name].(string)
			return s
		}
		us, err := strconv.ParseInt(text("t"), 10, 64)
		if err == nil && (us < 0 || us > record.MaxCount) {
			err = fmt.Errorf("time %d is out of range", us)
		}
		if err != nil {
			return nil, spec.Broken(r.Name, fmt.Sprintf("read events of %s: %v", r.Name, err))
		}
		events[i] = Event{At: TimeOf(us), Kind: text("kind"), Who: text("who"), What: text("what")}
	}
	return events, nil
}

// AllEvents returns all events that Redis still has, oldest first.
func (r *Run) AllEvents(ctx context.Context) ([]Event, error) {
	// Not from the newest on: workers may lack the permission for that.
	entries, err := r.Client.XRangeN(ctx, r.Keys.Events, "-", "+", 2*eventsKept).Result()
	if err != nil {
		return nil, Explain("read events of", r.Name, err)
	}
	return r.parseEvents(entries)
}
