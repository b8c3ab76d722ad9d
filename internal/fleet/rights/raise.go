package rights

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Raise gets the run the right to a peak, slots per 1,000,000 s. A *RoomError says that there is no room.
func (k Keeper) Raise(ctx context.Context, peak int64) error {
	return k.raise(ctx, func(s *stored) int64 { return peak })
}

// RaiseFor gets the run the right to what its limiter lets pass with another burst.
func (k Keeper) RaiseFor(ctx context.Context, burst int64) error {
	return k.raise(ctx, func(s *stored) int64 {
		s.burst = max(s.burst, burst)
		s.allow = min(s.allow, k.bound(*s, s.held).allow)
		return s.high
	})
}

// raise gets the run the right to what want says of a reading.
func (k Keeper) raise(ctx context.Context, want func(*stored) (peak int64)) error {
	for range tries {
		s, err := read(ctx, k.Run)
		if err != nil || s.status == "NOSTATE" || s.text == "" { // the change itself says so
			return err
		}
		peak := want(&s)
		if peak <= s.allow && s.ends > s.now {
			return nil
		}
		readings, hold := k.readings(s)
		for i, r := range readings {
			g, err := k.more(ctx, k.shares[i], s, peak, r, hold[i])
			if err != nil {
				return err
			}
			hold[i] = granted(r, g, hold[i])
		}
		if after, err := k.store(ctx, s, "store", hold, false); err != nil || after.status == "OK" {
			return err
		}
	}
	return fmt.Errorf("run %s: its rights change faster than they can be read; try again", k.Run.Name)
}

// Change makes a change of a run. If the run has no right to send so much, it gets one first.
func Change(ctx context.Context, r *run.Run, change func() (run.Change, error)) (run.Change, error) {
	for try := 1; ; try++ {
		c, err := change()
		need, lacking := errors.AsType[*run.RightError](err)
		if !lacking || try == tries {
			return c, err
		}
		if err := NewKeeper(r).Raise(ctx, need.Peak); err != nil {
			return c, err
		}
	}
}

// more asks for what a peak needs at a host. A *RoomError says that there is no room, or that others wait for it. Those
// before the run may wait for a ledger that grants nothing new yet. Then the run waits for the same.
func (k Keeper) more(ctx context.Context, h share, s stored, peak int64, r reserve.Reading, x held) (reserve.Grant, error) {
	a := r.Raise(k.need(h, s, peak))
	if a.Want > a.Right.Rate {
		line, err := k.Ledger.Line(ctx)
		if err != nil {
			return reserve.Grant{}, err
		}
		if len(line.Before(k.place(a.Host))) > 0 {
			if line.Quiet.IsZero() {
				return reserve.Grant{}, k.full(h, s.burst, peak, 0, line)
			}
			return reserve.Grant{}, k.noRoom(ctx, h, s.burst, peak, reserve.Grant{Status: "QUIET"})
		}
	}
	g, err := k.ask(ctx, a, x)
	if err == nil && g.Status != "OK" {
		err = k.noRoom(ctx, h, s.burst, peak, g)
	}
	return g, err
}

// place is where the run stands among those that wait for room at a host.
func (k Keeper) place(host string) ledger.Place {
	return ledger.Place{Host: host, Run: k.Run.UID, Entered: k.line.entered()}
}

// Create is [Wait.Create] of a run that waits for no room.
func Create(ctx context.Context, client rdb.Client, name string, asked spec.Spec, o run.Options) (*run.Run, bool, error) {
	return Wait{}.Create(ctx, client, name, asked, o)
}

// first asks for the rights of a run that is not made yet.
func (k Keeper) first(ctx context.Context) (reservation, error) {
	r := k.Run
	if len(k.shares) == 0 { // it sends to no host
		return reservation{release: func() {}}, nil
	}
	s, err := read(ctx, r)
	if err != nil {
		return reservation{}, err
	}
	s.burst, s.ends = r.Spec.Burst, reserve.Endless
	plan, err := r.Spec.Plan()
	if err != nil {
		return reservation{}, err
	}
	peak := (&lease.Plan{Pieces: plan.Pieces}).Peak()
	readings, hold := k.readings(s)
	for i, r := range readings {
		hold[i].Raised = s.now
		g, err := k.more(ctx, k.shares[i], s, peak, r, hold[i])
		if err == nil {
			hold[i] = granted(r, g, hold[i])
		}
		if err == nil && g.Bounded {
			err = k.unfit()
		}
		if err != nil {
			k.release(hold)
			return reservation{}, err
		}
	}
	b := k.bound(s, hold)
	right := run.Reserved{Rights: packed(hold), Allow: b.allow, Ends: b.ends, Identity: s.identity, Latest: s.now + latest}
	return reservation{right, func() { k.release(hold) }}, nil
}

// release gives back the rows of a run that was not made. Else they end by themselves.
func (k Keeper) release(hold []held) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	for _, h := range hold {
		if h.Right.Version > 0 {
			_, _ = k.ask(ctx, reserve.Ask{Host: h.Host, Run: k.Run.UID, Right: h.Right}, h)
		}
	}
}

// releaseTime bounds how long giving rows back may take.
const releaseTime = time.Second

// unfit returns the error of a run that cannot keep a budget.
func (k Keeper) unfit() error {
	switch {
	case k.Run.Spec.Max:
		return fmt.Errorf("%s: the endpoint has a budget (loadctl budget ls), and a run without a rate cannot keep it; give a rate", k.Run.Spec.Loop())
	case k.Run.Spec.Permit() >= spec.HoldLease:
		return errors.New("--on-redis-loss hold: the endpoint has a budget (loadctl budget ls), and a worker that goes on without Redis cannot keep it; leave --on-redis-loss out")
	}
	return nil
}
