package pacer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/outage"
)

// Sink takes what was leased. Its methods are called by the Leaser's goroutine and must not block.
type Sink interface {
	// Lease hands over a range. Ranges come in the order they were granted.
	Lease(Range)
	// Notice tells what holds from now on for all ranges; it replaces the one before. It comes before any range of a later
	// generation.
	Notice(Notice)
}

// How a Leaser's Run ends.
var (
	ErrEnded    = errors.New("the run has ended")
	ErrStopped  = errors.New("the run was stopped")
	ErrNoState  = errors.New("the run does not exist any more")
	ErrReplaced = errors.New("another process has taken this worker's id; give each worker an --id of its own")
)

// The defaults of the lease protocol; docs/adr has the measurements behind them.
const (
	DefaultHorizon = 500 * time.Millisecond // H: how far ahead a slot may be leased
	DefaultTTL     = time.Second            // silence after which a member's share goes to the others
	DefaultQmax    = 10_000                 // calls per second that all members together make at most
	minRefresh     = 5 * time.Millisecond
	callTimeout    = 250 * time.Millisecond // of one call, at first
	maxTimeout     = 4 * time.Second
	lastChance     = time.Second        // for the outcome of a call when the worker is to end
	maxRTT         = int64(time.Second) // of one round trip: what is longer was a freeze, and no distance
)

// Leaser keeps a Sink supplied with slots ahead of time. It is the only caller of its Limiter, so Redis
// is never on the send path: what is due now was leased some hundred milliseconds ago.
//
// It asks for time, not for a count ("cover me up to now + H"), at most 0.3·H more at a call, so that
// members that begin together share each frame; more only where calls are so far apart that this could not keep up. Covered, it calls every 0.19·H; the number of calls depends on
// members, not on the rate.
type Leaser struct {
	Limiter     Limiter
	Sink        Sink
	Clock       *Clock
	Worker      string
	Incarnation string          // one process's life
	Weight      int64           // its part of the rate is Weight / sum of weights; 0 means 1
	Horizon     time.Duration   // H until a reply has told it; 0 = DefaultHorizon
	Qmax        int64           // 0 = DefaultQmax
	Wake        <-chan struct{} // a hint that the run has changed; may be nil
	Observe     func(Reply)     // called with each reply; may be nil
	Log         *slog.Logger    // nil = none

	// Restore is called when the run's state is gone, and again until it is there; ErrNoState says that it was removed on purpose, or that another run has its name. nil: wait
	// for another worker who restores it.
	Restore func(context.Context, Known) error

	// Reassert is called once when a server has forgotten a change of the rate or a pause, with what was known before and the generation that is
	// granted instead; may be nil.
	Reassert func(ctx context.Context, known Known, granted int64) error

	seq, ack  int64
	covered   int64 // up to when slots were asked for under the newest generation, µs
	known     Known
	standby   Permit // the newest
	ending    Permit // one in force that gives way to leased slots at its end
	members   int64
	rtt       RoundTrip
	before    *Known // what was known when the server was found to have forgotten something; nil = it has not
	suspect   bool   // the last reply said so
	forgotten int64  // since when the run has no state, ns of the local clock; 0 = it has
	rand      *rand.Rand
	failures  outage.Series
}

// Run leases until the run is over (one of the errors above) or ctx ends (its cause). When it returns
// no call is outstanding: everything that was granted is with the Sink, unless Redis cannot be reached any more.
func (l *Leaser) Run(ctx context.Context) error {
	l.defaults()
	for {
		reply, err := l.call(ctx)
		if err != nil {
			return err
		}
		if err := l.take(ctx, reply); err != nil {
			return err
		}
		if err := l.sleep(ctx, reply.Next); err != nil {
			return err
		}
	}
}

func (l *Leaser) defaults() {
	if l.Weight == 0 {
		l.Weight = 1
	}
	if l.Horizon == 0 {
		l.Horizon = DefaultHorizon
	}
	if l.Qmax == 0 {
		l.Qmax = DefaultQmax
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	h := fnv.New64a()
	h.Write([]byte(l.Worker + "/" + l.Incarnation))
	l.rand = rand.New(rand.NewPCG(h.Sum64(), 0))
	l.members = 1
}

// spacing is N/Qmax, how far apart the calls of one member must be.
func (l *Leaser) spacing() time.Duration {
	return time.Duration(l.members) * time.Second / time.Duration(l.Qmax)
}

// refresh is how long after a reply the next call may follow.
func (l *Leaser) refresh(h time.Duration) time.Duration {
	return min(max(2*time.Duration(l.rtt.srtt), l.spacing(), minRefresh), h/3)
}

// call makes one call and, as long as its outcome is not known, the same one again: the sequence number makes that harmless. After
// ctx has ended it still waits for the outcome, for at most a second, because what was granted must be sent.
func (l *Leaser) call(ctx context.Context) (Reply, error) {
	l.seq++
	now := l.Clock.Redis(l.Clock.Now()) / 1000
	h := l.Horizon
	step := max(3*h/10, 3*(time.Duration(l.rtt.srtt)+l.refresh(h))/2)
	until := min(now+h.Microseconds(), max(l.covered, now)+step.Microseconds())
	ask := Ask{Worker: l.Worker, Incarnation: l.Incarnation, Seq: l.seq, Ack: l.ack, Until: until, Weight: l.Weight, RTTHi: l.rtt.Hi() / 1000,
		PhiHeld: l.standby.Phi(), Leased: l.known.Leased, Known: l.known.highest()}
	trying, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastChance, giveUp) })()
	// A call on a new connection takes up to four round trips. Before the first reply none is known, and the patience doubles.
	for pause, patience := minRefresh, callTimeout; ; pause = min(2*pause, callTimeout) {
		if l.ack > 0 {
			patience = l.patience()
		}
		limit, cancel := context.WithTimeout(trying, patience)
		patience = min(2*patience, maxTimeout)
		sent := l.Clock.Now()
		reply, err := l.Limiter.Lease(limit, ask)
		cancel()
		if err == nil {
			l.received(sent, &reply)
			l.covered = until
			return reply, nil
		}
		l.trouble(err)
		select {
		case <-time.After(pause):
		case <-trying.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// patience is how long to wait for the answer to a call.
func (l *Leaser) patience() time.Duration { return max(callTimeout, time.Duration(4*l.rtt.Hi())) }

// received learns from a reply how far away Redis is, and what time it is there.
func (l *Leaser) received(sent int64, reply *Reply) {
	now := l.Clock.Now()
	trip := min(now-sent, maxRTT)
	usual := trip
	if l.rtt.srtt > 0 { // by those before: this one may be late itself
		usual = l.rtt.Hi()
	}
	l.rtt.Add(trip)
	if reply.Time > 0 && l.Clock.Sample(sent, now, reply.Time) {
		l.Log.Warn("clock stepped", "offset", time.Duration(l.Clock.Redis(0)))
	}
	if reply.Status != StatusNoState {
		l.trouble(nil)
	}
	if reply.Range.At > 0 {
		reply.Range.At = l.comes(reply.LeasedAt, l.Clock.Redis(now)/1000, usual/1000)
	}
}

// comes is the time before which no slot is due that was granted at leased, came now and was to take as long as round trips usually do, µs. So
// a far Redis does not make what it grants late. What takes longer is late; and where a permit has begun meanwhile, what is sent on that is sent in
// the place of these slots, which therefore are due at its beginning at the latest.
func (l *Leaser) comes(leased, now, usual int64) int64 {
	at := min(max(leased, now), leased+usual)
	if l.standby.Phi() > 0 {
		at = min(at, l.standby.From)
	}
	return at
}

// trouble reports the first failure of a series, each of another kind, and its end.
func (l *Leaser) trouble(err error) {
	switch {
	case err == nil:
		if l.failures.Over() {
			l.Log.Info("leasing again")
		}
	case !l.failures.Failed(err):
	case l.standby.Phi() > 0:
		l.Log.Warn("no lease; sending what is held, then by itself, and trying again", "err", err,
			"by itself per second", float64(l.standby.Phi())/phaseUnit, "for", l.left(l.standby.Until))
	default:
		l.Log.Warn("no lease; sending what is held and trying again", "err", err)
	}
}

// left is how long it is until a time of the Redis clock, µs.
func (l *Leaser) left(until int64) string {
	left := time.Duration(until*1000 - l.Clock.Redis(l.Clock.Now()))
	if left > 365*24*time.Hour {
		return "ever"
	}
	return max(0, left).Round(100 * time.Millisecond).String()
}

// take acts upon a reply. Recalls go first: a range may belong to the generation that caused them.
func (l *Leaser) take(ctx context.Context, r Reply) error {
	if l.Observe != nil {
		l.Observe(r)
	}
	switch r.Status {
	case StatusOK, StatusWait, StatusPaused, StatusStopped, StatusEnded:
	case StatusSuspect:
		l.ack, l.suspect = r.LeasedAt, true
		return nil
	case StatusStale:
		return nil // an answer to an old call: the next one has a new number
	case StatusNoState:
		return l.restore(ctx)
	case StatusReplaced:
		return ErrReplaced
	default:
		return fmt.Errorf("lease reply: status %q: this worker and the run's script do not fit together", r.Status)
	}
	if l.before == nil && l.known.forgotten(r.Recalls) {
		known := l.known
		l.before = &known
	}
	l.notice(r)
	l.reassert(ctx, r)
	if r.Range.N > 0 {
		l.Sink.Lease(r.Range)
	}
	switch r.Status {
	case StatusStopped:
		return ErrStopped
	case StatusEnded:
		return ErrEnded
	}
	return nil
}

// notice learns from a reply what holds from now on.
func (l *Leaser) notice(r Reply) {
	if l.forgotten > 0 {
		l.Log.Info("the run's state is there again")
	}
	l.ack, l.members, l.forgotten = r.LeasedAt, max(1, r.Members), 0
	l.suspect = r.Hand > 0 // tell it at once that this was heard: until then the others are held back
	if r.Horizon > 0 {
		l.Horizon = time.Duration(r.Horizon) * time.Microsecond
	}
	before := l.known.Recalls
	if l.known.learn(r) {
		l.covered = 0
	}
	for _, cut := range l.known.Recalls.since(before) { // what follows is asked for by the new law
		l.ending = l.ending.before(cut.T0)
	}
	if l.standby.From < r.Hand { // the server knows of the changes that came with it
		l.ending = l.standby.before(r.Hand)
	}
	if l.ending.Until <= r.Now {
		l.ending = Permit{} // or a clock that goes back would bring it back
	}
	l.standby = r.Permit
	n := Notice{Recalls: l.known.Recalls}
	for _, p := range []Permit{l.ending, l.standby} {
		if p.From < p.Until && p.Until > r.Now {
			n.Permits = append(n.Permits, p)
		}
	}
	l.Sink.Notice(n)
}

// sleep waits until it is time to ask again: soon while not covered, else 0.19·H after the last call, or when the script wishes, or when
// woken. The times vary by a twentieth, so that members do not fall into step, and stay below 0.2·H: in an outage the gap between leased
// slots and permits is as long as the oldest contact of any member is ago.
func (l *Leaser) sleep(ctx context.Context, next int64) error {
	h := l.Horizon
	now := l.Clock.Redis(l.Clock.Now())
	// One draw for both: the smaller of two would be too early on the average, and the fleet above Qmax.
	spread := 0.95 + l.rand.Float64()/10
	refresh := scale(l.refresh(h), spread)
	wait := max(minRefresh, scale(max(19*h/100, l.spacing()), spread)-time.Duration(l.rtt.srtt))
	if l.covered*1000 < now+int64(h-h/4) {
		wait = refresh
	}
	if lead := l.standby.From - l.ack; l.standby.From > 0 && lead*10 < 9*h.Microseconds() {
		wait = max(minRefresh, wait/2) // the promise moves by 0.2·H a call: it has to catch up
	}
	if l.suspect {
		wait = minRefresh
	}
	if next > 0 {
		wait = min(wait, max(refresh, time.Duration(next*1000-now)))
	}
	select {
	case <-time.After(wait):
	case <-l.Wake:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also where a wake came with it
		return context.Cause(ctx)
	}
	return nil
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
