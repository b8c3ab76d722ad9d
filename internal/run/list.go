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
	Run       string    `json:"run"`
	CreatedAt time.Time `json:"created_at"`
	Phase     string    `json:"phase"`
	Members   int64     `json:"members"`
	Rate      float64   `json:"rate"`
	Asked     int64     `json:"asked"`
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
		r, err := Open(ctx, client, name)
		if errors.Is(err, ErrNoRun) {
			client.ZRem(ctx, index, name)
			continue
		}
		e := Entry{Run: name, CreatedAt: time.Unix(int64(z.Score), 0).UTC(), Phase: "broken"}
		if err == nil {
			s, err := r.State(ctx)
			if err != nil {
				return nil, err
			}
			e.Phase, e.Members, e.Rate, e.Asked = s.Phase, s.Members, s.Rate, s.Asked
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Remove deletes a run's state. A run with members in it is refused unless force is set: they would end with an error.
func Remove(ctx context.Context, client redis.UniversalClient, name string, force bool) error {
	if err := ValidateName("run", name); err != nil {
		return err
	}
	keys := KeysOf(name)
	r, err := Open(ctx, client, name)
	if errors.Is(err, ErrNoRun) {
		client.ZRem(ctx, index, name)
		return err
	}
	if err == nil && !force {
		s, err := r.State(ctx)
		if err != nil {
			return err
		}
		for _, w := range s.Workers {
			if w.State == "active" {
				return fmt.Errorf("remove run %s: workers are taking part in it; loadctl stop %s first, or use --force", name, name)
			}
		}
	}
	if err := client.Del(ctx, keys.all()...).Err(); err != nil {
		return fmt.Errorf("remove run %s: %w", name, err)
	}
	return client.ZRem(ctx, index, name).Err()
}
