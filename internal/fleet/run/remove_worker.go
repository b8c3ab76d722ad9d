package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/lua"
)

// The errors of Run.Remove.
var (
	ErrNoWorker = errors.New("there is no such worker")
	ErrAlive    = errors.New("it may be alive")

	errAnswers = fmt.Errorf("%w: it calls when it is asked to; end its process, and it hands over its share", ErrAlive)
)

// askAgain is the time between two looks at whether a worker has called.
const askAgain = 100 * time.Millisecond

// Remove takes a worker out of the run whose process is dead. A user knows that, the run cannot. Half a second later
// others get its share, and not only when its lease ends. A worker that is only cut off from Redis goes on until
// then, and sends what others send too.
//
// A worker that called recently is an ErrAlive. With wait, Remove asks it to call, and waits until it either does, an
// ErrAlive, or has missed three calls.
//
// It returns the worker as it was before. A worker that has left already, by its State, is not changed.
func (r *Run) Remove(ctx context.Context, worker string, wait bool) (Worker, error) {
	if err := r.checkKeys(ctx); err != nil {
		return Worker{}, err
	}
	s, err := r.State(ctx)
	if err != nil {
		return Worker{}, err
	}
	w, err := s.worker(worker)
	if err != nil {
		return w, fmt.Errorf("remove worker %s of run %s: %w", worker, r.Name, err)
	}
	if w.Gone() {
		return w, nil
	}
	switch err := s.silent(w); {
	case err == nil:
	case !wait:
		return w, fmt.Errorf("remove worker %s of run %s: %w, or --force", worker, r.Name, err)
	default:
		if err := r.awaitSilence(ctx, w); err != nil {
			return w, fmt.Errorf("remove worker %s of run %s: %w", worker, r.Name, err)
		}
	}
	status, err := lua.Remove().Run(ctx, r.Client, r.Keys.Change(), r.UID, r.Keys.Control, w.ID, Who()).Text()
	if err != nil {
		return w, Explain("remove worker "+worker+" of run", r.Name, err)
	}
	if status != "OK" && !r.gone(ctx, w) {
		return w, fmt.Errorf("remove worker %s of run %s: another process took its id just now; loadctl workers %s shows it", worker, r.Name, r.Name)
	}
	return w, nil
}

// gone reports whether this process is known not to take part any more: it was lost or has left in the meantime.
func (r *Run) gone(ctx context.Context, w Worker) bool {
	s, err := r.State(ctx)
	if err != nil {
		return false
	}
	now, err := s.worker(w.ID)
	return err == nil && now.Incarnation == w.Incarnation && (now.Gone() || now.State == "lost")
}

// awaitSilence asks a worker to call, and waits until it has missed its calls. A worker that calls is an ErrAlive: it would
// go on to send what others send too, until its next call.
func (r *Run) awaitSilence(ctx context.Context, w Worker) error {
	if err := r.Client.Publish(ctx, r.Keys.Control+":"+w.ID, "").Err(); err != nil {
		return err
	}
	for {
		s, err := r.State(ctx)
		if err != nil {
			return err
		}
		now, err := s.worker(w.ID)
		switch {
		case err != nil:
			return err
		case now.Incarnation != w.Incarnation || now.Gone() || s.silent(now) == nil:
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
func (s *State) silent(w Worker) error {
	ago, missed := s.now.Sub(w.LastSeen), s.missed()
	if ago >= missed {
		return nil
	}
	ago = max(0, ago)
	return fmt.Errorf("%w: heard of %.1f s ago; if it is dead, try again in %.0f s", ErrAlive, ago.Seconds(), math.Ceil((missed - ago).Seconds()))
}

// Gone reports whether the worker takes no part any more, by its own word or by a user's.
func (w Worker) Gone() bool { return w.State == "left" || w.State == "stopped" || w.State == "removed" }

// worker returns the newest process of an id.
func (s *State) worker(id string) (Worker, error) {
	for _, w := range s.Workers {
		if w.ID == id && w.State != "replaced" {
			return w, nil
		}
	}
	return Worker{}, fmt.Errorf("%w; %s", ErrNoWorker, s.names())
}

// namesAtOnce is how many workers an error lists.
const namesAtOnce = 10

// names lists the workers.
func (s *State) names() string {
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
