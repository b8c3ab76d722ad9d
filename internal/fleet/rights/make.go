package rights

import (
	"context"
	"errors"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// reservation is a right that the ledger has granted to a run that is not made yet.
type reservation struct {
	run.Reserved
	release func() // gives it back
}

// errAgain is what the function that asks for the rights returns to be called again, if the run is not there by then.
var errAgain = errors.New("ask for the rights again")

// reserving makes a run with its right to send, or finds an existing run. A run that is there needs no right: it has one.
func reserving(reserve func(context.Context, *run.Run) (reservation, error)) func(context.Context, *run.Run, run.Maker) error {
	return func(ctx context.Context, r *run.Run, make run.Maker) error {
		for {
			status, err := make(run.Reserved{Rights: noRight})
			if err != nil || status != lacksRight {
				return err
			}
			right, err := reserve(ctx, r)
			if errors.Is(err, errAgain) { // by now the run may be there
				continue
			}
			if err != nil { // maybe another process was quicker, and has the room
				if otherMade(ctx, make) {
					return nil
				}
				return err
			}
			if status, err = make(right.Reserved); err != nil || status != "CREATED" {
				right.release()
			}
			if err != nil || status != lacksRight {
				return err
			}
		}
	}
}

// noRight makes no run: it only finds one that is there.
const noRight = "none"

// lacksRight is the status with which the make script wants the right to be asked for.
const lacksRight = "RESERVE"

// otherMade reports whether another process makes the run soon.
func otherMade(ctx context.Context, make run.Maker) bool {
	for deadline := time.Now().Add(otherMakes); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(otherMakes / 20) {
		if status, err := make(run.Reserved{Rights: noRight}); err == nil && status != lacksRight {
			return true
		}
	}
	return false
}

// otherMakes is how long another process needs at most from the reservation until its run is there.
const otherMakes = 500 * time.Millisecond
