package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// errUnknown: what this worker knows is not enough to restore the run; another one may know more.
var errUnknown = errors.New("this worker has not heard what the run was last told, and does not restore it")

// Restore makes the run's state anew where Redis has lost it, under the same uid, from what a worker knows of it. started is the run's
// first t0, µs of the Redis clock. The schedule goes on where the plan is by now, or with the rate last set; a run that was paused waits
// for resume. Its first slot is granted when every permit given before has run out. Of many callers one creates; where the state is there, or
// nothing is left to do by then, nothing happens. A run that was stopped meanwhile is made as one that is stopped.
//
// A worker that was not given the run's description must not create. It only learns of a run that was removed, or that was stopped and
// that nobody has brought back: pacer.ErrNoState.
func (r *Run) Restore(ctx context.Context, started int64, k pacer.Known, create bool) error {
	gone, err := r.replaced(ctx)
	switch {
	case err != nil:
		return explain("restore", r.Name, err)
	case gone:
		return pacer.ErrNoState
	case !create || k.Law.F == 0 || started == 0:
		return r.givenUp(ctx)
	}
	now, err := r.time(ctx)
	if err != nil {
		return explain("restore", r.Name, err)
	}
	wait := max(min(r.Spec.Permit(), maxWait), pacer.DefaultHorizon)
	if then, err := r.Spec.rest(started, now.Add(wait).UnixMicro(), k); err != nil || then == nil {
		return cmp.Or(r.givenUp(ctx), err)
	}
	fields, err := r.Spec.rest(started, now.Add(pacer.DefaultHorizon).UnixMicro(), k)
	if err != nil {
		return err
	}
	text, err := r.Spec.text()
	if err != nil {
		return err
	}
	keep := r.keep
	if keep == 0 {
		keep = DefaultKeep
	}
	args := append([]any{text, r.UID, 0, keep.Milliseconds(), Who()}, fields...)
	args = append(args, "started", started, "grantfrom", now.Add(wait).UnixMicro(), "restored", now.UnixMicro(),
		"heard", now.Add(wait).UnixMicro(), "were", k.Members)
	reply, err := lua.Create().Run(ctx, r.client, r.keys.create(), args...).StringSlice()
	switch {
	case err != nil:
		return explain("restore", r.Name, err)
	case len(reply) > 2 && reply[2] != "" && reply[2] != r.UID:
		return pacer.ErrNoState
	}
	r.client.ZAddNX(ctx, index, redis.Z{Score: float64(started) / 1e6, Member: r.Name}) // the run does not depend on it
	return nil
}

// replaced tells whether the run was removed on purpose, or another one has its name.
func (r *Run) replaced(ctx context.Context) (bool, error) {
	removed, err := r.client.Exists(ctx, r.keys.removed(r.UID)).Result()
	if err != nil || removed > 0 {
		return removed > 0, err
	}
	uid, err := r.client.HGet(ctx, r.keys.Budget, "uid").Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return uid != r.UID, err
}

// givenUp is pacer.ErrNoState where the run was stopped while it was lost, and those who can restore it have had the time to.
func (r *Run) givenUp(ctx context.Context) error {
	left, err := r.client.PTTL(ctx, r.keys.Stopped).Result()
	switch {
	case err != nil:
		return explain("restore", r.Name, err)
	case left > 0 && left < stoppedFor-comeback:
		return pacer.ErrNoState
	}
	return nil
}

// Reassert repeats the last command where a failover has made Redis forget it: the rate that a worker was granted slots at, or a pause. Of
// many workers that notice one acts; and only while granted, the generation that was granted instead, is the newest: what was told the new
// server itself counts.
func (r *Run) Reassert(ctx context.Context, k pacer.Known, granted int64) error {
	if len(k.Recalls) == 0 {
		return nil // nothing was ever told
	}
	kind, what := "pause", "forgotten by a failover"
	var pieces []pacer.Piece
	newest := k.Recalls[len(k.Recalls)-1].ID
	if !k.Paused {
		if newest > k.Law.ID || k.Law.R0 != k.Law.R1 { // a rate that was not granted yet, or one of a plan
			return errUnknown
		}
		rate := rateOf(k.Law, k.Law.T0)
		kind, what = "set-rate", rate.String()+" per second, "+what
		var err error
		if pieces, err = pacer.Constant(rate, 0).Pieces(); err != nil {
			return err
		}
	}
	_, err := r.send(ctx, fmt.Sprintf("again-%d", newest), kind, what, pacer.JoinPieces(pieces), granted)
	if errors.Is(err, errRetry) { // somebody has changed it since
		return nil
	}
	return err
}

// maxWait bounds how long a run stands still whose permits have no end: with LossHold they are not waited for.
const maxWait = MaxPermitFor

// rest is the budget of what is left of a run at t0, µs of the Redis clock, by what is known of it; nil if nothing is.
func (s Spec) rest(started, t0 int64, k pacer.Known) ([]any, error) {
	b, err := s.plan()
	if err != nil {
		return nil, err
	}
	highest, past, newer := k.Law.ID, int64(0), 0 // newer: recalls of which no slot was leased since
	for _, x := range k.Recalls {
		highest = max(highest, x.ID)
		if x.ID > k.Law.ID {
			newer++
		}
	}
	e, left := t0-started, k.Stood < 0
	if k.Paused {
		e = k.At - started // the schedule's clock stands still
		newer--            // that was the pause
	}
	e = max(0, e-max(0, k.Stood))
	if left {
		if b.left >= 0 || newer > 0 || k.Stood == pacer.LeftUnseen {
			return nil, errUnknown
		}
		if b.pieces, err = pacer.Constant(rateOf(k.Law, min(t0, k.At)), 0).Pieces(); err != nil {
			return nil, err
		}
		b.loop = false
	} else {
		p, err := s.profile()
		if err != nil {
			return nil, err
		}
		past = int64(math.Round(p.Integral(time.Duration(e) * time.Microsecond)))
		b.pieces = pacer.Rest(b.pieces, b.loop, e)
		if b.left >= 0 {
			past = min(past, b.left)
			b.left -= past
		}
	}
	if b.span > 0 {
		b.span -= time.Duration(e) * time.Microsecond
	}
	if len(b.pieces) == 0 || b.span < 0 || b.span == 0 && s.Length() > 0 || b.left == 0 {
		return nil, nil
	}
	b.min = 1
	if k.Paused {
		b.min = 0
	}
	// What the plan asked for until then counts as skipped, as far as no worker tells that it was leased.
	return append(b.fields(s), "id", highest+1, "issued", past, "skipped", past, "past", past, "stood", k.Stood), nil
}

// rateOf is the rate of a law at an instant, µs, exactly where it is constant and to a thousandth inside a ramp.
func rateOf(l pacer.Law, at int64) pacer.Rate {
	if l.R0 == l.R1 {
		return pacer.Rate{Num: l.R0, Den: l.Den}
	}
	return pacer.Rate{Num: int64(math.Round(l.Rate(at) * 1000)), Den: 1000}
}

// restoredNote is what a report says of a run whose state was lost.
func restoredNote(at time.Time) string {
	return fmt.Sprintf("the run's state was lost from Redis and restored at %s: what was asked for before is known only as far as workers that were there afterwards tell",
		at.Format(time.RFC3339))
}
