package run

import (
	"context"
	"fmt"
	"strings"
	"time"

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
	if o.Reserve == nil {
		return r.makeState(ctx, r.Client, r.Spec, text, replace, o.Keep, Reserved{}, nil)
	}
	for {
		there, err := r.there(ctx, o.New)
		if err != nil || there != nil {
			return there, err
		}
		right, err := o.Reserve(ctx, r)
		if err != nil {
			if there, _ := r.awaitOther(ctx, o.New); there != nil { // another process was quicker, and has the room
				return there, nil
			}
			return nil, err
		}
		reply, err := r.makeState(ctx, r.Client, r.Spec, text, replace, o.Keep, right, nil)
		if err != nil || len(reply) == 0 || reply[0] != "CREATED" {
			right.Release()
		}
		if err != nil || len(reply) == 0 || reply[0] != "RESERVE" {
			return reply, err
		}
	}
}

// there returns the reply of the make script for a run that exists; nil = there is none, or one that is to be replaced.
func (r *Run) there(ctx context.Context, replace bool) ([]string, error) {
	text, fields, err := described(ctx, r.Client, r.Keys)
	if err != nil {
		return nil, err
	}
	uid, _ := fields[0].(string)
	if text.Val() == "" || uid == "" {
		return nil, nil
	}
	reply := []string{"EXISTS", text.Val(), uid}
	if !replace {
		return reply, nil
	}
	other, err := handle(r.Client, r.Name, reply)
	if err == nil {
		err = other.setPhase(ctx)
	}
	if err != nil || other.Ended.IsZero() {
		return reply, err
	}
	return nil, nil
}

// awaitOther waits for a moment whether another process makes the run.
func (r *Run) awaitOther(ctx context.Context, replace bool) (reply []string, err error) {
	for deadline := time.Now().Add(otherMakes); reply == nil && err == nil && time.Now().Before(deadline); {
		if reply, err = r.there(ctx, replace); reply == nil {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
	return reply, err
}

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
	if text, err := r.Client.HGet(ctx, r.Keys.Budget, "rights").Result(); err == nil {
		r.rights.CompareAndSwap(nil, &text)
	}
}

// knownRights returns the rights that this process knows; "" = the run needs none.
func (r *Run) knownRights() string {
	if text := r.rights.Load(); text != nil {
		return *text
	}
	return ""
}

// PeakOf returns the highest rate of a plan, slots per 1,000,000 s.
func PeakOf(p spec.Plan) int64 { return (&lease.Plan{Pieces: p.Pieces}).Peak() }
