package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Entry is one run in a list.
type Entry struct {
	Run        string    `json:"run"`
	CreatedAt  time.Time `json:"created_at"`
	Phase      string    `json:"phase"` // as in State; broken, newer or older if this program cannot read it
	Members    int64     `json:"members"`
	Rate       float64   `json:"rate"`
	ClosedLoop bool      `json:"closed_loop,omitempty"` // it has no rate: see report.Report
	Asked      int64     `json:"asked"`
}

// List is all runs, oldest first. Names whose state has expired are forgotten on the way.
func List(ctx context.Context, client redis.UniversalClient) ([]Entry, error) {
	names, err := client.ZRangeWithScores(ctx, index, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	entries := []Entry{}
	for _, z := range names {
		name, _ := z.Member.(string)
		e, err := entry(ctx, client, name)
		if errors.Is(err, ErrNoRun) {
			client.ZRem(ctx, index, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		e.CreatedAt = time.Unix(int64(z.Score), 0).UTC()
		entries = append(entries, e)
	}
	return entries, nil
}

// entry is the line of one run, or ErrNoRun. A run that cannot be read is in the list too: it is in the way of its name.
func entry(ctx context.Context, client redis.UniversalClient, name string) (Entry, error) {
	e := Entry{Run: name}
	if ValidateName("run", name) != nil {
		return e, ErrNoRun
	}
	r, err := Open(ctx, client, name)
	var s *State
	if err == nil {
		s, err = r.State(ctx)
	}
	switch {
	case errors.Is(err, ErrBroken):
		e.Phase = "broken"
	case errors.Is(err, ErrNewer):
		e.Phase = "newer"
	case errors.Is(err, ErrOlder):
		e.Phase = "older"
	case err != nil:
		return e, err
	default:
		e.Phase, e.Members, e.Rate, e.Asked, e.ClosedLoop = s.Phase, s.Members, s.Rate, s.Asked, r.Spec.Max
	}
	return e, nil
}
