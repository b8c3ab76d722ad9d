package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Reserved is the right to send of a run that is to be made, as lua/make.lua takes it.
type Reserved struct {
	Rights      string // package rights reads it
	Allow, Ends int64
	Identity    string // of the server that was read before the ledger was asked
	Latest      int64  // when the run must be made, µs
	Release     func() // gives it back
}

// RightError says that the run has no right to send at a peak, slots per 1,000,000 s.
type RightError struct {
	Run, Command string
	Peak         int64
}

func (e *RightError) Error() string {
	return fmt.Sprintf("%s %s: the run has no right to send so much at its endpoint; try again", e.Command, e.Run)
}

// ErrFrozen says that nobody may send at an endpoint of the run.
var ErrFrozen = fmt.Errorf("its endpoint is frozen; loadctl budget ls says why, loadctl budget thaw ends it")

// makeNew makes the state of a run with its right to send, or finds an existing run. A run that is there needs no right: it
// has one.
func (r *Run) makeNew(ctx context.Context, text string, replace int, o Options) ([]string, error) {
	make := func(right Reserved) ([]string, error) {
		return r.makeState(ctx, r.Client, r.Spec, text, replace, o.Keep, right, nil)
	}
	if o.Reserve == nil {
		return make(Reserved{})
	}
	for {
		reply, err := make(Reserved{Rights: noRight})
		if err != nil || !lacksRight(reply) {
			return reply, err
		}
		right, err := o.Reserve(ctx, r)
		if err != nil { // maybe another process was quicker, and has the room
			for deadline := time.Now().Add(otherMakes); lacksRight(reply) && time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(otherMakes / 20) {
				if again, other := make(Reserved{Rights: noRight}); other == nil {
					reply = again
				}
			}
			if lacksRight(reply) {
				return nil, err
			}
			return reply, nil
		}
		if reply, err = make(right); err != nil || reply[0] != "CREATED" {
			right.Release()
		}
		if err != nil || !lacksRight(reply) {
			return reply, err
		}
	}
}

// noRight makes no run: it only finds one that is there.
const noRight = "none"

// lacksRight reports whether the make script wants the right to be asked for.
func lacksRight(reply []string) bool { return len(reply) > 0 && reply[0] == "RESERVE" }

// otherMakes is how long another process needs at most from the reservation until its run is there.
const otherMakes = 500 * time.Millisecond

// rightsMessage is the beginning of a message with the rights of a run (lua/right.lua).
const rightsMessage = "rights "

// learnRights takes the rights from a message. It reports whether the message has any.
func (r *Run) learnRights(message string) bool {
	text, ok := strings.CutPrefix(message, rightsMessage)
	if ok {
		r.rights.Store(&text)
	}
	return ok
}

// readRights reads the rights once, for a process that has received no message yet.
func (r *Run) readRights(ctx context.Context) {
	if text, err := r.Client.HGet(ctx, r.Keys.Budget, "rights").Result(); err == nil || errors.Is(err, redis.Nil) {
		r.rights.CompareAndSwap(nil, &text)
	}
}

// knownRights returns the rights that this process knows; "" = the run needs none. Where it could not read them, they are
// to be asked for before the run sends anything.
func (r *Run) knownRights() string {
	switch text := r.rights.Load(); {
	case text != nil:
		return *text
	case len(r.Spec.Target.Hosts()) == 0:
		return ""
	}
	return "[]"
}

// PeakOf returns the highest rate of a plan, slots per 1,000,000 s.
func PeakOf(p spec.Plan) int64 { return (&lease.Plan{Pieces: p.Pieces}).Peak() }
