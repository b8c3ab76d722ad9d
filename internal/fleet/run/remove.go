package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// ErrListed says that a run was removed, but is still on the list of runs.
var ErrListed = errors.New("the run is removed, but the list of runs still names it, and cannot be written now")

// Remove deletes a run's state. It refuses a run with members unless force is set, as they would end with an error.
// It also refuses a run if it cannot find out. With ErrListed only the entry in the list is left: another Remove, or
// List, removes it.
func Remove(ctx context.Context, client rdb.Client, name string, force bool) error {
	return remove(ctx, client, name, force, true)
}

// Discard is Remove with force, for a run to which no worker will come back. Nothing is left of it.
func Discard(ctx context.Context, client rdb.Client, name string) error {
	return remove(ctx, client, name, true, false)
}

// remove is Remove. notify: leave a note for its workers that the run was removed and not lost.
func remove(ctx context.Context, client rdb.Client, name string, force, notify bool) error {
	if err := ValidateName("run", name); err != nil {
		return err
	}
	r, err := named(ctx, client, name)
	switch {
	case errors.Is(err, ErrNoRun):
		if client.ZRem(ctx, index, name).Val() > 0 { // a removal before this one could not
			return nil
		}
		return err
	case err != nil && link.Unanswered(err): // --force does not help
		return err
	case errors.Is(err, spec.ErrBroken) || force:
	case errors.Is(err, spec.ErrNewer) || errors.Is(err, spec.ErrOlder):
		return fmt.Errorf("remove %w; or use --force", err)
	case err != nil:
		return err
	default:
		if err := r.idle(ctx); err != nil {
			return err
		}
	}
	leaveNote := func() error { return nil }
	// Else a worker that comes back would take the run for lost, and restore it.
	if uid := client.HGet(ctx, KeysOf(name).Budget, "uid").Val(); uid != "" && notify {
		leaveNote = func() error { return client.Set(ctx, KeysOf(name).RemovedOf(uid), "1", removedFor).Err() }
	}
	full := leaveNote() // on a full server, try again after it has room
	if err := client.Del(ctx, append(KeysOf(name).All(), KeysOf(name).Limiter)...).Err(); err != nil {
		return Explain("remove run", name, err)
	}
	if full != nil {
		_ = leaveNote() // if it is still full, nothing can be restored
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if err := client.ZRem(ctx, index, name).Err(); err != nil {
		return fmt.Errorf("remove run %s: %w (%w); once that works, loadctl rm %s or loadctl ls removes the entry",
			name, ErrListed, unwritten(err), name)
	}
	return nil
}

// removedFor is how long Redis knows that a run was removed: longer than a worker can be cut off and come back.
const removedFor = time.Hour

// idle refuses a run if a member of it may still send.
func (r *Run) idle(ctx context.Context) error {
	s, err := r.State(ctx)
	if err == nil && !s.quiet(r.Spec) {
		err = r.CheckKeys(ctx) // else loadctl stop could do nothing
	}
	switch {
	case errors.Is(err, spec.ErrBroken):
		return fmt.Errorf("remove run %s: %w, so it is unknown whether workers take part in it; end them; then loadctl rm --force %s removes what is there",
			r.Name, spec.ErrBroken, r.Name)
	case err != nil:
		return err
	case s.quiet(r.Spec):
		return nil
	case !s.EndedAt.IsZero():
		return fmt.Errorf("remove run %s: a worker that has not left may still send; loadctl workers %s shows it; "+
			"if it is dead, run loadctl workers rm, or use --force", r.Name, r.Name)
	}
	return fmt.Errorf("remove run %s: workers may be taking part in it; loadctl stop %s first, or use --force", r.Name, r.Name)
}

// quiet reports whether no member takes part in the run. In a run that is over only members count that can still
// send: a killed worker never says that it left.
func (s *State) quiet(asked spec.Spec) bool {
	member := func(w Worker) bool { return w.State == "active" || w.State == "silent" }
	if s.EndedAt.IsZero() {
		return !slices.ContainsFunc(s.Workers, member)
	}
	able, unsure := s.waitsFor(asked)
	return len(unsure) == 0 && !slices.ContainsFunc(able, member)
}
