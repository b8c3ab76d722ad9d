package pacer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Limiter turns a rate into permissions: it grants leases. The one method is called by one goroutine.
type Limiter interface {
	// Lease makes one call. An error means that nothing is known about its effect; the caller then makes the same call,
	// with the same Seq, again.
	Lease(ctx context.Context, ask Ask) (Reply, error)
}

// Ask is what a worker tells the budget. Times are µs of the Redis clock.
type Ask struct {
	Worker, Incarnation string
	Seq                 int64 // 1, 2, …; after a timeout the same again
	Ack                 int64 // LeasedAt of the last reply received
	Until               int64 // cover me up to here
	Weight              int64 // ≥ 1
	RTTHi               int64 // a bound on the round trip, µs
	PhiHeld             int64 // the permit held, slots per 10⁶ s
	Leased              int64 // slots leased to this incarnation, by all replies received
	Known               int64 // the highest id of a generation in them
}

// Status is what a reply says of the run and of the caller.
type Status string

// The statuses of a reply.
const (
	StatusOK       Status = "OK"
	StatusSuspect  Status = "SUSPECT"  // too long without contact to be granted anything: a permit may be in force. Ask again at once
	StatusWait     Status = "WAIT"     // the run waits for more members
	StatusPaused   Status = "PAUSED"   // the schedule clock stands still
	StatusStopped  Status = "STOPPED"  // drop all that is not yet written
	StatusEnded    Status = "ENDED"    // every slot was handed out and is past
	StatusNoState  Status = "NOSTATE"  // there is no such run; absence is never a full budget
	StatusStale    Status = "STALE"    // a newer call of this incarnation was answered already
	StatusReplaced Status = "REPLACED" // another process has taken this worker's id
)

// Reply is one grant: a range of one generation, or nothing (N = 0), and the state of the run. Times are µs of the Redis clock.
type Reply struct {
	Status   Status
	Range    Range
	Hand     int64 // when a permit in force ends, because what is leased from now on begins there; 0 = not yet
	Now      int64 // TIME, never going back
	Time     int64 // TIME as read, for the clock
	LeasedAt int64
	Next     int64 // come back at the latest at this time; 0 = no wish
	Members  int64 // N
	Weights  int64 // W
	Version  int64 // grows with every change of members or law
	Recalls  Recalls
	Permit   Permit
	Horizon  int64 // H in force
	Stood    int64 // how long pauses took so far, µs, or one of the Left constants
}

// Reply.Stood where the schedule is not the run's plan any more.
const (
	LeftPlan   = -1 // a rate was set
	LeftUnseen = -2 // a rate was set during the pause that lasts: nothing was granted at it yet
)

// replyFields is the length of the script's array.
const replyFields = 17

// ParseReply reads the array that the lease script returns. It accepts nothing that a worker could
// not act upon safely.
func ParseReply(f []string) (Reply, error) {
	if len(f) != replyFields {
		return Reply{}, fmt.Errorf("lease reply: %d fields instead of %d", len(f), replyFields)
	}
	r := Reply{Status: Status(f[0])}
	into := []struct {
		at int
		to *int64
	}{
		{2, &r.Range.First}, {3, &r.Range.N}, {4, &r.Range.Yield}, {5, &r.Hand}, {6, &r.Now}, {7, &r.Time}, {8, &r.LeasedAt},
		{9, &r.Next}, {10, &r.Members}, {11, &r.Weights}, {12, &r.Version}, {15, &r.Horizon},
	}
	for _, x := range into {
		v, err := strconv.ParseInt(f[x.at], 10, 64)
		if err == nil && (v < 0 || v > Endless) {
			err = fmt.Errorf("%d is out of range", v)
		}
		if err != nil {
			return Reply{}, fmt.Errorf("lease reply: field %d: %w", x.at+1, err)
		}
		*x.to = v
	}
	var err error
	if r.Stood, err = strconv.ParseInt(f[16], 10, 64); err != nil || r.Stood < LeftUnseen || r.Stood > Endless {
		return Reply{}, fmt.Errorf("lease reply: field 17: %q is not a time", clip(f[16]))
	}
	if r.Recalls, err = ParseRecalls(f[13]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if r.Permit, err = ParsePermit(f[14]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if r.Range.N == 0 {
		r.Range = Range{}
		return r, nil
	}
	if r.Range.Law, err = ParseLaw(f[1]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if first, n := r.Range.First, r.Range.N; first > r.Range.Law.K || n > r.Range.Law.K-first {
		return Reply{}, errors.New("lease reply: range outside its generation")
	}
	if r.Range.Yield > yieldUnit {
		return Reply{}, errors.New("lease reply: more is yielded than leased")
	}
	return r, nil
}
