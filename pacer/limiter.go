package pacer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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

// Numbers is what the lease script takes of the ask beside the names, each eight bytes, the least significant first.
func (a Ask) Numbers() string {
	text := make([]byte, 0, 8*8)
	for _, x := range []int64{a.Seq, a.Ack, a.Until, a.Weight, a.RTTHi, a.PhiHeld, a.Leased, a.Known} {
		text = binary.LittleEndian.AppendUint64(text, uint64(x))
	}
	return string(text)
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

// statuses are all there are.
func statuses() []Status {
	return []Status{StatusOK, StatusSuspect, StatusWait, StatusPaused, StatusStopped, StatusEnded, StatusNoState, StatusStale, StatusReplaced}
}

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

// The numbers in the script's texts.
const (
	replyFigures = 11
	replyNumbers = replyFigures + permitFields + lawFields
	replyClocks  = 2
)

// replyNames are those of the numbers that may be from 0 to Endless, in their order.
func replyNames() []string {
	return []string{"first", "n", "yield", "hand", "leased_at", "next", "members", "weights", "version", "horizon", "now", "TIME"}
}

// ParseReply reads the array that the lease script returns: a text, and Now and Time in another where they are not LeasedAt. It accepts
// nothing that a worker could not act upon safely.
func ParseReply(array []string) (Reply, error) {
	if len(array) != 1 && len(array) != 2 {
		return Reply{}, fmt.Errorf("lease reply: %d texts instead of 1 or 2", len(array))
	}
	v, texts, err := numbers(array[0], replyNumbers)
	status, recalls, ok := strings.Cut(texts, "|")
	if err == nil && (!ok || !slices.Contains(statuses(), Status(status))) {
		err = fmt.Errorf("%q instead of a status and recalls", clip(texts))
	}
	if err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	clocks := []int64{v[4], v[4]} // leased_at
	if len(array) == 2 {
		var more string
		if clocks, more, err = numbers(array[1], replyClocks); err != nil || more != "" {
			return Reply{}, fmt.Errorf("lease reply: clocks: %d bytes instead of %d", len(array[1]), 8*replyClocks)
		}
	}
	r := Reply{
		Status: Status(status), Range: Range{First: v[0], N: v[1], Yield: v[2]}, Hand: v[3], Now: clocks[0], Time: clocks[1], LeasedAt: v[4],
		Next: v[5], Members: v[6], Weights: v[7], Version: v[8], Horizon: v[9], Stood: v[10],
	}
	for i, x := range append(v[:replyFigures-1:replyFigures-1], clocks...) {
		if x < 0 || x > Endless {
			return Reply{}, fmt.Errorf("lease reply: %s: %d is out of range", replyNames()[i], x)
		}
	}
	if r.Stood < LeftUnseen || r.Stood > Endless {
		return Reply{}, fmt.Errorf("lease reply: stood: %d is not a time", r.Stood)
	}
	if r.Recalls, err = ParseRecalls(recalls); err != nil {
		return Reply{}, fmt.Errorf("lease reply: %w", err)
	}
	if r.Permit, err = newPermit(v[replyFigures : replyFigures+permitFields]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: permit: %w", err)
	}
	if r.Range.N == 0 {
		r.Range = Range{}
		return r, nil
	}
	if r.Range.Law, err = newLaw(v[replyFigures+permitFields:]); err != nil {
		return Reply{}, fmt.Errorf("lease reply: law: %w", err)
	}
	if first, n := r.Range.First, r.Range.N; first > r.Range.Law.K || n > r.Range.Law.K-first {
		return Reply{}, errors.New("lease reply: range outside its generation")
	}
	if r.Range.Yield > yieldUnit {
		return Reply{}, errors.New("lease reply: more is yielded than leased")
	}
	return r, nil
}

// numbers reads n numbers as Numbers writes them, and returns what is behind them.
func numbers(text string, n int) ([]int64, string, error) {
	if len(text) < 8*n {
		return nil, "", fmt.Errorf("%d bytes instead of %d", len(text), 8*n)
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8])))
	}
	return v, text[8*n:], nil
}
