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

// Server is where a Renewer calls.
type Server interface {
	Renew(context.Context, Call) (Reply, error)
}

// Sink is the shards of a worker. Its methods are called by the Renewer's goroutine and must not block.
type Sink interface {
	// Take hands over what holds from now on; it replaces the View before.
	Take(*View)
	// Taken is the oldest Version that a shard goes by, and up to when one has looked for slots at most, µs of the Redis clock.
	Taken() (version int, reached int64)
}

// A Message is what was published about a run: laws that are new, maybe none. Whoever hears it should call, unless it says Quiet.
type Message struct {
	Laws  []Law
	Quiet bool
}

// The times of calls.
const (
	attemptTimeout = 3 * time.Second        // of one attempt; others begin before that
	mostAttempts   = 5                      // at a time: none has to wait for the end of another
	firstPause     = 250 * time.Millisecond // from one attempt to the next
	maxPause       = time.Second
	firstWait      = 100 * time.Millisecond // until a reply has told another
	maxRTT         = int64(time.Second)     // of one round trip: what is longer was a freeze, and no distance
	leaveWithin    = 3 * time.Second        // for handing over what a worker holds that leaves
)

// Renewer keeps a Sink supplied with what its worker is to send. It is the only caller of its Server, so Redis is never on the send path: what is
// due now was promised up to ten seconds ago.
type Renewer struct {
	Server      Server
	Sink        Sink
	Clock       *pacer.Clock
	Worker      string
	Incarnation string // one process's life
	Weight      int64  // its part of the rate is Weight / sum of weights; 0 means 1

	Messages <-chan Message  // may be nil; a lost one costs time, not truth
	Changed  <-chan struct{} // signals that Taken has changed
	Observe  func(Reply)     // called with each reply; may be nil
	Log      *slog.Logger    // nil = none

	// Restore is called when the run's state is gone, with the laws known, and again until it is there; pacer.ErrNoState says that it was removed on purpose, or that
	// another run has its name. nil: wait for another worker who restores it.
	Restore func(context.Context, []Law) error

	holder   *Holder
	wait     time.Duration // until the next call
	pause    time.Duration // from the last attempt to the next
	trying   int           // attempts that have not come back
	answers  chan answer
	rtt      pacer.RoundTrip
	version  int  // of the View that the Sink has
	urgent   bool // the next call is to be made at once
	lost     bool // the last reply said that there is no state
	failures outage.Series
	rand     *rand.Rand
}

// answer is what came of an attempt of a call.
type answer struct {
	seq            int64
	sent, received int64
	reply          Reply
	err            error
}

// Run renews until the run is over (pacer.ErrEnded, pacer.ErrStopped), the worker has lost its part in it (pacer.ErrNoState, pacer.ErrReplaced), or ctx ends: then it
// hands over what it holds, for at most leaveWithin, and returns ctx's cause. The Sink may have slots that are due soon when it returns.
func (r *Renewer) Run(ctx context.Context) error {
	r.defaults()
	calls, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	leaving, done := ctx.Done(), (<-chan time.Time)(nil)
	next := time.After(0)
	for {
		select {
		case <-next:
			next = r.try(calls)
		case a := <-r.answers:
			r.trying--
			switch {
			case a.err != nil:
				r.trouble(a.err)
			case r.holder.Waiting() && a.seq == r.holder.Call().Seq:
				if err := r.take(calls, a); err != nil {
					return ending(ctx, err)
				}
				next = time.After(r.until())
			}
		case m := <-r.Messages:
			r.holder.Learn(m.Laws)
			r.publish()
			if r.urgent = !m.Quiet; r.urgent && !r.holder.Waiting() {
				next = time.After(0)
			}
		case <-r.Changed:
			if r.agreed() && !r.holder.Waiting() {
				next = time.After(0)
			}
		case <-leaving:
			leaving, done = nil, time.After(leaveWithin)
			r.holder.Leave()
			if !r.holder.Waiting() {
				next = time.After(0)
			}
		case <-done:
			return errors.Join(ErrHeld, context.Cause(ctx))
		}
	}
}

// try makes the call that is to be made, or makes it again, and returns when the next attempt is to follow if this is not answered: the same
// call again, for the server knows it by its number. Those before may still be answered.
func (r *Renewer) try(ctx context.Context) <-chan time.Time {
	if !r.holder.Waiting() {
		r.pause = firstPause
	}
	c := r.holder.Call()
	if r.trying < mostAttempts {
		r.trying++
		go r.attempt(ctx, c)
	}
	wait := max(r.pause, time.Duration(4*r.rtt.Hi()))
	r.pause = min(2*r.pause, max(maxPause, r.wait))
	return time.After(r.spread(wait))
}

// Leave tells the server that this worker sends nothing any more that is due at the time reached or later, µs of the Redis clock. Call it when Run has returned. It
// tries until it is heard or ctx ends.
func (r *Renewer) Leave(ctx context.Context, reached int64) error {
	r.holder.Halt(reached)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		r.attempt(ctx, r.holder.Call())
		again := false
		for n := len(r.answers); n > 0; n-- { // those of Run come first
			if a := <-r.answers; a.err == nil && r.holder.Waiting() && a.seq == r.holder.Call().Seq {
				r.holder.Heard(r.now(), a.reply)
				if again = a.reply.Status == MustClaim || len(r.holder.View().Held) > 0; !again {
					return nil
				}
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

// ending is how Run ends: by what was asked of it, if it has left for that.
func ending(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, errGone) {
		return context.Cause(ctx)
	}
	return err
}

var (
	// ErrHeld says that what the worker holds could not be handed over: it is to send nothing any more.
	ErrHeld = errors.New("could not hand over what it holds")
	errGone = errors.New("the worker has left") // the server has seen it off
)

func (r *Renewer) defaults() {
	if r.Weight == 0 {
		r.Weight = 1
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Observe == nil {
		r.Observe = func(Reply) {}
	}
	r.holder, r.wait = NewHolder(r.Worker, r.Incarnation, r.Weight), firstWait
	r.answers = make(chan answer, mostAttempts+1)
	r.rand = rand.New(rand.NewPCG(seed(r.Worker+"/"+r.Incarnation), 0))
}

// seed is a number of a text: workers that begin together do not call together.
func seed(text string) (h uint64) {
	for _, b := range []byte(text) {
		h = h*1099511628211 ^ uint64(b)
	}
	return h
}

// spread varies a time by a twentieth, so that workers do not fall into step.
func (r *Renewer) spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.95 + r.rand.Float64()/10))
}

// attempt makes a call once.
func (r *Renewer) attempt(ctx context.Context, c Call) {
	limit, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	a := answer{seq: c.Seq, sent: r.Clock.Now()}
	a.reply, a.err = r.Server.Renew(limit, c)
	a.received = r.Clock.Now()
	r.answers <- a
}

// take acts upon a reply.
func (r *Renewer) take(ctx context.Context, a answer) error {
	trip := min(a.received-a.sent, maxRTT)
	r.rtt.Add(trip)
	if a.reply.Now > 0 && r.Clock.Sample(a.sent, a.received, a.reply.Now) {
		r.Log.Warn("clock stepped", "offset", time.Duration(r.Clock.Redis(0)))
	}
	if a.reply.Status != NoState {
		r.trouble(nil)
	}
	r.Observe(a.reply)
	r.wait, r.urgent = max(time.Duration(a.reply.Wait)*time.Microsecond, firstWait), r.holder.Heard(r.now(), a.reply)
	r.publish()
	switch a.reply.Status {
	case OK:
		if r.lost {
			r.lost = false
			r.Log.Info("the run's state is there again")
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
		return fmt.Errorf("lease reply: status %q: this worker and the run's script do not fit together", a.reply.Status)
	}
	return nil
}

// over is how the run ended, if it has.
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

// restore makes the run anew, where this worker may.
func (r *Renewer) restore(ctx context.Context) error {
	if !r.lost {
		r.lost = true
		r.Log.Warn("Redis has lost the run's state; sending what is held, and waiting for it")
	}
	laws := r.holder.view.Laws.All()
	if r.Restore == nil || len(laws) == 0 {
		return nil
	}
	err := r.Restore(ctx, laws)
	if errors.Is(err, pacer.ErrNoState) {
		return err
	}
	if r.urgent = err == nil; err != nil {
		r.trouble(err)
	}
	return nil
}

// now is the time, µs of the Redis clock.
func (r *Renewer) now() int64 { return r.Clock.Redis(r.Clock.Now()) / 1000 }

// until is how long to wait before the next call.
func (r *Renewer) until() time.Duration {
	if r.urgent {
		r.urgent = false
		return 0
	}
	wait := r.spread(r.wait)
	if n := r.holder.view.Laws.Newest(); n != nil && n.Phase >= Stopped { // it is to be heard of when it is
		wait = min(wait, max(0, time.Duration(n.T0-r.now())*time.Microsecond)+time.Millisecond)
	}
	return wait
}

// publish hands the View to the Sink, if it is a new one.
func (r *Renewer) publish() {
	if v := r.holder.View(); v.Version != r.version {
		r.version = v.Version
		r.Sink.Take(&v)
	}
}

// agreed is told that shards have taken up a View. It returns true if there is a piece to release.
func (r *Renewer) agreed() (release bool) {
	version, reached := r.Sink.Taken()
	release = r.holder.Agreed(version, r.now(), reached)
	r.publish()
	return release
}

// trouble reports the first failure of a series, each of another kind, and its end.
func (r *Renewer) trouble(err error) {
	switch {
	case err == nil:
		if r.failures.Over() {
			r.Log.Info("Redis answers again")
		}
	case r.failures.Failed(err):
		left := max(0, time.Duration(r.holder.view.P-r.now())*time.Microsecond).Round(100 * time.Millisecond)
		r.Log.Warn("Redis does not answer; sending what is held, and trying again", "err", err, "for at most", left)
	}
}
