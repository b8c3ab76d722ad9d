package rights

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/outage"
)

// shortest is the shortest time between two renewals.
const shortest = 250 * time.Millisecond

// How one worker becomes the judge. All others look whether there is one. Together they look 20 times a second at most,
// however many they are.
const (
	judgeLock  = 4500 * time.Millisecond // after a judge's last renewal another one may take over
	lookEvery  = time.Second
	lookShare  = 50 * time.Millisecond   // times the number of workers
	judgeLimit = 2500 * time.Millisecond // of one renewal
	tellEvery  = 9 * time.Second         // and after the first renewal of a judge
)

// Keep keeps the rights of a run until ctx ends. Every worker calls it, and one at a time is the judge: it renews the rights
// every 3 s. These calls are short, so they go over the connection of the run.
func Keep(ctx context.Context, r *run.Run, me string, log *slog.Logger) {
	w := watch{run: r, me: me, log: log}
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, judgeLimit)
		next, over, err := w.turn(limit)
		cancel()
		if over || ctx.Err() != nil {
			break
		}
		w.trouble(err)
		select {
		case <-time.After(next):
		case <-ctx.Done():
		}
	}
	w.leave()
}

// watch is one worker's part in keeping the rights.
type watch struct {
	run      *run.Run
	me       string
	log      *slog.Logger
	told     time.Time // when this worker, as the judge, last told all others of the rights
	failures outage.Series
}

// trouble logs the first failure of a series, each other kind of failure, and the end of the series.
func (w *watch) trouble(err error) {
	switch {
	case err == nil && w.failures.Over():
		w.log.Info("the rights to send are renewed again")
	case err != nil && w.failures.Failed(err):
		w.log.Warn("cannot renew the rights to send at endpoints that other runs share; the run does not send without them", "err", err)
	}
}

// turn renews the rights, if this worker is the judge or becomes it. next is when to come back.
func (w *watch) turn(ctx context.Context) (next time.Duration, over bool, err error) {
	mine, members, err := w.locked(ctx)
	if err != nil || !mine {
		w.told = time.Time{}
		wait := max(lookEvery, time.Duration(members)*lookShare)
		return wait/2 + rand.N(wait), false, err
	}
	tell := time.Since(w.told) >= tellEvery
	if over, err = NewKeeper(w.run).Renew(ctx, tell); err != nil {
		if errors.Is(err, ErrGone) { // a worker restores it, or it was removed
			return lookEvery, false, nil
		}
		if Refused(err) {
			return renewEvery, false, err
		}
		w.unlock(ctx) // maybe another worker can
		return lookEvery, false, err
	}
	if tell {
		w.told = time.Now()
	}
	return w.every(), over, nil
}

// every returns the time to the next renewal. Where leases are short, a failover must not last longer than they do: a server
// that may have forgotten the rights leases nothing before it was asked.
func (w *watch) every() time.Duration {
	return min(renewEvery, max(shortest, w.run.Spec.Hold()/4))
}

// locked takes the lock, or holds it. members is how many workers there are.
func (w *watch) locked(ctx context.Context) (mine bool, members int64, err error) {
	key := w.run.Keys.Keeper
	var taken *redis.BoolCmd
	var holder *redis.StringCmd
	var count *redis.IntCmd
	_, err = w.run.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		taken, holder, count = p.SetNX(ctx, key, w.me, judgeLock), p.Get(ctx, key), p.ZCard(ctx, w.run.Keys.Due)
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return false, 0, err
	case taken.Val() || holder.Val() == w.me:
		return true, count.Val(), w.run.Client.SetXX(ctx, key, w.me, judgeLock).Err()
	}
	return false, count.Val(), nil
}

// unlock gives the lock back, if this worker has it. Two judges at a time do no harm.
func (w *watch) unlock(ctx context.Context) {
	if w.run.Client.Get(ctx, w.run.Keys.Keeper).Val() == w.me {
		w.run.Client.Del(ctx, w.run.Keys.Keeper)
	}
}

// leave gives the lock back. The last worker of a run gives back its rights.
func (w *watch) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	w.unlock(ctx)
	if w.run.Client.ZCard(ctx, w.run.Keys.Due).Val() <= 1 { // the one that is never due
		_, _ = NewKeeper(w.run).Renew(ctx, false)
	}
}
