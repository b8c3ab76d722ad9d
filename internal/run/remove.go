package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrListed says that a run was removed, but that the list of runs still names it.
var ErrListed = errors.New("the run is removed, and only the list of runs still names it, which cannot be written now")

// Remove deletes a run's state. A run with members in it is refused unless force is set: they would end with an error. So is one
// of which it cannot be told. With ErrListed only the list is left: Remove again, or List, takes it off.
func Remove(ctx context.Context, client redis.UniversalClient, name string, force bool) error {
	return remove(ctx, client, name, force, true)
}

// Discard is Remove with force for a run that no worker will come back to: nothing at all is left of it.
func Discard(ctx context.Context, client redis.UniversalClient, name string) error {
	return remove(ctx, client, name, true, false)
}

// remove is Remove; told: its workers are to know that it was removed and not lost.
func remove(ctx context.Context, client redis.UniversalClient, name string, force, told bool) error {
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
	case err != nil && Unanswered(err): // to force it does not help
		return err
	case errors.Is(err, ErrBroken) || force:
	case errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder):
		return fmt.Errorf("remove %w; or use --force", err)
	case err != nil:
		return err
	default:
		if err := r.idle(ctx); err != nil {
			return err
		}
	}
	tell := func() error { return nil }
	if uid := client.HGet(ctx, KeysOf(name).Budget, "uid").Val(); uid != "" && told { // or a worker that comes back would take it for lost, and restore it
		tell = func() error { return client.Set(ctx, KeysOf(name).removed(uid), "1", removedFor).Err() }
	}
	full := tell() // a full server must be told after it has room again
	if err := client.Del(ctx, KeysOf(name).made()...).Err(); err != nil {
		return explain("remove run", name, err)
	}
	if full != nil {
		_ = tell() // where it is full all the same nothing can be restored
	}
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if err := client.ZRem(ctx, index, name).Err(); err != nil {
		return fmt.Errorf("remove run %s: %w (%w); loadctl rm %s again takes it off, and so does loadctl ls, once that is mended",
			name, ErrListed, unwritten(err), name)
	}
	return nil
}

// removedFor is how long it is known that a run was removed: longer than a worker can be cut off and come back to it.
const removedFor = time.Hour

// idle refuses a run of which a member may still send.
func (r *Run) idle(ctx context.Context) error {
	s, err := r.State(ctx)
	if err == nil && !s.quiet(r.Spec) {
		err = r.whole(ctx) // or loadctl stop could do nothing
	}
	switch {
	case errors.Is(err, ErrBroken):
		return fmt.Errorf("remove run %s: %w, so nobody can tell whether workers take part in it; end those, and then loadctl rm --force %s removes what is there",
			r.Name, ErrBroken, r.Name)
	case err != nil:
		return err
	case s.quiet(r.Spec):
		return nil
	case !s.EndedAt.IsZero():
		return fmt.Errorf("remove run %s: of a worker that has not left it is not known yet that it sends no more; loadctl workers %s shows it, "+
			"loadctl workers rm says that it is dead; or use --force", r.Name, r.Name)
	}
	return fmt.Errorf("remove run %s: workers may be taking part in it; loadctl stop %s first, or use --force", r.Name, r.Name)
}

// quiet tells whether no member takes part in the run. When it is over only those count who can still send: a worker that was killed never
// says that it left.
func (s *State) quiet(spec Spec) bool {
	member := func(w Worker) bool { return w.State == "active" || w.State == "silent" }
	if s.EndedAt.IsZero() {
		return !slices.ContainsFunc(s.Workers, member)
	}
	able, unsure := s.waitsFor(spec)
	return len(unsure) == 0 && !slices.ContainsFunc(able, member)
}
