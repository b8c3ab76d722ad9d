package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/lua"
)

// The errors of changes.
var (
	ErrFull    = errors.New("runs hold more than is allowed then")
	ErrChanged = errors.New("somebody has changed it since")
)

// A Change is a change of a budget that the ledger has made.
type Change struct {
	Name    string // of the budget, as endpoint.Parse returns it
	Kind    string // set, cut, freeze or thaw
	Rate    int64  // of set and cut; reserve.Endless removes the budget
	Note    Note   // of the rate or of the freeze
	Version int64  // that it has made
}

// At returns about when a change was made, by the ledger's clock: versions are times, µs, or a little later.
func (c Change) At() time.Time { return timeOf(c.Version) }

// Set sets the rate of a budget; [reserve.Endless] removes it. If more is reserved than it allows it returns ErrFull and
// changes nothing, unless cut says that the runs have to come down.
func (l Ledger) Set(ctx context.Context, name string, rate int64, cut bool, note Note) (Change, error) {
	kind := "set"
	if cut {
		kind = "cut"
	}
	return l.make(ctx, Change{Name: name, Kind: kind, Rate: rate, Note: note})
}

// Freeze stops all sending at the endpoints that a name fits. There need not be a budget.
func (l Ledger) Freeze(ctx context.Context, name string, why Note) (Change, error) {
	return l.make(ctx, Change{Name: name, Kind: "freeze", Note: why})
}

// Thaw ends a freeze.
func (l Ledger) Thaw(ctx context.Context, name string, why Note) (Change, error) {
	return l.make(ctx, Change{Name: name, Kind: "thaw", Note: why})
}

// make makes a change, also once more: then it has another version.
func (l Ledger) make(ctx context.Context, c Change) (Change, error) {
	status, version, err := l.budget(ctx, c, c.Kind, c.Rate, encoded(c.Note))
	switch {
	case err != nil:
		return c, err
	case status == "FULL":
		return c, fmt.Errorf("%s: %w", c.what(), ErrFull)
	}
	c.Version = version
	return c, nil
}

// Known returns how far a change has come: FORGOTTEN, this server does not have it; CHANGED, somebody has made a later one;
// WAITING, a run does not obey it yet, or this server may have forgotten rows; DONE.
func (l Ledger) Known(ctx context.Context, c Change) (status string, err error) {
	kind := "set-known"
	if c.freezes() {
		kind = "freeze-known"
	}
	status, _, err = l.budget(ctx, c, kind, c.Version, "")
	return status, err
}

// askAgain is how long Changed waits between two questions.
const askAgain = 200 * time.Millisecond

// Changed returns when all runs obey a change. A failover may forget a change that no run knows yet, so then it makes it
// again. ErrChanged says that somebody has made a later one, ErrFull that there is no room for it any more. It goes on
// after other errors until ctx ends.
func (l Ledger) Changed(ctx context.Context, c Change) error {
	var last error
	for forgotten := false; ; {
		var status string
		var err error
		if forgotten { // the answer may be lost, so it is made until there is one
			c, err = l.make(ctx, c)
			forgotten = err != nil
		} else {
			status, err = l.Known(ctx, c)
			forgotten = status == "FORGOTTEN"
		}
		switch {
		case status == "DONE":
			return nil
		case status == "CHANGED":
			return fmt.Errorf("%s: %w", c.what(), ErrChanged)
		case errors.Is(err, ErrFull):
			return err
		case ctx.Err() == nil:
			last = err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: wait until all runs obey it: %w", c.what(), context.Cause(ctx)), last)
		}
	}
}

// budget calls lua/budget.lua.
func (l Ledger) budget(ctx context.Context, c Change, kind string, number int64, said string) (status string, version int64, err error) {
	reply, err := l.call(ctx, c.what(), lua.Budget(), c.Name, kind, number, said)
	if err != nil {
		return "", 0, err
	}
	if len(reply) != 2 {
		return "", 0, unexpected(reply)
	}
	if version, err = strconv.ParseInt(reply[1], 10, 64); err != nil {
		return "", 0, unexpected(reply)
	}
	return reply[0], version, nil
}

func (c Change) freezes() bool { return c.Kind == "freeze" || c.Kind == "thaw" }

// what returns verb and object.
func (c Change) what() string {
	switch {
	case c.freezes():
		return c.Kind + " " + c.Name
	case c.Rate >= reserve.Endless:
		return "remove the budget of " + c.Name
	}
	return "set the budget of " + c.Name
}
