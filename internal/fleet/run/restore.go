package run

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Restore makes the run's state again if Redis has lost it, under the same uid, from the laws that a worker knows.
// The schedule goes on by these laws, and workers go on with what they hold. Of many callers one makes the state. If
// the state is there, nothing happens.
//
// A worker without the run's description must not make the state, and one without laws cannot. It only learns that
// the run was removed, or that it was stopped and nobody has restored it: pacer.ErrNoState.
//
// started is the run's first t0, µs of the Redis clock. laws may not have it any more.
func (r *Run) Restore(ctx context.Context, started int64, laws []lease.Law, make bool) error {
	gone, err := r.replaced(ctx)
	switch {
	case err != nil:
		return Explain("restore", r.Name, err)
	case gone:
		return pacer.ErrNoState
	case !make || len(laws) == 0:
		return r.givenUp(ctx)
	}
	text, err := r.Spec.Encode()
	if err != nil {
		return err
	}
	reply, err := r.makeState(ctx, r.Client, r.Spec, text, 0, r.Lifetime(), Reserved{Rights: r.knownRights()}, laws)
	switch {
	case err != nil:
		return Explain("restore", r.Name, err)
	case len(reply) > 2 && reply[2] != "" && reply[2] != r.UID:
		return pacer.ErrNoState
	}
	// The run does not depend on these.
	r.Client.HSetNX(ctx, r.Keys.Budget, "began", cmp.Or(started, laws[0].T0))
	r.Client.ZAddNX(ctx, index, redis.Z{Score: float64(cmp.Or(started, laws[0].T0)) / 1e6, Member: r.Name})
	return nil
}

// replaced reports whether the run was removed on purpose, or another one has its name.
func (r *Run) replaced(ctx context.Context) (bool, error) {
	removed, err := r.Client.Exists(ctx, r.Keys.RemovedOf(r.UID)).Result()
	if err != nil || removed > 0 {
		return removed > 0, err
	}
	uid, err := r.Client.HGet(ctx, r.Keys.Budget, "uid").Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return uid != r.UID, err
}

// givenUp returns pacer.ErrNoState if the run was stopped while it was lost, and the workers had the time to restore
// it.
func (r *Run) givenUp(ctx context.Context) error {
	left, err := r.Client.PTTL(ctx, r.Keys.Stopped).Result()
	switch {
	case err != nil:
		return Explain("restore", r.Name, err)
	case left > 0 && left < stoppedFor-restoreTime:
		return pacer.ErrNoState
	}
	return nil
}

// rateOf returns the rate of a law at an instant, µs: exact for a constant rate, to a thousandth in a ramp.
func rateOf(l pacer.Law, at int64) pacer.Rate {
	if l.R0 == l.R1 {
		return pacer.Rate{Num: l.R0, Den: l.Den}
	}
	return pacer.Rate{Num: int64(math.Round(l.Rate(at) * 1000)), Den: 1000}
}
