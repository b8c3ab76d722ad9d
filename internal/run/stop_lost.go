package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// stoppedFor is how long workers are told that a run was stopped while Redis had lost it. A new run of that name ends it.
const stoppedFor = removedFor

// comeback is how long a worker that can be reached takes at most to bring back a run that Redis has lost.
const comeback = time.Second

// StopLost is for a run that Redis does not have. Workers may have it, and restore it: it leaves word for them that it is stopped. It returns
// the run if one of them has brought it back; it is stopped then, or Stop has to be called. Else it returns ErrNoRun.
func StopLost(ctx context.Context, client redis.UniversalClient, name string) (*Run, error) {
	if err := client.Set(ctx, KeysOf(name).Stopped, Who(), stoppedFor).Err(); err != nil {
		return nil, fmt.Errorf("stop %s: %w; a worker that still has it cannot be told: %w", name, ErrNoRun, unwritten(err))
	}
	for deadline := time.Now().Add(comeback); ; {
		r, err := Open(ctx, client, name)
		switch {
		case err == nil:
			return r.broughtBack(ctx)
		case !errors.Is(err, ErrNoRun):
			return nil, err
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%w; if a worker still has it, because Redis lost it, that worker ends as soon as it reaches Redis; word of it is kept for an hour", err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// broughtBack is the run if a worker has restored it, and ErrNoRun if somebody has created a new one.
func (r *Run) broughtBack(ctx context.Context) (*Run, error) {
	s, err := r.presence(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.restored.IsZero(): // the word is not for this one
		_ = r.client.Del(ctx, r.keys.Stopped).Err()
		return nil, fmt.Errorf("stop %s: %w: there was none, and the one created meanwhile goes on", r.Name, ErrNoRun)
	}
	return r, nil
}
