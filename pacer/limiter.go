package pacer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// Numbers is what the lease script takes of the ask beside the names: a JSON array.
func (a Ask) Numbers() string {
	text := []byte{'['}
	for i, x := range []int64{a.Seq, a.Ack, a.Until, a.Weight, a.RTTHi, a.PhiHeld, a.Leased, a.Known} {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, x, 10)
	}
	return string(append(text, ']'))
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

// The parts of the script's text, and the figures in the last of them.
const (
	replyParts   = 5
	replyFigures = 11
)

// ParseReply reads the array that the lease script returns: a text, and Now and Time where they are not LeasedAt. It accepts nothing
// that a worker could not act upon safely.
func ParseReply(array []string) (Reply, error) {
	if len(array) != 1 && len(array) != 3 {
		return Reply{}, fmt.Errorf("lease reply: %d texts instead of 1 or 3", len(array))
	}
	parts := strings.Split(array[0], "|")
	if len(parts) != replyParts {
		return Reply{}, fmt.Errorf("lease reply: %d parts instead of %d", len(parts), replyParts)
	}
	figures := strings.Split(parts[4], ":")
	if len(figures) != replyFigures {
		return Reply{}, fmt.Errorf("lease reply: %d figures instead of %d", len(figures), replyFigures)
	}
	now, read := figures[4], figures[4]
	if len(array) == 3 {
		now, read = array[1], array[2]
	}
	r := Reply{Status: Status(parts[0])}
	for _, x := range []struct {
		name, text string
		to         *int64
	}{
		{"first", figures[0], &r.Range.First}, {"n", figures[1], &r.Range.N}, {"yield", figures[2], &r.Range.Yield}, {"hand", figures[3], &r.Hand},
		{"leased_at", figures[4], &r.LeasedAt}, {"now", now, &r.Now}, {"TIME", read, &r.Time}, {"next", figures[5], &r.Next},
		{"members", figures[6], &r.Members}, {"weights", figures[7], &r.Weights}, {"version", figures[8], &r.Version}, {"horizon", figures[9], &r.Horizon},
	} {
		v, err := strconv.ParseInt(x.text, 10, 64)
		if err == nil && (v < 0 || v > Endless) {
			err = fmt.Errorf("%d is out of range", v)
		}
		if err != nil {
			return Reply{}, fmt.Errorf("lease reply: %s: %w", x.name, err)
		}
		*x.to = v
	}
	var err error
	if r.Stood, err = strconv.ParseInt(figures[10], 10, 64); err != nil || r.Stood < LeftUnseen || r.Stood > Endless {
		return Reply{}, fmt.Errorf("lease reply: stood: %q is not a time", clip(figures[10]))
	}
	if r.Recalls, err = ParseRecalls(parts[2]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if r.Permit, err = ParsePermit(parts[3]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if r.Range.N == 0 {
		r.Range = Range{}
		return r, nil
	}
	if r.Range.Law, err = ParseLaw(parts[1]); err != nil {
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
