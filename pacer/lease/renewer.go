package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/pacer"
)

// Server answers the calls of a Renewer.
type Server interface {
	Renew(context.Context, Call) (Reply, error)
}

// Sink stands for the shards of a worker. The Renewer's goroutine calls its methods. They must not block.
type Sink interface {
	// Take hands over a View, which replaces the one before.
	Take(*View)
	// Taken returns the oldest version that a shard goes by, and up to when a shard has looked for slots at most, in
	// µs of the Redis clock.
	Taken() (version int, reached int64)
}

// A Message was published about a run. It has new laws, or none. The worker should call when it receives one, unless it
// is Quiet.
type Message struct {
	Laws     []Law
	LawsOnly bool
}

// The times of calls.
const (
	attemptTimeout = 3 * time.Second        // of one attempt; the next ones begin earlier
	maxAttempts    = 7                      // at a time, so that no attempt waits for the end of another
	beatPeriod     = time.Second            // calls at this period go with a Beat: together they cost a server half as much
	firstPause     = 250 * time.Millisecond // from one attempt to the next
	maxPause       = 500 * time.Millisecond // or a period, if that is longer: Redis then gets as many calls as usual
	firstWait      = 100 * time.Millisecond // until the first reply says how long to wait
	maxRTT         = int64(time.Second)     // of one round trip: a longer one was a freeze
	leaveTimeout   = 6 * time.Second        // for handing over what a leaving worker holds: longer than most failovers and freezes
	lostLimit      = 10 * time.Second       // at most, for restoring a run that Redis has lost
	lostGrace      = 3 * time.Second        // after that, for another worker to restore it
	maxSilence     = 10 * time.Second       // from the last reply; then the worker ends if the run is over by its laws
)

// Renewer keeps a Sink supplied with what its worker is to send. Only the Renewer calls its Server, so no request
// waits for Redis: what is due now was leased up to ten seconds ago.
type Renewer struct {
	Server      Server
	Sink        Sink
	Clock       *pacer.Clock
	Worker      string
	Incarnation string // of one process
	Weight      int64  // the worker's part of the rate is Weight / sum of weights; 0 means 1

	Messages <-chan Message     // may be nil; a lost message delays a change, and does no other harm
	Beat     <-chan struct{}    // once a second, when the worker publishes: calls a second apart go with it; may be nil
	Changed  <-chan struct{}    // signals that Taken has changed
	Broken   <-chan struct{}    // when it closes, Run returns ErrHeld at once, unless ctx has ended; may be nil
	Drained  <-chan struct{}    // closes after a View that is Handed, when the Sink sends nothing any more
	Observe  func(Reply, *View) // called with each reply and the View after it; may be nil
	Log      *slog.Logger       // nil = none

	// Restore is called with the known laws when the run's state is gone, and again until the state is there. Without
	// laws it only finds out what became of the run. It returns pacer.ErrNoState if the run was removed on purpose,
	// or if another run has its name. nil: wait for another worker to restore the run.
	Restore func(context.Context, []Law) error

	holder     *Holder
	wait       time.Duration // until the next call
	pause      time.Duration // from the last attempt to the next
	called     int64         // when the last call was first made, ns
	answeredAt int64         // when the last OK reply came, or Run began, ns
	failing    [2]int64      // from the first to the last failed attempt of a series, ns
	trying     int           // attempts that have not come back
	answers    chan answer
	rtt        roundTrip
	version    int   // of the View that the Sink has
	urgent     bool  // make the next call at once
	lost       int64 // since when replies say NOSTATE, ns; 0 = they do not
	idle       bool  // the log has said that the lease has ended and Redis does not answer
	failures   outage.Series
	spread     bool // the next wait is a random part of wait
	rand       *rand.Rand
}

// answer is the result of one attempt of a call.
type answer struct {
	seq            int64
	sent, received int64
	reply          Reply
	err            error
}

// Run renews until one of these:
//   - The run is over: pacer.ErrEnded or pacer.ErrStopped.
//   - The run is over by its plan, but Redis does not answer: ErrSilence.
//   - The worker has lost its part in the run: pacer.ErrNoState or pacer.ErrReplaced.
//   - Broken closes: ErrHeld.
//   - ctx ends. Then Run hands over what the worker holds, for at most leaveTimeout. Until Drained closes, the worker
//     stays a member, so it receives commands and obeys them. Then Run returns ctx's cause.
//
// Call Leave next, when the Sink sends nothing any more.
func (r *Renewer) Run(ctx context.Context) error {
	r.defaults()
	calls, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	leaving, broken, done := ctx.Done(), r.Broken, (<-chan time.Time)(nil)
	next := time.After(0)
	for {
		select {
		case <-next:
			if ctx.Err() == nil && r.silent() {
				return ErrSilence
			}
			next = r.try(calls)
		case a := <-r.answers:
			r.trying--
			switch {
			case a.err != nil:
				r.failed(a.received)
				r.trouble(a.err)
			case r.holder.Waiting() && a.seq == r.holder.Call().Seq:
				if err := r.take(calls, a); err != nil {
					return err
				}
				next = time.After(r.until())
			}
			if r.holder.view.Handed {
				done = nil
			}
		case m := <-r.Messages:
			starts := r.holder.view.Laws.Newest() == nil // then the worker needs its share
			r.holder.Learn(m.Laws)
			r.publish()
			switch r.urgent = starts || !m.LawsOnly; {
			case r.holder.Waiting():
			case r.urgent, r.ends():
				next = time.After(r.until())
			}
		case <-r.Beat:
			if r.wait == beatPeriod && !r.holder.Waiting() && r.Clock.Now()-r.called >= int64(r.wait)/2 {
				next = time.After(0)
			}
		case <-r.Changed:
			if r.agreed() && !r.holder.Waiting() {
				next = time.After(0)
			}
		case <-leaving:
			leaving, done = nil, time.After(leaveTimeout)
			r.holder.Leave()
			if !r.holder.Waiting() {
				next = time.After(0)
			}
		case <-broken:
			if broken = nil; ctx.Err() == nil {
				return ErrHeld
			}
		case <-r.Drained:
			return context.Cause(ctx)
		case <-done:
			return errors.Join(ErrHeld, context.Cause(ctx))
		}
	}
}

// try makes the next call, or repeats the one that is not answered, and returns when the next attempt follows. The
// server knows a repeated call by its number. Earlier attempts may still be answered.
func (r *Renewer) try(ctx context.Context) <-chan time.Time {
	if !r.holder.Waiting() {
		r.pause, r.called = firstPause, r.Clock.Now()
	}
	c := r.holder.Call()
	if r.trying < maxAttempts {
		r.trying++
		go r.attempt(ctx, c)
	}
	most := max(maxPause, r.wait)
	wait := max(r.pause, min(r.rtt.timeout(), most)) // one frozen call makes the timeout long
	r.pause = min(2*r.pause, most)
	return time.After(r.jitter(wait))
}

// Leave notifies the server that this worker sends nothing any more that is due at reached or later, in µs of the Redis
// clock. Call it after Run has returned. It tries until the server answers or ctx ends.
// The Sink may get one more View, with the laws that the worker does not know.
func (r *Renewer) Leave(ctx context.Context, reached int64) error {
	r.holder.Halt(reached)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		r.attempt(ctx, r.holder.Call())
		again := false
		for n := len(r.answers); n > 0; n-- { // answers to Run's attempts come first
			if a := <-r.answers; a.err == nil && r.holder.Waiting() && a.seq == r.holder.Call().Seq {
				r.holder.Receive(r.now(), a.reply)
				if len(a.reply.Laws) > 0 { // no reply has brought them before
					r.publish()
				}
				if a.reply.Status != MustClaim && len(r.holder.View().Held) == 0 {
					return nil
				}
				again = a.reply.Status != NoState // another worker has to restore the state first
			}
		}
		if again {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var (
	// ErrHeld says that the worker could not hand over what it holds. It must send nothing any more.
	ErrHeld = errors.New("could not hand over this worker's ranges to other workers")
	// ErrSilence says that the run is over by its laws, and that Redis has not answered for so long that nobody will
	// confirm it.
	ErrSilence = errors.New("Redis does not answer, and the run's planned end is past") //nolint:staticcheck // a name

	errGone = errors.New("the server takes this worker for one that has left")
)

func (r *Renewer) defaults() {
	if r.Weight == 0 {
		r.Weight = 1
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Observe == nil {
		r.Observe = func(Reply, *View) {}
	}
	r.holder, r.wait = NewHolder(r.Worker, r.Incarnation, r.Weight), firstWait
	r.answeredAt, r.answers = r.Clock.Now(), make(chan answer, maxAttempts+1)
	r.rand = rand.New(rand.NewPCG(seed(r.Worker+"/"+r.Incarnation), 0))
}

// seed turns a text into a number, so that workers that begin together do not call together.
func seed(text string) (h uint64) {
	for _, b := range []byte(text) {
		h = h*1099511628211 ^ uint64(b)
	}
	return h
}

// jitter varies a time by up to 5 %, so that workers do not fall into step.
func (r *Renewer) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.95 + r.rand.Float64()/10))
}

func (r *Renewer) attempt(ctx context.Context, c Call) {
	limit, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	a := answer{seq: c.Seq, sent: r.Clock.Now()}
	a.reply, a.err = r.Server.Renew(limit, c)
	a.received = r.Clock.Now()
	r.answers <- a
}

// take handles a reply.
func (r *Renewer) take(ctx context.Context, a answer) error {
	trip := min(a.received-a.sent, maxRTT)
	r.rtt.add(trip)
	if a.reply.Now > 0 && r.Clock.Sample(a.sent, a.received, a.reply.Now) {
		r.Log.Warn("the clock stepped; corrected", "offset", time.Duration(r.Clock.Redis(0)))
	}
	if a.reply.Status != NoState {
		r.trouble(nil)
	}
	r.wait, r.urgent = max(time.Duration(a.reply.Wait)*time.Microsecond, firstWait), r.holder.Receive(r.now(), a.reply)
	r.publish()
	v := r.holder.View()
	r.Observe(a.reply, &v)
	switch a.reply.Status {
	case OK:
		r.answeredAt = a.received
		if r.lost != 0 {
			r.lost = 0
			r.Log.Info("the run's state is restored")
		}
		return r.over()
	case MustClaim, Stale:
	case NoState:
		return r.restore(ctx)
	case Replaced:
		return pacer.ErrReplaced
	case Gone:
		return errGone
	default:
		return fmt.Errorf("lease reply: status %q: unknown; use the same version for all workers and for loadctl", a.reply.Status)
	}
	return nil
}

// silent reports whether the run is over by its laws and Redis has been silent too long to say so. Without a planned
// end it is never true. A process that slept has received nothing either: so attempts must have failed for some time.
func (r *Renewer) silent() bool {
	return r.Clock.Now()-r.answeredAt > int64(maxSilence) && r.failing[1]-r.failing[0] >= int64(attemptTimeout) && r.holder.view.Laws.Over(r.now())
}

// failed notes when an attempt failed. After a gap, in which the process slept, a new series begins.
func (r *Renewer) failed(at int64) {
	if r.failing[0] < r.answeredAt || at-r.failing[1] > 2*int64(attemptTimeout) {
		r.failing[0] = at
	}
	r.failing[1] = at
}

// over returns how the run ended; nil if it goes on.
func (r *Renewer) over() error {
	n := r.holder.view.Laws.Newest()
	if n == nil || n.T0 > r.now() {
		return nil
	}
	switch n.Phase {
	case Stopped:
		return pacer.ErrStopped
	case Ended:
		return pacer.ErrEnded
	}
	return nil
}

// restore restores the run if this worker may, or waits for another worker to do so. Once the lease is over it is
// too late: the run may have been stopped and removed. A little later the worker gives the run up.
func (r *Renewer) restore(ctx context.Context) error {
	now := r.Clock.Now()
	if r.lost == 0 {
		r.lost = now
		r.Log.Warn("Redis has lost the run's state; " + r.meanwhile() + "waiting for a worker to restore it")
	}
	over := max(r.lost, min(r.Clock.Local(r.holder.view.P*1000), r.lost+int64(lostLimit)))
	laws := r.holder.view.Laws.All()
	if now >= over {
		laws = nil
	}
	var err error
	if r.Restore != nil {
		limit, cancel := context.WithTimeout(ctx, attemptTimeout)
		err = r.Restore(limit, laws)
		cancel()
	}
	if errors.Is(err, pacer.ErrNoState) || now > over+int64(lostGrace) {
		return pacer.ErrNoState
	}
	if r.wait = firstWait; err != nil {
		r.trouble(err)
	}
	return nil
}

// now is the time in µs of the Redis clock.
func (r *Renewer) now() int64 { return r.Clock.Redis(r.Clock.Now()) / 1000 }

// until returns how long to wait before the next call.
func (r *Renewer) until() time.Duration {
	if r.urgent {
		r.urgent, r.spread = false, true
		return 0
	}
	wait := r.jitter(r.wait)
	if r.spread { // a message made all workers call at once: from now on they call at different times again
		r.spread = false
		wait = time.Duration(float64(r.wait) * (0.1 + 0.9*r.rand.Float64()))
	}
	// The beat comes first. Calls that are less frequent do not wait for it.
	if r.Beat != nil && r.wait == beatPeriod {
		wait += r.wait / 4
	}
	if r.ends() { // call again as soon as it ends
		wait = min(wait, max(0, time.Duration(r.holder.view.Laws.Newest().T0-r.now())*time.Microsecond)+time.Millisecond)
	}
	return wait
}

// ends reports whether it is known when the run is over.
func (r *Renewer) ends() bool {
	n := r.holder.view.Laws.Newest()
	return n != nil && n.Phase >= Stopped
}

// publish hands the View to the Sink if it is new.
func (r *Renewer) publish() {
	if v := r.holder.View(); v.Version != r.version {
		r.version = v.Version
		r.Sink.Take(&v)
	}
}

// agreed takes note of the View that the shards go by. It reports whether there is a range to release.
func (r *Renewer) agreed() (release bool) {
	version, reached := r.Sink.Taken()
	release = r.holder.Agreed(version, r.now(), reached)
	r.publish()
	return release
}

// trouble logs the first failure of a series, each other kind of failure, and the end of the series.
func (r *Renewer) trouble(err error) {
	switch {
	case err == nil:
		r.idle = false
		if r.failures.Over() {
			r.Log.Info("Redis answers again")
		}
	case r.now() >= r.holder.view.P && len(r.holder.view.Held) > 0 && !r.idle:
		r.idle = true
		_ = r.failures.Failed(err)
		r.Log.Warn("the lease has ended and Redis does not answer; nothing is sent until it does", "err", err)
	case r.failures.Failed(err):
		left := max(0, time.Duration(r.holder.view.P-r.now())*time.Microsecond).Round(100 * time.Millisecond)
		r.Log.Warn("Redis does not answer; "+r.meanwhile()+"trying again", "err", err, "leased for", left)
	}
}

// meanwhile says what the worker does without Redis, for a log line. It is "" for a worker that holds nothing.
func (r *Renewer) meanwhile() string {
	switch {
	case len(r.holder.view.Held) == 0:
		return ""
	case r.now() < r.holder.view.P:
		return "the lease holds until it ends; "
	}
	return "nothing is sent, as the lease has ended; "
}
