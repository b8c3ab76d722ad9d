package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// The values that the zero values of a Worker stand for.
const (
	DefaultMaxInFlight  = 10_000
	DefaultMaxLag       = time.Second
	DefaultCatchUp      = 100 * time.Millisecond
	DefaultDrainTimeout = 30 * time.Second
)

// Worker sends one member's part of a run. Fill it in and call Run, once.
type Worker struct {
	ID, Incarnation string               // the member, and one process of it
	Server          lease.Server         // where ranges are leased
	Messages        <-chan lease.Message // as in lease.Renewer
	Clock           *pacer.Clock         // the clock of all Clients
	Journal         Journal              // where snapshots go
	Host            string               // name of this machine, for the report; "" = unknown

	// NewClient opens the client of shard 0 … Shards−1. Run closes it.
	NewClient func(shard int) (Client, error)
	// Started returns the run's first t0, µs of the Redis clock; 0 = not known yet. Another goroutine calls it. nil =
	// no series.
	Started func() int64

	// Closed makes it a closed loop: each connection sends its next request when the last one is answered. Latency
	// counts from then. The laws of the run have no slots; they only say when the run is active.
	Closed bool
	// Seated makes it a closed loop in which the whole fleet has as many requests in flight as the laws say
	// (pacer.Concurrent): this worker as many as it has seats, or MaxInFlight if that is less.
	Seated bool

	// Mix says which step of a workload a request is, for the counts of each step; nil = there are none.
	Mix *targets.Mix

	// Unique makes the worker send no ordinal twice. A slot whose ordinal it sent under a rate that had ended, before it
	// received that, is not sent. It has no effect with Grants.
	Unique bool

	// MaxRate is the highest rate of the whole cluster, in requests, in which this worker takes part. If the worker
	// receives a law by which a higher rate is asked for, now or later, it leaves with ErrTooFast. Zero = any rate.
	MaxRate pacer.Rate
	// Surge finds out what the run's limiter may let pass in a second above a rate. That counts for MaxRate. It is
	// called when the run has changed. nil = nothing.
	Surge func() (func(rate float64) float64, error)

	Shards       int           // goroutines that send; one a core is best; 0 means 1
	Cores        int           // cores that the process may use; 0 means as many as there are shards
	Weight       int64         // the worker's part of the rate is Weight / sum of weights; 0 means 1
	MaxInFlight  int           // requests waiting or on the wire, in all shards; 0 = DefaultMaxInFlight
	MaxLag       time.Duration // L: how long after its due time a request may wait for a connection; 0 = DefaultMaxLag
	CatchUp      time.Duration // how late a slot may be when it is first seen; 0 = DefaultCatchUp
	DrainTimeout time.Duration // how long the last requests may take; 0 = DefaultDrainTimeout
	// Minimum time between two wake-ups of a shard for due slots, which adds as much lateness; 0 = one for each slot.
	Resolution time.Duration

	// Requests hears of each request that has ended. nil = nobody does.
	Requests RequestLog

	// Halt is called when nothing more may be sent, before the fleet is notified. A Target must not write any more what
	// it has accepted and not yet written. nil = nothing is between Send and the write.
	Halt func()

	// Dropped returns how many datagrams the system dropped so far because the Target did not read them in time. nil = it
	// is not known, or there are none.
	Dropped func() int64

	// Goals are what the answers of each step have to meet to count as good, by index; nil = there are none.
	Goals [][]events.Goal

	// Evidence says what is kept of some requests; nil = nothing.
	Evidence *Evidence

	Grants Grants      // asked before a slot is sent; nil = the run has no limiter
	Terms  lease.Terms // of the limiter

	Restore func(context.Context, []lease.Law) error // as in lease.Renewer; may be nil
	Observe func(lease.Reply, *lease.View)           // as in lease.Renewer; may be nil
	Log     *slog.Logger                             // nil = none
}

// A RequestLog hears of each request that has ended, from the goroutine of the shard part, 0 … Shards−1. It must not block.
type RequestLog interface {
	Add(part int, r targets.Result)
}

// Run sends until the run ends or is stopped, or ctx ends. Then it returns nil. In each case it waits for the
// requests on the wire, for at most DrainTimeout. When ctx ends, it first hands over what it holds, and sends up to
// that point. Any other end is an error, one of pacer's or of a client. The snapshot is always the cumulative one.
// Abandoned requests are in flight in it.
func (w *Worker) Run(ctx context.Context) (*record.Snapshot, error) {
	e := engine{Worker: *w}
	e.defaults()
	e.publisher = publisher{worker: w.ID, incarnation: w.Incarnation, journal: w.Journal, clock: w.Clock, started: e.Started, beat: e.beat, dropped: e.Dropped, log: e.Log, host: w.Host}
	e.publisher.begin()
	if err := e.open(); err != nil {
		return e.publisher.total, err
	}
	err := e.run(ctx)
	return e.publisher.total, err
}

// engine is a running Worker. It is the Sink of its Renewer.
type engine struct {
	Worker
	shards     []*shard
	feed       feed
	granter    *granter // of a run with a limiter; else nil
	ceiling    ceiling
	idleTime   idleTime
	publisher  publisher
	publishing sync.WaitGroup
	beat       chan struct{} // signals that a snapshot is published; has room for one
	handed     sync.Once     // does sendRest
	drained    chan struct{} // closed when a leaving worker has sent all that it had left
	quit       chan struct{} // closed when the publisher must end
}

func (e *engine) defaults() {
	e.Closed = e.Closed || e.Seated
	e.Shards = max(1, e.Shards)
	e.Cores = cmp.Or(e.Cores, e.Shards)
	e.MaxInFlight = cmp.Or(e.MaxInFlight, DefaultMaxInFlight)
	e.MaxLag = cmp.Or(e.MaxLag, DefaultMaxLag)
	e.CatchUp = cmp.Or(e.CatchUp, DefaultCatchUp)
	e.DrainTimeout = cmp.Or(e.DrainTimeout, DefaultDrainTimeout)
	if e.Halt == nil {
		e.Halt = func() {}
	}
	if e.Observe == nil {
		e.Observe = func(lease.Reply, *lease.View) {}
	}
	e.feed.changed, e.beat, e.quit, e.drained = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
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
				_ = s.client.Close() // the first error says more
			}
			return fmt.Errorf("open client of shard %d: %w", i, err)
		}
		e.shards = append(e.shards, newShard(i, e.Shards, e.Clock, client, &e.feed, limits{
			maxInFlight:  max(1, (e.MaxInFlight+i)/e.Shards), // the parts add up to the whole
			maxLag:       int64(e.MaxLag),
			catchUp:      int64(e.CatchUp),
			drainTimeout: int64(e.DrainTimeout),
			resolution:   int64(e.Resolution),
		}))
		e.shards[i].log = e.Requests
		if e.Mix != nil {
			e.shards[i].countSteps(e.Mix)
		}
		if e.Unique {
			e.shards[i].sendOnce()
		}
		switch {
		case e.Seated:
			e.shards[i].seat()
		case e.Closed:
			e.shards[i].closeLoop()
		}
		if e.Grants != nil {
			e.shards[i].granted = &granted{}
		}
	}
	e.observe()
	e.listen()
	e.publisher.shards, e.publisher.cores = e.shards, e.Cores
	if e.Closed {
		e.publisher.idleTime = &e.idleTime
	}
	return nil
}

func (e *engine) setMode(m mode) {
	for _, s := range e.shards {
		s.setMode(m)
	}
}

// run is the life of the engine: shards, publisher and renewer run side by side, then end in order.
func (e *engine) run(ctx context.Context) error {
	leasing, fail := context.WithCancelCause(e.leasing(ctx))
	defer fail(nil)
	e.ceiling.most, e.ceiling.end, e.ceiling.look, e.ceiling.steps = e.MaxRate, fail, e.Surge, 1
	if e.Mix != nil {
		e.ceiling.steps = e.Mix.MeanSteps()
	}
	for _, s := range e.shards {
		go func() {
			if err := s.run(); err != nil {
				fail(err) // a fleet is better off without a member that cannot send
			}
		}()
	}
	e.publishing.Go(func() { e.publisher.run(e.quit) })
	e.limit()
	if e.Seated {
		defer context.AfterFunc(ctx, func() { fail(e.emptySeats(ctx)) })()
	}

	defer context.AfterFunc(ctx, func() {
		e.Log.Info("leaving: handing over to other workers, and waiting for answers; interrupt again to end at once", "timeout", e.DrainTimeout)
	})()
	staying := ctx
	if e.Closed { // it has no slots to hand over
		staying = context.WithoutCancel(ctx)
	}
	r := e.renewer(leasing.Done())
	return e.end(ctx, leasing, r, r.Run(staying))
}

// finish waits for the shards, and publishes what they did.
func (e *engine) finish(ctx context.Context, err error) error {
	for _, s := range e.shards {
		<-s.exited
		err = cmp.Or(err, s.failure)
	}
	close(e.quit)
	e.publishing.Wait()
	e.countUnsent()
	e.publisher.finish(ctx, errors.Is(err, pacer.ErrNoState))
	return err
}

// countUnsent counts slots that were due while this worker owned them and that no shard came to.
func (e *engine) countUnsent() {
	_, reached := e.Taken()
	if e.granter != nil {
		e.granter.countUnsent(reached)
		return
	}
	for _, s := range e.shards {
		s.countUnsent(reached)
	}
}
