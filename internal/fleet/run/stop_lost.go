package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// stoppedFor is how long the note stays that a run was stopped while Redis had lost it. A new run of that name removes
// it.
const stoppedFor = removedFor

// restoreTime is how long a worker that can be reached takes at most to restore a run that Redis has lost.
const restoreTime = time.Second

// StopLost is for a run that Redis does not have. Workers may have it, and restore it. StopLost leaves a note for
// them that it is stopped. If one of them has restored it, StopLost returns the run: it is stopped then, or Stop must
// be called. Else it returns ErrNoRun.
func StopLost(ctx context.Context, client rdb.Client, name string) (*Run, error) {
	return stopLost(ctx, client, name, restoreTime)
}

// stopLost is StopLost, and waits for so long.
func stopLost(ctx context.Context, client rdb.Client, name string, patience time.Duration) (*Run, error) {
	if err := client.Set(ctx, KeysOf(name).Stopped, Who(), stoppedFor).Err(); err != nil {
		return nil, fmt.Errorf("stop %s: %w; workers that still have it cannot be told: %w", name, ErrNoRun, unwritten(err))
	}
	for deadline := time.Now().Add(patience); ; {
		r, err := Open(ctx, client, name)
		switch {
		case err == nil:
			return r.restoredRun(ctx)
		case !errors.Is(err, ErrNoRun):
			return nil, err
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%w; if a worker still has it, because Redis lost it, that worker ends as soon as it reaches Redis within an hour", err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// restoredRun returns the run if a worker has restored it, and ErrNoRun if somebody has created a new one.
func (r *Run) restoredRun(ctx context.Context) (*Run, error) {
	s, err := r.Presence(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.Restored.IsZero(): // the note is not for this run
		_ = r.Client.Del(ctx, r.Keys.Stopped).Err()
		return nil, fmt.Errorf("stop %s: %w: there was none, and a new one that was just created goes on", r.Name, ErrNoRun)
	}
	return r, nil
}
