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
	ID, Incarnation string               // the member, and one process's life of it
	Server          lease.Server         // where arcs are leased
	Messages        <-chan lease.Message // as in lease.Renewer
	Clock           *pacer.Clock         // the clock of all Clients
	Journal         Journal              // where snapshots go
	Host            string               // name of this machine, for the report; "" = not known

	// NewClient opens the client of a shard: 0 … Shards−1. Run closes it.
	NewClient func(shard int) (Client, error)
	// Started is the run's first t0, µs of the Redis clock, and 0 as long as it is not known. It is called by
	// another goroutine. nil = no series.
	Started func() int64

	// Closed makes it a closed loop: while the run goes on each connection sends its next request when the last one was answered, and
	// latency counts from then. The laws of the run have no slots then; they tell when it goes on.
	Closed bool

	// MaxRate is the most that the whole cluster may be asked for with this worker in it: when it hears that a higher rate is asked for, now or
	// later, it leaves, with ErrTooFast. Zero = any rate.
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

	// Halt is called when nothing more may be sent, before the fleet is told so: what a Target has accepted and not yet written
	// must not be written any more. nil = nothing is between Send and the write.
	Halt func()

	Grants Grants      // asked before a slot is sent; nil = the run has no limiter
	Terms  lease.Terms // of the limiter

	Restore func(context.Context, []lease.Law) error // as in lease.Renewer; may be nil
	Observe func(lease.Reply, *lease.View)           // as in lease.Renewer; may be nil
	Log     *slog.Logger                             // nil = none
}

// Run fires until the run ends or is stopped, or ctx ends, and then returns nil; each of these lets the requests
// on the wire end, for at most DrainTimeout. When ctx ends, what is held is handed over to the others first, and sent up to there.
// Any other end is an error: one of pacer's, or that of a client. The snapshot is the cumulative one, always; requests
// that were abandoned are in flight in it.
func (w *Worker) Run(ctx context.Context) (*report.Snapshot, error) {
	e := engine{Worker: *w}
	e.defaults()
	e.publisher = publisher{worker: w.ID, incarnation: w.Incarnation, journal: w.Journal, clock: w.Clock, started: e.Started, beat: e.beat, log: e.Log, host: w.Host}
	e.publisher.begin()
	if err := e.open(); err != nil {
		return e.publisher.total, err
	}
	err := e.run(ctx)
	return e.publisher.total, err
}

// engine is a Worker that runs. It is the Sink of its Renewer.
type engine struct {
	Worker
	shards     []*shard
	feed       feed
	granter    *granter // where the run has a limiter; else nil
	ceiling    ceiling
	standstill standstill
	publisher  publisher
	publishing sync.WaitGroup
	beat       chan struct{} // a snapshot is published; has room for one
	quit       chan struct{} // closed when the publisher is to end
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
	if e.Observe == nil {
		e.Observe = func(lease.Reply, *lease.View) {}
	}
	e.feed.changed, e.beat, e.quit = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
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
		e.shards = append(e.shards, newShard(i, e.Shards, e.Clock, client, &e.feed, limits{
			maxInFlight:  max(1, (e.MaxInFlight+i)/e.Shards), // the parts add up to the whole
			maxLag:       int64(e.MaxLag),
			catchUp:      int64(e.CatchUp),
			drainTimeout: int64(e.DrainTimeout),
			resolution:   int64(e.Resolution),
		}))
		if e.Closed {
			e.shards[i].closeLoop()
		}
		if e.Grants != nil {
			e.shards[i].granted = &granted{}
		}
	}
	e.publisher.shards, e.publisher.cores = e.shards, e.Cores
	if e.Closed {
		e.publisher.standstill = &e.standstill
	}
	return nil
}

func (e *engine) tell(m mode) {
	for _, s := range e.shards {
		s.tell(m)
	}
}

// run is the life of the engine: shards, publisher and renewer side by side, and then the end in its order.
func (e *engine) run(ctx context.Context) error {
	leasing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	e.ceiling.most, e.ceiling.end, e.ceiling.look = e.MaxRate, fail, e.Surge
	for _, s := range e.shards {
		go func() {
			if err := s.run(); err != nil {
				fail(err) // a fleet is better off without a member that cannot send
			}
		}()
	}
	e.publishing.Go(func() { e.publisher.run(e.quit) })
	e.limit()

	defer context.AfterFunc(ctx, func() {
		e.Log.Info("leaving: hands over what it holds, and waits for answers; once more ends at once", "answers at most for", e.DrainTimeout)
	})()
	staying := ctx
	if e.Closed { // it has no slots that others could go on with
		staying = context.WithoutCancel(ctx)
	}
	r := e.renewer(leasing.Done())
	return e.end(ctx, leasing, r, r.Run(staying))
}

// finish waits for the shards and publishes what they did.
func (e *engine) finish(ctx context.Context, err error) error {
	for _, s := range e.shards {
		<-s.exited
		err = cmp.Or(err, s.failure)
	}
	close(e.quit)
	e.publishing.Wait()
	e.settle()
	e.publisher.finish(ctx, errors.Is(err, pacer.ErrNoState))
	return err
}

// settle accounts for what was due while this worker owned it, and that no shard came to.
func (e *engine) settle() {
	_, reached := e.Taken()
	if e.granter != nil {
		e.granter.settle(reached)
		return
	}
	for _, s := range e.shards {
		s.settle(reached)
	}
}
