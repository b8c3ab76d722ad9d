package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// Change is what a command came to.
type Change struct {
	Run     string    `json:"run"`
	Command string    `json:"command"`
	Changed bool      `json:"changed"` // false: it was so already
	At      time.Time `json:"at"`      // from when on, by the Redis clock; year 1 = when the run begins or is resumed
}

// command runs one command. Its id makes repetitions harmless, so a lost reply is answered by asking again. to is what is set: pieces, as
// pacer.JoinPieces writes them, or a burst.
func (r *Run) command(ctx context.Context, kind, what, to string, expected int64) (Change, error) {
	if err := r.whole(ctx); err != nil {
		return Change{}, err
	}
	return r.send(ctx, NewID(), kind, what, to, expected)
}

// send is command with an id.
func (r *Run) send(ctx context.Context, id, kind, what, to string, expected int64) (Change, error) {
	var reply []string
	var err error
	for range 3 {
		reply, err = lua.Order().Run(ctx, r.client, append(r.keys.change(), r.keys.Snapshots),
			r.UID, r.keys.Control, id, kind, Who(), what, to, expected).StringSlice()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return Change{}, explain(kind, r.Name, err)
	}
	if len(reply) != 3 {
		return Change{}, fmt.Errorf("%s %s: the answer has %d parts; this program and the run do not fit together", kind, r.Name, len(reply))
	}
	us, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return Change{}, fmt.Errorf("%s %s: %w", kind, r.Name, err)
	}
	c := Change{Run: r.Name, Command: kind, Changed: reply[0] == "OK", At: instant(us)}
	switch reply[0] {
	case "OK", "SAME":
		return c, nil
	case "WAITING":
		return c, fmt.Errorf("%s %s: %w", kind, r.Name, ErrWaiting)
	case "RETRY":
		return c, errRetry
	case "NONE":
		return c, fmt.Errorf("%s %s: %w: it has no burst to change", kind, r.Name, ErrLimiter)
	case "ENDED":
		return c, fmt.Errorf("%s %s: %w, since %s", kind, r.Name, ErrOver, c.At.Format(time.RFC3339))
	default:
		return c, r.absent(ctx, kind)
	}
}

// absent is why a script found no state: there is none, or it has lost the part that each call reads.
func (r *Run) absent(ctx context.Context, kind string) error {
	if uid, err := r.client.HGet(ctx, r.keys.Budget, "uid").Result(); err == nil && uid == r.UID {
		return broken(r.Name, "a part of it is missing")
	}
	return fmt.Errorf("%s %s: %w", kind, r.Name, ErrNoRun)
}

// errRetry: somebody changed the run between reading the rate and changing it.
var errRetry = errors.New("the run changed at the same time; try again")

// ErrNoRate is about changing the rate of a closed loop.
var ErrNoRate = errors.New("the run goes as fast as it can (--qps max): it has no rate to change; pause or stop it")

// SetRate changes the rate of the whole cluster to `to`, at once or as a ramp over some time. It cancels the stages it
// overlaps; the planned end of the run stays.
func (r *Run) SetRate(ctx context.Context, to pacer.Rate, over time.Duration) (Change, error) {
	return r.setRate(ctx, to, over, to.String()+" per second")
}

// SetRateFor is SetRate at once, with a reason for the run's events and its report.
func (r *Run) SetRateFor(ctx context.Context, to pacer.Rate, why string) (Change, error) {
	return r.setRate(ctx, to, 0, to.String()+" per second, "+why)
}

func (r *Run) setRate(ctx context.Context, to pacer.Rate, over time.Duration, what string) (Change, error) {
	if r.Spec.Max {
		return Change{}, fmt.Errorf("set-rate %s: %w", r.Name, ErrNoRate)
	}
	if over != 0 && (over < MinRamp || over > MaxRamp) {
		return Change{}, fmt.Errorf("--over: give a time from %v to %v, such as 30s", MinRamp, MaxRamp)
	}
	if r.Spec.gated() {
		s, err := r.State(ctx)
		if err == nil {
			err = r.Spec.mayChange("set-rate", r.Name, to, s.burst, over)
		}
		if err != nil {
			return Change{}, err
		}
	}
	if over == 0 {
		pieces, err := pacer.Constant(to, 0).Pieces()
		if err != nil {
			return Change{}, err
		}
		return r.command(ctx, "set-rate", what, pacer.JoinPieces(pieces), 0)
	}
	for try := 1; ; try++ {
		s, err := r.State(ctx)
		if err != nil {
			return Change{}, err
		}
		pieces, err := rampTo(s.rateNow(), to, over)
		if err != nil {
			return Change{}, err
		}
		expected := s.commanded
		if try == rampTries {
			expected = 0
		}
		c, err := r.command(ctx, "set-rate", what+" over "+over.String(), pacer.JoinPieces(pieces), expected)
		if !errors.Is(err, errRetry) {
			return c, err
		}
	}
}

// SetBurst changes the burst of the run's limiter, from the next grant on. What is granted already stays.
func (r *Run) SetBurst(ctx context.Context, to int64) (Change, error) {
	switch {
	case to < 1 || to > maxBurst:
		return Change{}, fmt.Errorf("set-burst %s: give a number from 1 to %d", r.Name, maxBurst)
	case !r.Spec.gated():
		return Change{}, fmt.Errorf("set-burst %s: %w: it has none but the schedule, which has no burst; "+
			"create the run with --burst, or with another --limiter", r.Name, ErrLimiter)
	case !r.Spec.kind().Bursts:
		return Change{}, fmt.Errorf("set-burst %s: %w: --limiter %s counts in windows; change the rate with loadctl set-rate", r.Name, ErrLimiter, r.Spec.Limiter)
	}
	s, err := r.State(ctx)
	if err == nil {
		err = r.Spec.mayChange("set-burst", r.Name, s.newest(), to, 0)
	}
	if err != nil {
		return Change{}, err
	}
	return r.command(ctx, "set-burst", fmt.Sprintf("burst of %d", to), strconv.FormatInt(to, 10), 0)
}

// The bounds of a ramp's length, and how often it is computed anew because the rate it begins with has changed meanwhile. Where
// stages are shorter than a round trip that is always so; the last time it begins with a rate that is a little old.
const (
	MinRamp   = time.Millisecond
	MaxRamp   = maxDuration
	rampTries = 20
)

// rampTo is a line from one rate to another, and then that rate for ever.
func rampTo(from, to pacer.Rate, over time.Duration) ([]pacer.Piece, error) {
	ramp := func(from pacer.Rate) ([]pacer.Piece, error) {
		p := pacer.Stages(from, pacer.Stage{Length: over, To: to})
		p.Segments = append(p.Segments, pacer.Segment{From: to, To: to, Length: -1})
		return p.Pieces()
	}
	pieces, err := ramp(from)
	if err != nil { // no common denominator: begin next to the rate
		pieces, err = ramp(pacer.Rate{Num: int64(math.Round(from.Float() * float64(to.Den))), Den: to.Den})
	}
	return pieces, err
}

// rateNow is the rate in force, exactly where it is constant and to a thousandth inside a ramp. While the schedule's clock
// stands still it is the one to go on with.
func (s *State) rateNow() pacer.Rate {
	if len(s.laws) == 0 || s.Phase == "paused" {
		return s.first
	}
	return rateOf(s.current(), s.now.UnixMicro())
}

// newest is the rate last set, of a run without ramps. It may be in force only in a moment.
func (s *State) newest() pacer.Rate {
	if len(s.laws) == 0 || s.Phase == "paused" {
		return s.first
	}
	if s.last.Den > 0 {
		return s.last
	}
	last := s.laws[len(s.laws)-1]
	return pacer.Rate{Num: last.R0, Den: last.Den}
}

// Start begins a run that waits, with the workers that are there; without any it begins with the first that comes. The time of the
// Change is the run's first t0, if that is known within a moment.
func (r *Run) Start(ctx context.Context) (Change, error) {
	c, err := r.command(ctx, "start", "", "", 0)
	for deadline := time.Now().Add(promptly); err == nil && c.Changed && c.At.IsZero() && time.Now().Before(deadline); {
		select { // the workers have been woken, and the next call of one begins the run
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
		var us int64
		us, err = r.StartedAt(ctx)
		c.At = instant(us)
	}
	if err == nil {
		_ = r.relist(ctx) // the run does not depend on it
	}
	return c, err
}

// Pause stops the schedule's clock: no slot is due until Resume. Workers, connections and statistics stay.
func (r *Run) Pause(ctx context.Context) (Change, error) { return r.command(ctx, "pause", "", "", 0) }

// Resume goes on where Pause stopped, without a burst; the planned end moves by the length of the pause.
func (r *Run) Resume(ctx context.Context) (Change, error) {
	return r.command(ctx, "resume", "", "", 0)
}

// Touch tells the run that somebody looks after it, so that its Deadman does not stop it. Nothing else changes; a run that is over
// is left alone.
func (r *Run) Touch(ctx context.Context) error {
	_, err := r.command(ctx, "touch", "", "", 0)
	return err
}

// Guard is Touch, and sets the run's dead-man's switch, whatever its spec says: the run is stopped when no loadctl was heard of for so long.
func (r *Run) Guard(ctx context.Context, silence time.Duration) error {
	if silence < MinDeadman || silence > MaxDeadman {
		return fmt.Errorf("guard %s: give a time from %v to %v", r.Name, MinDeadman, MaxDeadman)
	}
	_, err := r.command(ctx, "guard", "", strconv.FormatInt(silence.Microseconds(), 10), 0)
	return err
}

// promptly is how long it takes until all workers have heard of a command, where nothing is wrong.
const promptly = 500 * time.Millisecond

// Pending is a member that may still send after a stop.
type Pending struct {
	ID      string        // empty: members that Redis has forgotten
	Silent  bool          // it has not called since the stop
	Promise time.Duration // how much longer it may send by itself if it is cut off; 0 = not at all
}

// ErrUnconfirmed says that a run was stopped, but that a member of it may send on without end.
var ErrUnconfirmed = errors.New("cannot be confirmed")

// Stop ends the run: workers drop everything not yet written. It returns when each member has confirmed that, or its promise is over. A silent member
// whose promise has no end (LossHold) is waited for some seconds, and is then an ErrUnconfirmed. waiting is called when those it waits for change; it may
// be nil.
func (r *Run) Stop(ctx context.Context, waiting func([]Pending)) (Change, error) {
	c, err := r.command(ctx, "stop", "", "", 0)
	if err != nil && !errors.Is(err, ErrOver) { // a run that ended by itself may have requests left that wait for a connection
		return c, err
	}
	said, began, lost := "", time.Now(), time.Time{}
	for {
		s, err := r.presence(ctx)
		if err != nil {
			return c, err
		}
		if s.Phase == "waiting" || s.Phase == "running" || s.Phase == "paused" { // a failover has forgotten it, or a worker restored the run
			if again, err := r.command(ctx, "stop", "", "", 0); err == nil {
				c = again
			}
		}
		if s.Phase != "" {
			lost = time.Time{}
		} else if lost.IsZero() {
			lost = time.Now()
		}
		able, unsure := s.waitsFor(r.Spec)
		those, err := r.unfinished(ctx, able, s)
		forgotten := s.forgotten(r.Spec, lost)
		switch {
		case err != nil:
			return c, err
		case len(those) == 0 && forgotten <= 0 && !s.now.Before(c.At):
			return c, r.unconfirmed(unsure)
		case forgotten > 0:
			those = append(those, Pending{Silent: true, Promise: forgotten})
		}
		if text := fmt.Sprint(who(those)); waiting != nil && text != said && time.Since(began) > promptly {
			waiting(those)
			said = text
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return c, fmt.Errorf("stop %s: still waiting for %d workers: %w", r.Name, len(those), context.Cause(ctx))
		}
	}
}

// forgotten is for how much longer workers may be sending of whom Redis does not know: it has lost the run, at lost, zero if it is there; or it was
// lost or failed over, and somebody may still claim pieces.
func (s *State) forgotten(spec Spec, lost time.Time) time.Duration {
	lateness := max(spec.MaxLag, spec.CatchUp)
	switch {
	case !s.unclaimed.IsZero():
		return s.unclaimed.Add(lateness).Sub(s.now)
	case !lost.IsZero():
		return min(spec.hold(), MaxPermitFor) + lateness - time.Since(lost)
	}
	return 0
}

// who is those without how long it will take.
func who(those []Pending) []Pending {
	those = slices.Clone(those)
	for i := range those {
		those[i].Promise = 0
	}
	return those
}

// unconfirmed is the error that members may fire on without end.
func (r *Run) unconfirmed(those []string) error {
	if len(those) == 0 {
		return nil
	}
	names := strings.Join(those, " ")
	return fmt.Errorf("stop %s: %w for %s: nothing is heard of it, and with --on-redis-loss hold it may send on without end; "+
		"see to it that it is dead, and say so with loadctl workers rm %s %s", r.Name, ErrUnconfirmed, names, r.Name, names)
}

// unfinished are those who have not left with their last snapshot published: who has, has sent everything.
func (r *Run) unfinished(ctx context.Context, workers []Worker, s *State) ([]Pending, error) {
	var those []Pending
	for _, w := range workers {
		if w.State == "left" {
			text, err := r.client.HGet(ctx, r.keys.Totals, w.key()).Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, explain("stop", r.Name, err)
			}
			var total report.Snapshot
			if err == nil && total.UnmarshalBinary(text) == nil && total.Final {
				continue
			}
		}
		p := Pending{ID: w.ID, Silent: w.State != "left" && s.now.Sub(w.LastSeen) >= promptly}
		if p.Silent && r.Spec.Permit() < withoutEnd {
			p.Promise = max(0, w.promised.Sub(s.now))
		}
		those = append(those, p)
	}
	return those, nil
}
