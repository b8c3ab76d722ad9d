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
	beating        = time.Second            // the period at which calls go with a Beat: together they cost a server half as much
	firstPause     = 250 * time.Millisecond // from one attempt to the next
	maxPause       = time.Second
	firstWait      = 100 * time.Millisecond // until a reply has told another
	maxRTT         = int64(time.Second)     // of one round trip: what is longer was a freeze, and no distance
	leaveWithin    = 3 * time.Second        // for handing over what a worker holds that leaves
	lostLimit      = 10 * time.Second       // for restoring a run that Redis has lost, at most
	lostPatience   = 3 * time.Second        // after that, for another worker that restores it
	silence        = 10 * time.Second       // that is not waited out once the run is over by its laws
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

	Messages <-chan Message     // may be nil; a lost one costs time, not truth
	Beat     <-chan struct{}    // the worker publishes, once a second: calls a second apart go with it; may be nil
	Changed  <-chan struct{}    // signals that Taken has changed
	Broken   <-chan struct{}    // closed when the Sink cannot go on: Run returns ErrHeld at once, but where ctx has ended too; may be nil
	Observe  func(Reply, *View) // called with each reply and what holds by it; may be nil
	Log      *slog.Logger       // nil = none

	// Restore is called when the run's state is gone, with the laws known, and again until it is there. Without laws it is only to find out what became of
	// the run. pacer.ErrNoState says that it was removed on purpose, or that another run has its name. nil: wait for another worker who restores it.
	Restore func(context.Context, []Law) error

	holder   *Holder
	wait     time.Duration // until the next call
	pause    time.Duration // from the last attempt to the next
	called   int64         // when the last call was made for the first time, ns
	heard    int64         // when the last reply came that the run goes on, or Run began, ns
	trying   int           // attempts that have not come back
	answers  chan answer
	rtt      roundTrip
	version  int   // of the View that the Sink has
	urgent   bool  // the next call is to be made at once
	lost     int64 // since when replies say that there is no state, ns; 0 = they do not
	idle     bool  // its promise has ended while Redis does not answer, and it was said
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

// Run renews until the run is over (pacer.ErrEnded, pacer.ErrStopped) or is so by its plan and nobody says it (ErrSilence), the worker has lost its part in it
// (pacer.ErrNoState, pacer.ErrReplaced), or ctx ends: then it hands over what it holds, for at most leaveWithin, and returns ctx's cause. The Sink may have
// slots that are due soon when it returns.
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
				r.trouble(a.err)
			case r.holder.Waiting() && a.seq == r.holder.Call().Seq:
				if err := r.take(calls, a); err != nil {
					return ending(ctx, err)
				}
				next = time.After(r.until())
			}
		case m := <-r.Messages:
			starts := r.holder.view.Laws.Newest() == nil // then it is to get its share
			r.holder.Learn(m.Laws)
			r.publish()
			switch r.urgent = starts || !m.Quiet; {
			case r.holder.Waiting():
			case r.urgent, r.ends():
				next = time.After(r.until())
			}
		case <-r.Beat:
			if r.wait == beating && !r.holder.Waiting() && r.Clock.Now()-r.called >= int64(r.wait)/2 {
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
		case <-broken:
			if broken = nil; ctx.Err() == nil {
				return ErrHeld
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
		r.pause, r.called = firstPause, r.Clock.Now()
	}
	c := r.holder.Call()
	if r.trying < mostAttempts {
		r.trying++
		go r.attempt(ctx, c)
	}
	wait := max(r.pause, r.rtt.patience())
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
	// ErrSilence says that the run is over by its laws, and that Redis has not answered for so long that nobody will tell.
	ErrSilence = errors.New("Redis has not answered for a long time, and the run's planned end is past") //nolint:staticcheck // a name

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
		r.Observe = func(Reply, *View) {}
	}
	r.holder, r.wait = NewHolder(r.Worker, r.Incarnation, r.Weight), firstWait
	r.heard, r.answers = r.Clock.Now(), make(chan answer, mostAttempts+1)
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
	r.rtt.add(trip)
	if a.reply.Now > 0 && r.Clock.Sample(a.sent, a.received, a.reply.Now) {
		r.Log.Warn("clock stepped", "offset", time.Duration(r.Clock.Redis(0)))
	}
	if a.reply.Status != NoState {
		r.trouble(nil)
	}
	r.wait, r.urgent = max(time.Duration(a.reply.Wait)*time.Microsecond, firstWait), r.holder.Heard(r.now(), a.reply)
	r.publish()
	v := r.holder.View()
	r.Observe(a.reply, &v)
	switch a.reply.Status {
	case OK:
		r.heard = a.received
		if r.lost != 0 {
			r.lost = 0
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

// silent tells whether nobody will say any more that the run is over. Without a planned end it goes on for ever.
func (r *Renewer) silent() bool {
	return r.Clock.Now()-r.heard > int64(silence) && r.holder.view.Laws.Over(r.now())
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

// restore makes the run anew, where this worker may, or waits for another one that does. When its promise is over it is too late for that: the run may have
// been stopped since, and removed. A little later the worker gives the run up.
func (r *Renewer) restore(ctx context.Context) error {
	now := r.Clock.Now()
	if r.lost == 0 {
		r.lost = now
		r.Log.Warn("Redis has lost the run's state; sending what is promised, and waiting for a worker that restores it")
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
	if errors.Is(err, pacer.ErrNoState) || now > over+int64(lostPatience) {
		return pacer.ErrNoState
	}
	if r.wait = firstWait; err != nil {
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
	if r.Beat != nil && r.wait == beating { // the beat comes first. Where calls are less frequent, it comes more seldom than they
		wait += r.wait / 4
	}
	if r.ends() { // it is to be heard of when it does
		wait = min(wait, max(0, time.Duration(r.holder.view.Laws.Newest().T0-r.now())*time.Microsecond)+time.Millisecond)
	}
	return wait
}

// ends tells whether it is known when the run is over.
func (r *Renewer) ends() bool {
	n := r.holder.view.Laws.Newest()
	return n != nil && n.Phase >= Stopped
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
		r.idle = false
		if r.failures.Over() {
			r.Log.Info("Redis answers again")
		}
	case r.now() >= r.holder.view.P && len(r.holder.view.Held) > 0 && !r.idle:
		r.idle = true
		_ = r.failures.Failed(err)
		r.Log.Warn("the promise has ended and Redis does not answer: nothing is sent until it does", "err", err)
	case r.failures.Failed(err):
		left := max(0, time.Duration(r.holder.view.P-r.now())*time.Microsecond).Round(100 * time.Millisecond)
		r.Log.Warn("Redis does not answer; sending what is held, and trying again", "err", err, "for at most", left)
	}
}
