package rights

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// A Keeper asks the ledger for the rights of a run, and stores them at the run. Any number of them may work at a time.
type Keeper struct {
	Run    *run.Run
	Ledger ledger.Ledger

	shares []share
	line   *line // of a run that is not made yet; nil = it is there
}

// NewKeeper returns a keeper of a run's rights.
func NewKeeper(r *run.Run) Keeper {
	return Keeper{Run: r, Ledger: ledger.Ledger{Client: r.Client}, shares: sharesOf(r.Spec)}
}

// bound is what rights mean for the run.
type bound struct {
	allow, ends int64
	frozen      bool
}

// bound returns what the rights allow together.
func (k Keeper) bound(s stored, hold []held) bound {
	b := bound{allow: mostRate, ends: reserve.Endless}
	for i, h := range hold {
		b.allow, b.ends = min(b.allow, k.shares[i].allow(k.Run.Spec, s.burst, h.Right.Rate)), min(b.ends, h.Right.Until)
		b.frozen = b.frozen || reserve.Grant{Budgets: h.Budgets}.Frozen()
	}
	if k.Run.Spec.Max { // it has no rate
		b.allow = mostRate
	}
	return b
}

// readings returns what the run says of itself at each host.
func (k Keeper) readings(s stored) (all []reserve.Reading, hold []held) {
	for _, h := range k.shares {
		x := held{Host: h.host, Who: run.Who()}
		if i := slices.IndexFunc(s.held, func(x held) bool { return x.Host == h.host }); i >= 0 {
			x = s.held[i]
		}
		right := x.Right
		if s.ends == 0 {
			right.Until = 0
		}
		all = append(all, reserve.Reading{Host: h.host, Run: k.Run.UID, At: s.now, Identity: s.identity, Right: right, Budgets: x.Budgets,
			Raised: x.Raised, Need: k.need(h, s, s.high), Settled: s.settled})
		hold = append(hold, x)
	}
	return all, hold
}

// need returns what the run reserves at a host for a peak. A closed loop has no rate that could be reserved.
func (k Keeper) need(h share, s stored, peak int64) int64 {
	if k.Run.Spec.Max {
		return 0
	}
	return h.need(k.Run.Spec, s.burst, peak)
}

// ask asks the ledger.
func (k Keeper) ask(ctx context.Context, a reserve.Ask, h held) (reserve.Grant, error) {
	people := ledger.People{Run: k.Run.Name, Who: h.Who, Since: h.Raised}
	return k.Ledger.Ask(ctx, a, people.Text())
}

// ErrGone says that there is no such run any more.
var ErrGone = errors.New("the run is not there any more")

// Renew renews all rights, comes down to what the ledger allows, pauses the run in a freeze, and gives back what it does not
// need. tell: all workers are sent the rights. over: the run is over, and has given back all.
func (k Keeper) Renew(ctx context.Context, tell bool) (over bool, err error) {
	for range tries {
		s, err := read(ctx, k.Run)
		switch {
		case err != nil:
			return false, err
		case s.status == "NOSTATE":
			return true, ErrGone
		case s.text == "":
			return true, nil
		}
		done, err := k.renew(ctx, s, tell)
		if err != nil || done {
			return done && s.over && s.settled && s.high == 0, err
		}
	}
	return false, nil
}

// tries is how often a turn is begun again because the run has changed meanwhile.
const tries = 4

// renew is one try of Renew. done: the rights are stored.
func (k Keeper) renew(ctx context.Context, s stored, tell bool) (done bool, err error) {
	readings, hold := k.readings(s)
	grants := make([]reserve.Grant, len(readings))
	for i, r := range readings {
		if grants[i], err = k.ask(ctx, r.Renew(), hold[i]); err != nil {
			return false, err
		}
		hold[i] = granted(r, grants[i], hold[i])
	}
	after, err := k.store(ctx, s, "store", hold, tell)
	if err != nil || after.status != "OK" {
		return false, err
	}
	if limit, capped := k.limit(s, readings, grants); capped {
		return true, k.comeDown(ctx, after, limit)
	}
	for i, g := range grants {
		if g.Status != "OK" && g.Rate < readings[i].Need { // the run waits for room
			return true, k.noRoom(ctx, k.shares[i], s.burst, s.high, g)
		}
	}
	return true, k.giveBack(ctx, after, grants)
}

// granted returns what the run holds after an answer.
func granted(r reserve.Reading, g reserve.Grant, h held) held {
	right, ok := r.Granted(g)
	if ok {
		if right.Version != h.Right.Version {
			h.Raised = r.At
		}
		h.Right = right
	} else if g.Version == 0 && r.Need == 0 { // it has no row, and needs none
		h.Right.Rate, h.Right.Until = 0, reserve.Endless
	}
	h.Budgets = reserve.Merge(h.Budgets, g.Budgets)
	return h
}

// limit returns the highest peak that the ledger allows, if the run has to come down to it.
func (k Keeper) limit(s stored, readings []reserve.Reading, grants []reserve.Grant) (limit int64, capped bool) {
	limit = mostRate
	for i, g := range grants {
		switch {
		case k.Run.Spec.Max:
			capped = capped || g.Bounded && !s.over
		case g.Cap > 0 && max(readings[i].Need, k.need(k.shares[i], s, s.plan)) > g.Cap:
			limit, capped = min(limit, k.shares[i].allow(k.Run.Spec, s.burst, g.Cap)), true
		}
	}
	return limit, capped && (s.plan > limit || k.Run.Spec.Max)
}

// comeDown orders less, and bars guards from more. A closed loop has no rate, so it is paused.
func (k Keeper) comeDown(ctx context.Context, s stored, limit int64) error {
	if k.Run.Spec.Max {
		_, err := k.Run.PauseFor(ctx, "its endpoint has a budget now, and "+k.Run.Spec.Loop()+" has no rate that could keep it")
		return err
	}
	factor := max(1, int64(float64(s.top)*(float64(limit)/float64(s.plan))))
	_, err := k.Run.Cap(ctx, factor, "the budget of its endpoint was cut")
	return err
}

// giveBack gives room back that no worker can use any more.
func (k Keeper) giveBack(ctx context.Context, s stored, grants []reserve.Grant) error {
	surplus := false
	readings, hold := k.readings(s)
	for i, r := range readings {
		if !grants[i].Frozen() && hold[i].Right.Version > 0 && (r.Surplus(grants[i].Cap) || s.over && r.Settled && r.Need < r.Right.Rate) {
			hold[i].Right.Rate, surplus = min(hold[i].Right.Rate, r.Need), true
		}
	}
	if !surplus {
		return nil
	}
	after, err := k.store(ctx, s, "lower", hold, false)
	if err != nil || after.status != "OK" {
		return err
	}
	for i, r := range readings {
		if hold[i].Right.Rate < r.Right.Rate {
			if _, err := k.ask(ctx, reserve.Ask{Host: r.Host, Run: r.Run, Want: hold[i].Right.Rate, Right: hold[i].Right, Budgets: r.Budgets}, hold[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// renewEvery is the time from one renewal to the next.
const renewEvery = reserve.Every * time.Microsecond
