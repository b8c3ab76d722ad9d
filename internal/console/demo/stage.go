package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// name is the name of the run.
const name = "demo"

// stage holds what the story plays on.
type stage struct {
	screen *screen
	redis  *embedded.Server
	target *arrivals.Server
	client rdb.Client
	run    *run.Run
	fleet  *fleet
	start  time.Time // the run's first t0, by Redis' clock, which is this machine's
}

// open starts everything but the workers. fail is called when one of them ends unexpectedly.
func open(ctx context.Context, fail func(error), o Options, screen *screen) (s *stage, err error) {
	s = &stage{screen: screen}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.target, err = arrivals.Start(arrivals.Options{NoPaths: true}); err != nil {
		return nil, err
	}
	if s.redis, err = embedded.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	if s.client, err = link.Connect(ctx, s.redis.URL()); err != nil {
		return nil, err
	}
	s.fleet = &fleet{binary: o.Worker, redis: s.redis.URL(), fail: fail}
	s.run, _, err = run.Create(ctx, s.client, name, spec.Spec{
		Target: targets.Spec{URL: s.target.URL() + "/"}, QPS: pacer.PerSecond(o.QPS), MinWorkers: int64(len(first())),
		Duration: patience, // as long as the demo may take; then the workers end by themselves if nobody is left to stop them
		MaxLag:   spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp,
	}, run.Options{})
	return s, err
}

// close ends everything, the workers first: without Redis they would log errors.
func (s *stage) close() {
	if s.fleet != nil {
		s.fleet.close()
	}
	if s.client != nil {
		_ = s.client.Close() // nothing is written any more
	}
	if s.redis != nil {
		_ = s.redis.Close() // its data is no longer needed
	}
	if s.target != nil {
		_ = s.target.Close() // it has counted
	}
}

// begin starts the first workers and waits until the start of the run is known; it is then some moments ahead.
func (s *stage) begin(ctx context.Context) error {
	for _, id := range first() {
		if err := s.fleet.start(id); err != nil {
			return err
		}
	}
	for s.start.IsZero() {
		us, err := s.run.StartedAt(ctx)
		if err != nil {
			return err
		}
		if us > 0 {
			s.start = time.UnixMicro(us)
		} else if err := sleep(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits until an instant, or until ctx ends; then it returns the cause.
func sleep(ctx context.Context, until time.Time) error {
	select {
	case <-time.After(time.Until(until)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tick shows the progress of the run. It reads arrived first, so arrived never includes requests beyond asked.
func (s *stage) tick(ctx context.Context, at time.Duration) error {
	arrived, now := s.target.Count(), time.Now()
	state, err := s.run.State(ctx)
	if err != nil {
		return err
	}
	var members []string
	for _, w := range state.Workers {
		if w.State == "active" {
			members = append(members, w.ID)
		}
	}
	s.screen.line("%4.0f s   asked %7d   arrived %7d   workers %s", at.Seconds(), state.AskedAt(now), arrived, strings.Join(members, " "))
	return nil
}

// goodbye is how long workers may take to end after the stop: they wait for each other's last snapshot, up to 5 s.
// A busy machine must not reach the bound.
const goodbye = time.Minute

// settle waits for the end of the workers, and returns the run's report and seconds.
func (s *stage) settle(ctx context.Context, moments []moment) (report.Report, []second, error) {
	if err := s.fleet.wait(ctx, goodbye); err != nil {
		return report.Report{}, nil, err
	}
	total, err := results.FinalReport(ctx, s.run, time.Second)
	if err != nil {
		return report.Report{}, nil, err
	}
	state, err := s.run.State(ctx)
	if err != nil {
		return report.Report{}, nil, err
	}
	events, err := s.run.Events(ctx, 1000)
	if err != nil {
		return report.Report{}, nil, err
	}
	for _, e := range events {
		switch {
		case e.At.Before(s.start):
		case e.Kind == "join":
			moments = append(moments, moment{at: e.At, mark: e.Who + " joins"})
		case e.Kind == "lost":
			moments = append(moments, moment{at: e.At, mark: e.Who + " missed"})
		}
	}
	took := state.EndedAt.Sub(s.start)
	if took <= 0 {
		return report.Report{}, nil, fmt.Errorf("measure the run: it began at %v and ended at %v", s.start, state.EndedAt)
	}
	return total, count(state.AskedAt, s.start, took, s.target.Arrivals(), moments), nil
}
