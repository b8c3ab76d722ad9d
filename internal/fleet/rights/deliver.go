package rights

import (
	"context"
	"errors"
	"sync"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// deliveredAtOnce is how many runs are asked to obey at a time.
const deliveredAtOnce = 32

// Deliver makes the runs of these rows obey the ledger now, and not only when their judges ask it, up to 3 s later. It
// returns when each has, and has reported it, or cannot be reached. Judges do what it could not.
func Deliver(ctx context.Context, client rdb.Client, rows []ledger.Row) error {
	free, errs := make(chan struct{}, deliveredAtOnce), make([]error, len(rows))
	var all sync.WaitGroup
	for i, row := range rows {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			errs[i] = deliver(ctx, client, row)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func deliver(ctx context.Context, client rdb.Client, row ledger.Row) error {
	r, err := run.Open(ctx, client, row.People.Run)
	if err != nil || r.UID != row.Run {
		return err
	}
	k := NewKeeper(r)
	for _, tell := range []bool{true, false} { // the second renewal tells the ledger that the run knows the change
		if over, err := k.Renew(ctx, tell); err != nil || over {
			return err
		}
	}
	return nil
}
