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

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// Change is the result of a command.
type Change struct {
	Run     string `json:"run"`
	Command string `json:"command"`
	Changed bool   `json:"changed"` // false: it was so already
	// Since when it is in force, by the Redis clock; year 1 = when the run begins or is resumed.
	At time.Time `json:"at"`
}

// command runs one command. Its id makes repetitions harmless, so after a lost reply it is sent again. to is the new
// value: pieces, as pacer.JoinPieces writes them, or a burst.
func (r *Run) command(ctx context.Context, kind, what, to string, expected int64) (Change, error) {
	if err := r.CheckKeys(ctx); err != nil {
		return Change{}, err
	}
	return r.send(ctx, NewID(), kind, what, to, expected)
}

// send is command with an id.
func (r *Run) send(ctx context.Context, id, kind, what, to string, expected int64) (Change, error) {
	var reply []string
	var err error
	for range 3 {
		reply, err = lua.Order().Run(ctx, r.Client, append(r.Keys.Change(), r.Keys.Snapshots),
			r.UID, r.Keys.Control, id, kind, Who(), what, to, expected).StringSlice()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return Change{}, Explain(kind, r.Name, err)
	}
	if len(reply) != 3 {
		return Change{}, fmt.Errorf("%s %s: the answer has %d parts; use the same version of loadctl and loadworker", kind, r.Name, len(reply))
	}
	us, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return Change{}, fmt.Errorf("%s %s: %w", kind, r.Name, err)
	}
	c := Change{Run: r.Name, Command: kind, Changed: reply[0] == "OK", At: TimeOf(us)}
	switch reply[0] {
	case "OK", "SAME":
		return c, nil
	case "WAITING":
		return c, fmt.Errorf("%s %s: %w", kind, r.Name, ErrWaiting)
	case "RETRY":
		return c, ErrChanged
	case "NONE":
		return c, fmt.Errorf("%s %s: %w: it has no burst to change", kind, r.Name, spec.ErrLimiter)
	case "RESERVE":
		return c, &RightError{r.Name, kind, us}
	case "FROZEN":
		return c, fmt.Errorf("%s %s: %w", kind, r.Name, ErrFrozen)
	case "ENDED":
		return c, fmt.Errorf("%s %s: %w, since %s", kind, r.Name, ErrOver, c.At.Format(time.RFC3339))
	default:
		return c, r.absent(ctx, kind)
	}
}

// absent returns why a script found no state: there is none, or the part that each call reads is missing.
func (r *Run) absent(ctx context.Context, kind string) error {
	if uid, err := r.Client.HGet(ctx, r.Keys.Budget, "uid").Result(); err == nil && uid == r.UID {
		return spec.Broken(r.Name, "a part of it is missing")
	}
	return fmt.Errorf("%s %s: %w", kind, r.Name, ErrNoRun)
}

// ErrChanged says that the run was changed between reading it and changing it.
var ErrChanged = errors.New("the run changed at the same time; try again")

// ErrNoRate says that a closed loop has no rate to change.
var ErrNoRate = errors.New("the run goes as fast as it can (--qps max): it has no rate to change; pause or stop it")

// ErrSeated is ErrNoRate of a run with a concurrency.
var ErrSeated error = noRate("the run is a closed loop with a concurrency: it has no rate to change; give a number of requests in flight, such as c=16")

// noRate is an ErrNoRate in other words.
type noRate string

func (e noRate) Error() string      { return string(e) }
func (noRate) Is(target error) bool { return target == ErrNoRate }

// SetRate changes the rate of the whole cluster to `to`, at once or as a ramp over some time. It cancels the stages
// that it overlaps. The planned end of the run stays.
func (r *Run) SetRate(ctx context.Context, to pacer.Rate, over time.Duration) (Change, error) {
	return r.setRate(ctx, to, over, to.Text())
}

// SetRateFor is SetRate at once, with a reason for the run's events and its report.
func (r *Run) SetRateFor(ctx context.Context, to pacer.Rate, why string) (Change, error) {
	return r.setRate(ctx, to, 0, to.Text()+", "+why)
}

func (r *Run) setRate(ctx context.Context, to pacer.Rate, over time.Duration, what string) (Change, error) {
	switch {
	case r.Spec.Seated():
		return Change{}, fmt.Errorf("set-rate %s: %w", r.Name, ErrSeated)
	case r.Spec.Max:
		return Change{}, fmt.Errorf("set-rate %s: %w", r.Name, ErrNoRate)
	}
	if over != 0 && (over < MinRamp || over > MaxRamp) {
		return Change{}, fmt.Errorf("--over: give a time from %v to %v, such as 30s", MinRamp, MaxRamp)
	}
	if r.Spec.HasLimiter() {
		s, err := r.State(ctx)
		if err == nil {
			err = r.Spec.CheckChange("set-rate", r.Name, to, s.burst, over)
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
		if !errors.Is(err, ErrChanged) {
			return c, err
		}
	}
}

// SetBurst changes the burst of the run's limiter, from the next grant on. What is granted already stays.
func (r *Run) SetBurst(ctx context.Context, to int64) (Change, error) {
	switch {
	case to < 1 || to > spec.MaxBurst:
		return Change{}, fmt.Errorf("set-burst %s: give a number from 1 to %d", r.Name, spec.MaxBurst)
	case !r.Spec.HasLimiter():
		return Change{}, fmt.Errorf("set-burst %s: %w: it has only the schedule, which has no burst; "+
			"create the run with --burst, or with another --limiter", r.Name, spec.ErrLimiter)
	case !r.Spec.LimiterSettings().Bursts:
		return Change{}, fmt.Errorf("set-burst %s: %w: --limiter %s counts in windows; change the rate with loadctl set-rate", r.Name, spec.ErrLimiter, r.Spec.Limiter)
	}
	s, err := r.State(ctx)
	if err == nil {
		err = r.Spec.CheckChange("set-burst", r.Name, s.newest(), to, 0)
	}
	if err != nil {
		return Change{}, err
	}
	return r.command(ctx, "set-burst", fmt.Sprintf("burst of %d", to), strconv.FormatInt(to, 10), 0)
}

// The bounds of a ramp's length, and how often a ramp is computed again if the rate it begins with has changed. With
// stages shorter than a round trip it always has. Then the last try begins with a rate that is a little old.
const (
	MinRamp   = time.Millisecond
	MaxRamp   = spec.MaxDuration
	rampTries = 20
)

// rampTo returns a line from one rate to another, and then that rate without an end.
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

// rateNow returns the rate in force: exact for a constant rate, to a thousandth in a ramp. While the schedule's clock
// stands still it is the rate to go on with.
func (s *State) rateNow() pacer.Rate {
	if len(s.laws) == 0 || s.Phase == "paused" {
		return s.first
	}
	return rateOf(s.current(), s.now.UnixMicro())
}

// newest returns the rate last set in a run without ramps. It may be in force only in a moment.
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

// Start begins a waiting run with the present workers. If there are none, the run begins with the first that joins.
// The time of the Change is the run's first t0, if that is known in time.
func (r *Run) Start(ctx context.Context) (Change, error) {
	c, err := r.command(ctx, "start", "", "", 0)
	for deadline := time.Now().Add(commandDelay); err == nil && c.Changed && c.At.IsZero() && time.Now().Before(deadline); {
		select { // the workers are woken, and the next call of one begins the run
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
		var us int64
		us, err = r.StartedAt(ctx)
		c.At = TimeOf(us)
	}
	if err == nil {
		_ = r.Relist(ctx) // the run does not depend on it
	}
	return c, err
}

// Pause stops the schedule's clock: no slot is due until Resume. Workers, connections and statistics stay.
func (r *Run) Pause(ctx context.Context) (Change, error) { return r.command(ctx, "pause", "", "", 0) }

// PauseFor is Pause, with a reason for the run's events.
func (r *Run) PauseFor(ctx context.Context, why string) (Change, error) {
	return r.command(ctx, "pause", why, "", 0)
}

// Scale makes the run send some millionths of its plan's rates, 1 to 1,000,000, with a reason for its events. The plan goes
// on. Another rate ends that. after is the last law of a command by the State from which the factor follows. If another
// command has come since, nothing changes, and the error is ErrChanged.
func (r *Run) Scale(ctx context.Context, factor, after int64, why string) (Change, error) {
	return r.command(ctx, "scale", report.ScaledText(factor, why), strconv.FormatInt(factor, 10), after)
}

// Cap makes the run send at most some millionths of its plan's rates, as Scale, and bars Scale from more. It never raises a
// rate. Another rate ends that.
func (r *Run) Cap(ctx context.Context, factor int64, why string) (Change, error) {
	return r.command(ctx, "cap", report.ScaledText(factor, why), strconv.FormatInt(factor, 10), 0)
}

// Resume goes on where Pause stopped, without a burst. The planned end moves by the length of the pause.
func (r *Run) Resume(ctx context.Context) (Change, error) {
	return r.command(ctx, "resume", "", "", 0)
}

// Touch notes in the run that a controller is there, so that its Deadman does not stop it. Nothing else changes. A run
// that is over stays as it is.
func (r *Run) Touch(ctx context.Context) error {
	_, err := r.command(ctx, "touch", "", "", 0)
	return err
}

// Deadman is Touch, and sets the run's dead-man's switch, whatever its spec says: the run is stopped after this time
// without a call of loadctl.
func (r *Run) Deadman(ctx context.Context, silence time.Duration) error {
	if silence < spec.MinDeadman || silence > spec.MaxDeadman {
		return fmt.Errorf("deadman %s: give a time from %v to %v", r.Name, spec.MinDeadman, spec.MaxDeadman)
	}
	_, err := r.command(ctx, "deadman", "", strconv.FormatInt(silence.Microseconds(), 10), 0)
	return err
}

// commandDelay is how long it normally takes until all workers have received a command.
const commandDelay = 500 * time.Millisecond

// Pending is a member that may still send after a stop.
type Pending struct {
	ID     string        // empty: members that Redis has forgotten
	Silent bool          // it has not called since the stop
	Lease  time.Duration // how much longer it may send if it is cut off; 0 = not at all
}

// ErrVanished says that Redis lost the run, or that somebody removed it, while Stop waited. Its workers can send nothing
// any more.
var ErrVanished = fmt.Errorf("%w any more: Redis lost it while this waited, or somebody removed it; its workers can send nothing any more, and its report is lost", ErrNoRun)

// ErrUnconfirmed says that a run was stopped, but that a member may send without end.
var ErrUnconfirmed = errors.New("cannot be confirmed")

// Stop ends the run: workers drop everything not yet written. It returns when each member has confirmed that, or its
// lease is over. It waits some seconds for a silent member whose lease has no end (spec.LossHold). Then it returns
// an ErrUnconfirmed. If the run vanishes, it waits for the leases of before, and returns ErrVanished. waiting is called
// when the members that it waits for change; it may be nil.
func (r *Run) Stop(ctx context.Context, waiting func([]Pending)) (Change, error) {
	c, err := r.command(ctx, "stop", "", "", 0)
	// A run that ended by itself may have requests that wait for a connection.
	if err != nil && !errors.Is(err, ErrOver) {
		return c, err
	}
	reported, began, lost := "", time.Now(), time.Time{}
	for {
		// Taken before the reading: a slow machine may need long for it, and would call a silent worker one that has called.
		waited := time.Since(began)
		s, err := r.Presence(ctx)
		if err != nil {
			return c, err
		}
		// A failover has forgotten the stop, or a worker restored the run.
		if s.Phase == "waiting" || s.Phase == "running" || s.Phase == "paused" {
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
		case s.Phase == "" && forgotten <= 0:
			return c, fmt.Errorf("stop %s: %w", r.Name, ErrVanished)
		case len(those) == 0 && forgotten <= 0 && !s.now.Before(c.At):
			return c, r.unconfirmed(unsure)
		case forgotten > 0:
			those = append(those, Pending{Silent: true, Lease: forgotten})
		}
		if text := fmt.Sprint(who(those)); waiting != nil && text != reported && waited > commandDelay {
			waiting(those)
			reported = text
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return c, fmt.Errorf("stop %s: still waiting for %d workers: %w", r.Name, len(those), context.Cause(ctx))
		}
	}
}

// Abort stops the run at once for a reason, and does not wait for its workers. A second call does nothing.
func (r *Run) Abort(ctx context.Context, why string) (Change, error) {
	return r.send(ctx, NewID(), "stop", why, "", 0)
}

// forgotten returns how much longer workers unknown to Redis may send. Either Redis has lost the run, since lost
// (zero = it has not). Or the run was lost or failed over, and somebody may still claim ranges.
func (s *State) forgotten(asked spec.Spec, lost time.Time) time.Duration {
	lateness := max(asked.MaxLag, asked.CatchUp)
	switch {
	case !s.unclaimed.IsZero():
		return s.unclaimed.Add(lateness).Sub(s.now)
	case !lost.IsZero():
		return min(asked.Hold(), spec.MaxPermitFor) + lateness - time.Since(lost)
	}
	return 0
}

// who returns the members without their remaining times.
func who(those []Pending) []Pending {
	those = slices.Clone(those)
	for i := range those {
		those[i].Lease = 0
	}
	return those
}

// unconfirmed returns the error that members may send without end.
func (r *Run) unconfirmed(those []string) error {
	if len(those) == 0 {
		return nil
	}
	names := strings.Join(those, " ")
	return fmt.Errorf("stop %s: %w for %s: it does not answer, and with --on-redis-loss hold it may send without end; "+
		"make sure that it is dead, then run loadctl workers rm %s %s", r.Name, ErrUnconfirmed, names, r.Name, names)
}

// unfinished returns the workers that have not left with their last snapshot published. One that has, has sent
// everything.
func (r *Run) unfinished(ctx context.Context, workers []Worker, s *State) ([]Pending, error) {
	var those []Pending
	for _, w := range workers {
		if w.State == "left" {
			text, err := r.Client.HGet(ctx, r.Keys.Totals, w.Process()).Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, Explain("stop", r.Name, err)
			}
			var total record.Snapshot
			if err == nil && total.UnmarshalBinary(text) == nil && total.Final {
				continue
			}
		}
		p := Pending{ID: w.ID, Silent: w.State != "left" && s.now.Sub(w.LastSeen) >= commandDelay}
		if p.Silent && r.Spec.Permit() < spec.HoldLease {
			p.Lease = max(0, w.leaseEnd.Sub(s.now))
		}
		those = append(those, p)
	}
	return those, nil
}
