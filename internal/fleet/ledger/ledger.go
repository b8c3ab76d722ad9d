package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/lua"
)

// The keys of the ledger (lua/ledger.lua). They share one hash tag, so they are in one slot of a cluster. No run has this
// tag: names of runs begin with a letter or a digit.
const (
	budgetsKey = "{load:_endpoints}:budgets"
	rowsKey    = "{load:_endpoints}:rows"
)

// Ledger is the ledger of all runs in one Redis. It is safe for concurrent use.
type Ledger struct{ Client rdb.Client }

// Ask renews, raises, lowers or verifies the row of a run. people is what people are shown of it: see People. A call that
// fails may have been done.
func (l Ledger) Ask(ctx context.Context, a reserve.Ask, people string) (reserve.Grant, error) {
	args := []any{a.Host, a.Run, a.Want, a.Right.Rate, a.Right.Version, a.Right.End, people}
	for _, b := range a.Budgets {
		frozen := 0
		if b.Frozen {
			frozen = 1
		}
		args = append(args, b.Name, b.Rate, b.Version, frozen, b.Freeze)
	}
	reply, err := l.call(ctx, "ask for room at "+a.Host, lua.Ask(), args...)
	if err != nil {
		return reserve.Grant{}, err
	}
	return parseGrant(reply)
}

// parseGrant reads the reply of lua/ask.lua.
func parseGrant(reply []string) (g reserve.Grant, err error) {
	const head, each = 8, 5
	if len(reply) < head || (len(reply)-head)%each != 0 {
		return g, unexpected(reply)
	}
	n := func(i int) int64 {
		x, wrong := strconv.ParseInt(reply[i], 10, 64)
		if wrong != nil {
			err = unexpected(reply)
		}
		return x
	}
	g = reserve.Grant{Status: reply[0], Rate: n(1), Version: n(2), End: n(3), Bounded: n(4) == 1, Cap: n(5), Left: n(6)}
	for i := head; i < len(reply); i += each {
		g.Budgets = append(g.Budgets, reserve.Budget{Name: reply[i], Rate: n(i + 1), Version: n(i + 2), Frozen: n(i+3) == 1, Freeze: n(i + 4)})
	}
	return g, err
}

// call runs a script of the ledger.
func (l Ledger) call(ctx context.Context, what string, script *redis.Script, args ...any) ([]string, error) {
	reply, err := script.Run(ctx, l.Client, []string{budgetsKey, rowsKey}, args...).StringSlice()
	if err != nil {
		return nil, explain(what, err)
	}
	return reply, nil
}

// explain adds to a Redis error what to do.
func explain(what string, err error) error {
	_, mend := link.Remedy(err)
	switch {
	// A script ended with an error. The embedded server says the latter.
	case mend == "" && (strings.Contains(err.Error(), "user_script:") || strings.Contains(err.Error(), "Error compiling script")):
		return fmt.Errorf("%s: %w", what, errBroken)
	case link.Unanswered(err):
		return fmt.Errorf("%s: %w; Redis does not answer; check that it is running", what, err)
	default:
		return link.Advise(fmt.Errorf("%s: %w", what, err))
	}
}

// errBroken says that the ledger holds what no script of this version has written.
var errBroken = fmt.Errorf("the ledger of budgets cannot be read: another version has written it; use one version of loadctl and loadworker, or delete the keys %s and %s",
	budgetsKey, rowsKey)

// unexpected returns the error of a reply that no script of this version gives.
func unexpected(reply []string) error {
	return fmt.Errorf("ask the ledger of budgets: unexpected answer %.200q; use the same version of loadctl and loadworker", reply)
}
