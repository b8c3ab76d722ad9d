package metrics

import (
	"context"
	"sync"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Of returns a Source of one run.
func Of(r *run.Run) Source {
	var mu sync.Mutex
	live := results.NewLive(r)
	return func(ctx context.Context) ([]results.Look, error) {
		mu.Lock()
		defer mu.Unlock()
		l, err := live.Look(ctx)
		if err != nil {
			return nil, err
		}
		return []results.Look{l}, nil
	}
}
