// Package removal takes a worker out of a run whose process is dead.
//
//	before, err := removal.Worker(ctx, r, "host-1", false)
//	if errors.Is(err, removal.ErrAlive) { … } // it called recently
//
// A user knows that a process is dead, the run cannot. Only a worker that has missed its calls is removed.
package removal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/lua"
)

// The errors of Worker.
var (
	ErrNoWorker = errors.New("there is no such worker")
	ErrAlive    = errors.New("it may be alive")

	errAnswers = fmt.Errorf("%w: it calls when it is asked to; end its process, and it hands over its share", ErrAlive)
)

// askAgain is the time between two looks at whether a worker has called.
const askAgain = 100 * time.Millisecond

// Worker takes a worker out of the run whose process is dead. A user knows that, the run cannot. Half a second later
// others get its share, and not only when its lease ends. A worker that is only cut off from Redis goes on until
// then, and sends what others send too.
//
// A worker that called recently is an ErrAlive. With wait, Worker asks it to call, and waits until it either does, an
// ErrAlive, or has missed three calls.
//
// It returns the worker as it was before. A worker that has left already, by its State, is not changed.
func Worker(ctx context.Context, r *run.Run, worker string, wait bool) (run.Worker, error) {
	if err := r.CheckKeys(ctx); err != nil {
		return run.Worker{}, err
	}
	s, err := r.State(ctx)
	if err != nil {
		return run.Worker{}, err
	}
	w, err := newest(s, worker)
	if err != nil {
		return w, fmt.Errorf("remove worker %s of run %s: %w", worker, r.Name, err)
	}
	if w.Gone() {
		return w, nil
	}
	switch err := silent(s, w); {
	case err == nil:
	case !wait:
		return w, fmt.Errorf("remove worker %s of run %s: %w, or --force", worker, r.Name, err)
	default:
		if err := awaitSilence(ctx, r, w); err != nil {
			return w, fmt.Errorf("remove worker %s of run %s: %w", worker, r.Name, err)
		}
	}
	status, err := lua.Remove().Run(ctx, r.Client, r.Keys.Change(), r.UID, r.Keys.Control, w.ID, run.Who()).Text()
	if err != nil {
		return w, run.Explain("remove worker "+worker+" of run", r.Name, err)
	}
	if status != "OK" && !gone(ctx, r, w) {
		return w, fmt.Errorf("remove worker %s of run %s: another process took its id just now; loadctl workers %s shows it", worker, r.Name, r.Name)
	}
	return w, nil
}

// gone reports whether this process is known not to take part any more: it was lost or has left in the meantime.
func gone(ctx context.Context, r *run.Run, w run.Worker) bool {
	s, err := r.State(ctx)
	if err != nil {
		return false
	}
	now, err := newest(s, w.ID)
	return err == nil && now.Incarnation == w.Incarnation && (now.Gone() || now.State == "lost")
}

// awaitSilence asks a worker to call, and waits until it has missed its calls. A worker that calls is an ErrAlive: it would
// go on to send what others send too, until its next call.
func awaitSilence(ctx context.Context, r *run.Run, w run.Worker) error {
	if err := r.Client.Publish(ctx, r.Keys.Control+":"+w.ID, "").Err(); err != nil {
		return err
	}
	for {
		s, err := r.State(ctx)
		if err != nil {
			return err
		}
		now, err := newest(s, w.ID)
		switch {
		case err != nil:
			return err
		case now.Incarnation != w.Incarnation || now.Gone() || silent(s, now) == nil:
			return nil
		case now.LastSeen.After(w.LastSeen):
			return errAnswers
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// silent returns an ErrAlive for a worker that is not missed yet: it calls several times as often.
func silent(s *run.State, w run.Worker) error { return unheard(s.Now().Sub(w.LastSeen), s.Missed()) }

// unheard is silent, for a worker that was heard of so long ago.
func unheard(ago, missed time.Duration) error {
	if ago >= missed {
		return nil
	}
	ago = max(0, ago)
	return fmt.Errorf("%w: heard of %.1f s ago; if it is dead, try again in %.0f s", ErrAlive, ago.Seconds(), math.Ceil((missed - ago).Seconds()))
}

// newest returns the newest process of an id.
func newest(s *run.State, id string) (run.Worker, error) {
	for _, w := range s.Workers {
		if w.ID == id && w.State != "replaced" {
			return w, nil
		}
	}
	return run.Worker{}, fmt.Errorf("%w; %s", ErrNoWorker, names(s))
}

// namesAtOnce is how many workers an error lists.
const namesAtOnce = 10

// names lists the workers.
func names(s *run.State) string {
	var ids []string
	for _, w := range s.Workers {
		ids = append(ids, w.ID)
	}
	ids = slices.Compact(ids) // they are sorted
	switch n := len(ids); {
	case n == 0:
		return "none has joined yet"
	case n > namesAtOnce:
		return fmt.Sprintf("there are %s and %d more", strings.Join(ids[:namesAtOnce], ", "), n-namesAtOnce)
	default:
		return "there are " + strings.Join(ids, ", ")
	}
}
