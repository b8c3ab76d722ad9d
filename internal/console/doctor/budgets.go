package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/report/units"
)

// budgets tells whether endpoints have budgets in this Redis, and whether runs can get room now.
func budgets(ctx context.Context, s *server) Finding {
	l, err := ledger.Ledger{Client: s.whole}.List(ctx)
	_, refused := errors.AsType[redis.Error](err)
	switch {
	case err != nil && s.node == s.whole && (refused || link.Unanswered(err)):
		return s.unclear(err)
	case err != nil && (refused || link.Unanswered(err)): // another node of the cluster may be away
		return warn("unknown: "+err.Error(), remedy(err, "find out why the ledger of budgets cannot be read"))
	case err != nil:
		return bad(err.Error(), "budgets bound no run until it can be read")
	}
	var set, frozen int64
	for _, b := range l.Budgets {
		if b.Rate < reserve.Endless {
			set++
		}
		if b.Frozen {
			frozen++
		}
	}
	found := fmt.Sprintf("%s, %d frozen; %s of runs", units.Things(set, "budget"), frozen, units.Things(int64(len(l.Rows)), "row"))
	switch {
	case set+frozen == 0:
		return ok("none: each run may send its rate at any endpoint")
	case !l.Quiet.IsZero():
		return warn(found+"; nothing new is granted until "+l.Quiet.Format(time.RFC3339), "wait for that: they are new in this Redis, or it may have forgotten what runs hold")
	}
	return ok(found)
}
