package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Reserved is the right to send of a run that is to be made, as lua/make.lua takes it.
type Reserved struct {
	Rights      string // package rights reads it
	Allow, Ends int64
	Identity    string // of the server that was read before the ledger was asked
	Latest      int64  // when the run must be made, µs
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

// A Maker makes the state of a run with a right to send, or finds an existing run. The status is that of lua/make.lua:
// CREATED, EXISTS, BROKEN, or RESERVE if nothing is made because the right is too old or none.
type Maker func(Reserved) (status string, err error)

// makeNew makes the state of a run, with a right to send if it needs one, or finds an existing run. The reply is that of the
// make script.
func (r *Run) makeNew(ctx context.Context, text string, replace int, o Options) (reply []string, err error) {
	make := func(right Reserved) (string, error) {
		made, err := r.makeState(ctx, r.Client, r.Spec, text, replace, o.Keep, right, nil)
		if err != nil || len(made) == 0 {
			return "", err
		}
		reply = made
		return made[0], nil
	}
	if o.Make == nil {
		_, err = make(Reserved{})
	} else {
		err = o.Make(ctx, r, make)
	}
	return reply, err
}

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
