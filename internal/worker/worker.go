package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
)

// The meaning of a Worker's zero values.
const (
	DefaultMaxInFlight  = 10_000
	DefaultMaxLag       = time.Second
	DefaultCatchUp      = 100 * time.Millisecond
	DefaultDrainTimeout = 30 * time.Second
)

// Worker fires one member's part of a run. Fill it in and call Run, once.
type Worker struct {
	ID, Incarnation string        // the member, and one process's life of it
	Limiter         pacer.Limiter // where ranges of slots are leased; nil = arcs are, from Server
	Clock           *pacer.Clock  // the clock of all Clients
	Journal         Journal       // where snapshots go
	Host            string        // name of this machine, for the report; "" = not known

	// NewClient opens the client of a shard: 0 … Shards−1. Run closes it.
	NewClient func(shard int) (Client, error)
	// Started is the run's first t0, µs of the Redis clock, and 0 as long as it is not known. It is called by
	// another goroutine. nil = no series.
	Started func() int64

	// Length is how long the run takes as planned, without pauses; 0 = without end, or not known. A worker that hears nothing any more
	// gives up after it, with ErrSilence.
	Length time.Duration

	// Closed makes it a closed loop: while the run goes on each connection sends its next request when the last one was answered, and
	// latency counts from then. No slots are wanted; the Limiter tells how the run is, and Started when it begins.
	Closed bool
	// Alone is how long after the last reply a closed loop goes on by itself; 0 = for as long as slots would be held, the horizon.
	Alone time.Duration

	// MaxRate is the most that the whole cluster may be asked for with this worker in it: at the first slot that is due at a higher rate
	// it leaves, with ErrTooFast. Zero = any rate.
	MaxRate pacer.Rate
	// Surge finds out what the run's limiter, as it is now, may let pass in some second beside a rate, which counts for MaxRate. It is called where
	// the run has changed. nil = nothing.
	Surge func() (func(rate float64) float64, error)

	Shards       int           // goroutines that fire, one a core is best; 0 means 1
	Cores        int           // that the process may use; 0 means as many as there are shards
	Weight       int64         // the part of the rate is Weight / sum of weights; 0 means 1
	MaxInFlight  int           // requests waiting or on the wire, of all shards; 0 = DefaultMaxInFlight
	MaxLag       time.Duration // L: how long after its due time a request may wait for a connection; 0 = DefaultMaxLag
	CatchUp      time.Duration // how late a slot may be when it is first seen; 0 = DefaultCatchUp
	DrainTimeout time.Duration // how long the last requests may take; 0 = DefaultDrainTimeout
	Resolution   time.Duration // a shard wakes up this often for due slots at most, and so they are late by as much; 0 = for each
	Horizon      time.Duration // as in pacer.Leaser
	Qmax         int64         // as in pacer.Leaser

	// Halt is called when nothing more may be sent, before the fleet is told so: what a Target has accepted and not yet written
	// must not be written any more. nil = nothing is between Send and the write.
	Halt func()

	Restore  func(context.Context, pacer.Known) error        // as in pacer.Leaser; may be nil
	Reassert func(context.Context, pacer.Known, int64) error // as in pacer.Leaser; may be nil

	Server      lease.Server                             // where arcs are leased; nil = ranges are, from Limiter
	Messages    <-chan lease.Message                     // as in lease.Renewer
	RestoreLaws func(context.Context, []lease.Law) error // lease.Renewer.Restore
	Renewed     func(lease.Reply, *lease.View)           // lease.Renewer.Observe
	Grants      Grants                                   // asked before a slot of an arc is sent; nil = the run has no limiter
	Terms       lease.Terms                              // of the limiter

	Wake    <-chan struct{}   // a hint that the run has changed; may be nil
	Observe func(pacer.Reply) // called with each reply of the Limiter; may be nil
	Log     *slog.Logger      // nil = none
}

// Run fires until the run ends or is stopped, or ctx ends, and then returns nil; each of these lets the requests
// on the wire end, for at most DrainTimeout. When ctx ends, what is leased is still fired, for at most the horizon.
// Any other end is an error: one of pacer's, or that of a client. The snapshot is the cumulative one, always; requests
// that were abandoned are in flight in it.
func (w *Worker) Run(ctx context.Context) (*report.Snapshot, error) {
	e := engine{Worker: *w}
	e.defaults()
	e.publisher = publisher{worker: w.ID, incarnation: w.Incarnation, journal: w.Journal, clock: w.Clock, started: e.Started, log: e.Log, host: w.Host}
	e.publisher.begin()
	if err := e.open(); err != nil {
		return e.publisher.total, err
	}
	err := e.run(ctx)
	return e.publisher.total, err
}

// engine is a Worker that runs. It is the Sink of its Leaser.
type engine struct {
	Worker
	shards    []*shard
	notice    atomic.Pointer[pacer.Notice]
	view      atomic.Pointer[lease.View] // of a worker that leases arcs
	changed   chan struct{}              // a shard has taken up a View
	granter   *granter                   // of one whose run has a limiter
	guard     guard
	ceiling   ceiling // of a worker that leases arcs
	gate      gate
	publisher publisher
}

func (e *engine) defaults() {
	e.Shards = max(1, e.Shards)
	e.Cores = cmp.Or(e.Cores, e.Shards)
	e.MaxInFlight = cmp.Or(e.MaxInFlight, DefaultMaxInFlight)
	e.MaxLag = cmp.Or(e.MaxLag, DefaultMaxLag)
	e.CatchUp = cmp.Or(e.CatchUp, DefaultCatchUp)
	e.DrainTimeout = cmp.Or(e.DrainTimeout, DefaultDrainTimeout)
	if e.Halt == nil {
		e.Halt = func() {}
	}
	if e.Renewed == nil {
		e.Renewed = func(lease.Reply, *lease.View) {}
	}
	e.changed = make(chan struct{}, 1)
	if e.Observe == nil {
		e.Observe = func(pacer.Reply) {}
	}
	if e.Started == nil {
		e.Started = func() int64 { return 0 }
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
}

// open makes the shards, each with its client.
func (e *engine) open() error {
	for i := range e.Shards {
		client, err := e.NewClient(i)
		if err != nil {
			for _, s := range e.shards {
				_ = s.client.Close() // the first error tells more
			}
			return fmt.Errorf("open client of shard %d: %w", i, err)
		}
		e.shards = append(e.shards, newShard(i, e.Shards, e.Clock, client, &e.notice, limits{
			maxInFlight:  max(1, (e.MaxInFlight+i)/e.Shards), // the parts add up to the whole
			maxLag:       int64(e.MaxLag),
			catchUp:      int64(e.CatchUp),
			drainTimeout: int64(e.DrainTimeout),
			resolution:   int64(e.Resolution),
		}))
		if e.Closed {
			e.shards[i].closeLoop(&e.gate)
		}
		if e.Server != nil {
			e.shards[i].hold(&e.view, e.changed, e.Grants != nil)
		}
	}
	e.publisher.shards, e.publisher.cores = e.shards, e.Cores
	if e.Closed {
		e.publisher.gate = &e.gate
	}
	return nil
}

// Lease implements pacer.Sink: every shard fires its part of every range.
func (e *engine) Lease(r pacer.Range) {
	if e.guard.refuses(r) {
		return
	}
	for _, s := range e.shards {
		s.lease(r)
	}
}

// Notice implements pacer.Sink. It wakes every shard, each time: a shard looks at it at its next turn, which may be later than a permit
// begins; and one of a closed loop, where each reply moves the time up to which it may send, waits for nothing else.
func (e *engine) Notice(n pacer.Notice) {
	n.Permits = e.guard.permits(n.Permits)
	e.notice.Store(&n)
	for _, s := range e.shards {
		s.client.Wake()
	}
}

func (e *engine) tell(m mode) {
	for _, s := range e.shards {
		s.tell(m)
	}
}

// run is the life of the engine: shards, publisher and leaser side by side, and then the end in its order.
func (e *engine) run(ctx context.Context) error {
	leasing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	e.guard = guard{most: e.MaxRate, end: fail, look: e.Surge}
	e.ceiling.most, e.ceiling.end, e.ceiling.look = e.MaxRate, fail, e.Surge
	e.gate.started, e.gate.length, e.gate.alone = e.Started, e.Length, e.Alone
	for _, s := range e.shards {
		go func() {
			if err := s.run(); err != nil {
				fail(err) // a fleet is better off without a member that cannot send
			}
		}()
	}
	var publishing sync.WaitGroup
	quit := make(chan struct{})
	publishing.Go(func() { e.publisher.run(quit) })

	patience := patience{clock: e.Clock, started: e.Started, length: e.Length}
	if e.Server != nil {
		patience.view = &e.view
	}
	go patience.watch(leasing, fail)
	if e.Server != nil {
		e.limit()
		return e.renew(ctx, leasing, &patience, func(err error) error { return e.finish(ctx, quit, &publishing, err) })
	}
	leaser := pacer.Leaser{
		Limiter: e.Limiter, Sink: e, Clock: e.Clock, Worker: e.ID, Incarnation: e.Incarnation, Weight: e.Weight,
		Horizon: e.Horizon, Qmax: e.Qmax, Wake: e.Wake, Restore: e.Restore, Reassert: e.Reassert, Log: e.Log,
		Observe: func(r pacer.Reply) { patience.heard(r); e.guard.heard(r); e.observe(r) },
	}
	err := leaser.Run(leasing)
	ended := errors.Is(err, pacer.ErrEnded)
	err = e.finish(ctx, quit, &publishing, e.end(ctx, err))
	if ended {
		e.leave(ctx, StateLeft) // last: who waits for the members of a run that has ended finds their last snapshots
	}
	return err
}

// finish waits for the shards and publishes what they did.
func (e *engine) finish(ctx context.Context, quit chan<- struct{}, publishing *sync.WaitGroup, err error) error {
	for _, s := range e.shards {
		<-s.exited
		err = cmp.Or(err, s.failure)
	}
	e.guard.account(e.shards)
	close(quit)
	publishing.Wait()
	e.publisher.finish(ctx, errors.Is(err, pacer.ErrNoState))
	return err
}

// observe is told of each reply. A Notice follows it, which wakes the shards.
func (e *engine) observe(r pacer.Reply) {
	if e.Closed {
		e.gate.heard(r)
	}
	e.publisher.rota.members.Store(r.Members)
	e.Horizon = max(e.Horizon, time.Duration(r.Horizon)*time.Microsecond) // what is leased may reach as far, also after H has shrunk
	e.Observe(r)
}

// end tells the shards what the end of the leasing means for them, and the fleet, where it goes on without this
// worker. It returns nil for an end that was meant. Everything leased is with the shards already.
func (e *engine) end(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, pacer.ErrEnded):
		e.tell(draining)
		e.haltAfter(e.MaxLag)
		return nil
	case errors.Is(err, pacer.ErrStopped):
		e.awaitCut()
		e.stop()
		for _, s := range e.shards {
			<-s.stopped
		}
		// Now, and not when the last response is there: whoever stopped the run waits to hear that nothing more is sent.
		e.leave(ctx, StateStopped)
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		e.Log.Info("leaving: what is leased is sent, and answers are waited for; once more ends at once", "answers at most for", e.DrainTimeout)
		e.tell(draining)
		e.haltAfter(max(e.Horizon, pacer.DefaultHorizon) + e.MaxLag)
		e.leave(ctx, StateLeft)
		return nil
	case errors.Is(err, ErrTooFast):
		return e.withdraw(ctx, err)
	}
	e.stop()
	if !errors.Is(err, pacer.ErrReplaced) && !errors.Is(err, pacer.ErrNoState) {
		e.leave(ctx, StateLeft)
	}
	return err
}

// haltAfter bounds how late a request may be written that is still connecting when this worker leaves: it will not hear
// of a stop any more.
func (e *engine) haltAfter(d time.Duration) { time.AfterFunc(d, e.Halt) }

// stop makes the shards drop what is not sent, and the targets what is not written.
func (e *engine) stop() {
	e.Halt()
	if e.granter != nil {
		e.granter.quit()
	}
	e.tell(stopping)
}

// longestLead is how far ahead a stop can be: a clock that was set meanwhile does not make this worker wait.
const longestLead = 2 * time.Second

// timerSlack is how late a timer may be that the last slots before a cut are waiting for.
const timerSlack = 5 * time.Millisecond

// awaitCut waits, some milliseconds, until the stop is in force: up to then slots are asked for, and are fired. Those
// after it are recalled already.
func (e *engine) awaitCut() {
	if known := e.notice.Load(); known != nil && len(known.Recalls) > 0 {
		last := known.Recalls[len(known.Recalls)-1]
		ahead := time.Duration(e.Clock.Local(last.T0*1000) - e.Clock.Now())
		time.Sleep(min(ahead, longestLead) + timerSlack)
	}
}

// leave tells the fleet. If that fails the fleet finds out by itself, a little later.
func (e *engine) leave(ctx context.Context, state string) {
	err := persist(ctx, 0, func(ctx context.Context) error {
		limit, cancel := context.WithTimeout(ctx, publishTimeout)
		defer cancel()
		return e.Journal.Leave(limit, state)
	})
	if err != nil {
		e.Log.Warn("could not tell the fleet that this worker leaves", "err", err)
	}
}
