package worker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/engine/publishing"
	"github.com/loadctl/loadctl/internal/engine/self"
	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

const (
	publishEvery = time.Second
	shortest     = publishEvery / 5 // a shorter time is no interval of its own, except at the end
	// Of one attempt; in fleets up to 600 the next second is collected in time, even if the Journal hangs.
	attemptTimeout = 700 * time.Millisecond
	publishTimeout = time.Second            // of one attempt at the end, when nothing waits for it
	finalTimeout   = 5 * time.Second        // of all calls at the end
	finalPause     = 100 * time.Millisecond // after the first failure at the end; it doubles
	finalLongest   = time.Second
)

// publisher collects what the shards recorded once a second. On its own goroutine it gives this to the Journal, when
// its schedule says so.
//
// While the Journal fails it holds two intervals, however long that takes: the one that it tries to publish, and the
// one that grows after it. The first must not change, because it may have been written. So its memory does not grow,
// no number is left out, and nothing is published under two numbers.
type publisher struct {
	worker, incarnation string
	host                string // "" = unknown
	journal             Journal
	clock               *pacer.Clock
	started             func() int64
	shards              []*shard
	cores               int // cores that the process may use
	log                 *slog.Logger
	meter               *self.Meter // nil = the process is not measured
	idleTime            *idleTime   // of a closed loop; else nil
	dropped             func() int64
	schedule            publishing.Schedule
	beat                chan<- struct{} // signalled when it publishes; may be nil
	// When to publish what was collected, since the start or, before it, since began; 0 = nothing is collected.
	due time.Duration

	began    int64            // local time of the first interval's start, ns
	pending  *record.Snapshot // an interval whose publication failed; nil = none
	interval *record.Snapshot // not tried yet
	total    *record.Snapshot
	early    *record.Snapshot // not in the series yet, as the run's start is not known
	series   record.Series
	seq      uint64
	failures outage.Series
	samples  *samples.Collector // nil = no evidence is kept
	sampled  int64              // when evidence was published, ns of the local clock; 0 = not yet
	away     int64              // since when nothing could be published, µs of the Redis clock; 0 = the last attempt succeeded
}

// snapshot returns an empty one of this worker.
func (p *publisher) snapshot() *record.Snapshot {
	s := record.NewSnapshot(p.worker, p.incarnation)
	s.Host = p.host
	return s
}

func (p *publisher) begin() {
	p.began = p.clock.Now()
	p.schedule.Named(p.worker + "/" + p.incarnation)
	p.interval, p.total, p.early = p.snapshot(), p.snapshot(), p.snapshot()
}

// since returns the time of the run, or, before it has begun, that of this worker.
func (p *publisher) since() time.Duration {
	now := p.clock.Now()
	if start := p.started(); start > 0 {
		return time.Duration(p.clock.Redis(now) - start*1000)
	}
	return time.Duration(now - p.began)
}

// untilNext returns the time to the next whole second of the run. So the intervals of all workers match those of the
// series and of what was asked. A rest that is too short for an interval belongs to the next one.
func (p *publisher) untilNext() time.Duration {
	if p.started() == 0 {
		return publishEvery
	}
	rest := publishEvery - (p.since()%publishEvery+publishEvery)%publishEvery
	if rest < shortest {
		rest += publishEvery
	}
	return rest
}

// newMeter returns a meter of the clients that send from this process, and not in virtual time.
func newMeter(now func() int64, shards []*shard, cores int) *self.Meter {
	var clients []self.Threaded
	var tardy int64 // the same for all
	for _, s := range shards {
		tardy = s.tardy
		if c, ok := s.client.(self.Threaded); ok {
			clients = append(clients, c)
		}
	}
	return self.NewMeter(now, clients, tardy, cores)
}

// run collects every second, and publishes when it is this worker's turn, until quit is closed.
func (p *publisher) run(quit <-chan struct{}) {
	p.meter = newMeter(p.clock.Now, p.shards, p.cores)
	collect := time.NewTimer(p.untilNext())
	publish := time.NewTimer(0)
	publish.Stop()
	for {
		select {
		case <-collect.C:
			p.collect()
			collect.Reset(p.untilNext())
			if p.due == 0 {
				p.due = max(1, p.turn())
				publish.Reset(p.due - p.since())
			}
		case <-publish.C:
			p.due = 0
			select {
			case p.beat <- struct{}{}:
			default: // the last one was not received yet
			}
			err := p.publish(context.Background(), attemptTimeout)
			p.schedule.Tried(err)
			p.trouble(err)
			if err == nil {
				p.publishSamples(attemptTimeout, false)
			}
		case <-quit:
			return
		}
	}
}

// turn returns when to publish what was just collected, up to a whole second.
func (p *publisher) turn() time.Duration {
	since := p.since()
	return max(p.schedule.After(since.Truncate(publishEvery)), since+p.schedule.Pause)
}

// collect adds what the shards recorded since the last call to the interval, the total and the series.
func (p *publisher) collect() {
	last := p.snapshot()
	last.Start = p.total.End
	if last.Start == 0 {
		last.Start = p.clock.Redis(p.began) / 1000 // known only after the first reply
	}
	for _, s := range p.shards {
		s.collect(last.Record)
	}
	last.End = max(last.Start, p.clock.Redis(p.clock.Now())/1000)
	last.Self = p.measured(last)
	last.JudgeBeat()
	p.interval.Merge(last)
	p.total.Merge(last)
	p.early.Merge(last)
	if start := p.started(); start > 0 {
		p.series.Add(place(p.early, start)-start, p.early)
		p.early.Reset()
	}
}

// place returns the time at which an interval counts in the series, µs of the Redis clock: its middle. A short rest
// with only answers counts in the interval before: nothing was asked for or sent in it.
func place(in *record.Snapshot, start int64) int64 {
	if in.Counts.Requests() == 0 && in.End-in.Start < shortest.Microseconds() {
		return in.Start - 1
	}
	return (max(in.Start, start) + in.End) / 2
}

// measured returns what the process measured in the interval that ends now. What was before the first slot does not
// belong to the run.
func (p *publisher) measured(last *record.Snapshot) record.Self {
	own := p.meter.Beat()
	if p.total.Counts == (record.Counts{}) {
		if last.Counts == (record.Counts{}) {
			return record.Self{}
		}
		if start := p.started(); start > 0 {
			own.Wall = min(own.Wall, max(0, (last.End-start)*1000))
		}
	}
	if p.dropped != nil {
		own.Dropped = p.dropped() - p.total.Self.Dropped
	}
	if p.idleTime != nil {
		own.Silent = p.idleTime.silent.Load()*1000 - p.total.Self.Silent
		own.Paused = p.idleTime.paused.Load()*1000 - p.total.Self.Paused
	}
	return own
}

// publish makes one attempt.
func (p *publisher) publish(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.pending == nil {
		p.seq++
		p.pending, p.interval = p.interval, p.snapshot()
		p.pending.Seq = p.seq
	}
	p.total.Seq = p.pending.Seq
	now := p.clock.Redis(p.clock.Now()) / 1000
	if p.away > 0 {
		p.total.Outage(p.away, now) // if this attempt succeeds, the outage is stored with it
	}
	if err := p.journal.Publish(ctx, p.pending, p.total, &p.series); err != nil {
		if p.away == 0 {
			p.away = now
		}
		return fmt.Errorf("publish snapshot %d: %w", p.pending.Seq, err)
	}
	p.pending, p.away = nil, 0
	return nil
}

// finish publishes the last snapshot, after the shards have exited. It tries for some seconds, but only once if the
// run is gone. A Journal that is a Keeper gets all that the worker did.
func (p *publisher) finish(ctx context.Context, gone bool) {
	p.collect()
	p.meter.Close()
	p.interval.Final, p.total.Final = true, true
	attempt := func(ctx context.Context) error {
		if p.pending != nil && !p.pending.Final {
			if err := p.publish(ctx, publishTimeout); err != nil {
				return err
			}
		}
		return p.publish(ctx, publishTimeout)
	}
	var err error
	if gone {
		err = attempt(context.WithoutCancel(ctx))
	} else {
		share := p.schedule.Share() // the whole fleet may end at once
		time.Sleep(share)
		err = persist(ctx, share, attempt)
	}
	if err == nil {
		p.publishSamples(publishTimeout, true)
		p.trouble(nil)
	} else {
		p.log.Warn("could not publish the last snapshot; the report in Redis lacks it", "err", err)
	}
	if keeper, ok := p.journal.(Keeper); ok {
		kept, _ := p.evidence()
		keeper.Keep(p.started(), p.total, p.series.Points(), kept, err == nil)
	}
}

// trouble logs the first failure of a series, each other kind of failure, and the end of the series.
func (p *publisher) trouble(err error) {
	switch {
	case err == nil && p.failures.Over():
		p.log.Info("snapshots are published again")
	case err != nil && p.failures.Failed(err):
		p.log.Warn("no snapshot published; trying again", "err", err)
	}
}

// persist calls f until it succeeds, for finalTimeout plus more, even after ctx has ended. It returns the last error.
func persist(ctx context.Context, more time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout+more)
	defer cancel()
	for pause := finalPause; ; pause = min(2*pause, finalLongest) {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
			return err
		}
	}
}
