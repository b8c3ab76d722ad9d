//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/engine/blocking"
	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/member"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// A crowd is a process that runs many workers. Each has its own engine, Renewer, publisher and connections, as in a
// process of its own. Only the target does nothing. A hundred processes would be too many for one core to keep on
// time.
type crowd struct {
	redis         string
	server        int // process id of Redis
	name          string
	workers       int
	silent        bool // the workers publish no snapshots
	lasting, warm time.Duration
	late          time.Duration // how late a request may be; 0 = a second
}

// flags returns the flags of the process. lasting and warm are the defaults: how long the run lasts, and when
// measuring begins.
func (c *crowd) flags(name string, lasting, warm time.Duration) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&c.redis, "redis", "", "")
	flags.IntVar(&c.server, "server", 0, "")
	flags.StringVar(&c.name, "run", "bench", "")
	flags.IntVar(&c.workers, "workers", 100, "")
	flags.BoolVar(&c.silent, "silent", false, "")
	flags.DurationVar(&c.lasting, "for", lasting, "")
	flags.DurationVar(&c.warm, "warm", warm, "")
	return flags
}

// crowdPart is the process. It prints what Redis did for the workers, from warm after the run's first slot until
// shortly before its end.
func crowdPart(args []string) error {
	var c crowd
	if err := c.flags("crowd", 10*time.Second, 3*time.Second).Parse(args); err != nil {
		return err
	}
	return printJSON(c.redis, c.run)
}

// printJSON runs a part that needs Redis, and prints its result as JSON.
func printJSON[T any](url string, part func(context.Context, rdb.Client) (T, error)) error {
	ctx := context.Background()
	client, err := link.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the process ends
	said, err := part(ctx, client)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// run lets all workers take part in one run, and measures Redis meanwhile.
func (c crowd) run(ctx context.Context, client rdb.Client) (crowded, error) {
	if c.workers == 0 {
		return c.look(ctx, client, time.Now().Add(c.warm))
	}
	r, _, err := run.Create(ctx, client, c.name, spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(fleetRate), Duration: c.lasting, MaxLag: cmp.Or(c.late, time.Second),
		CatchUp: cmp.Or(c.late, time.Second), MinWorkers: int64(c.workers),
	}, run.Options{})
	if err != nil {
		return crowded{}, err
	}
	var started atomic.Int64
	var sent atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, c.workers)
	for i := range c.workers {
		all.Go(func() {
			total, err := c.work(ctx, r, fmt.Sprint("w", i), &started)
			if err != nil {
				failed <- err
				return
			}
			sent.Add(total.Counts.Sent)
		})
	}
	if err := begun(ctx, r, &started, failed); err != nil {
		return crowded{}, err
	}
	said, err := c.look(ctx, client, time.UnixMicro(started.Load()).Add(c.warm))
	all.Wait()
	close(failed)
	if asked := int64(fleetRate * c.lasting.Seconds()); err == nil && sent.Load() != asked {
		err = fmt.Errorf("%d requests were sent of %d", sent.Load(), asked)
	}
	return said, errors.Join(err, <-failed)
}

// begun waits for the first slot. If a worker fails, the first slot never comes: the run waits for all workers. So
// begun returns that worker's error.
func begun(ctx context.Context, r *run.Run, started *atomic.Int64, failed <-chan error) error {
	for started.Load() == 0 {
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
		at, err := r.StartedAt(ctx)
		if err != nil {
			return err
		}
		started.Store(at)
	}
	return nil
}

// look measures what Redis does, from the given time until shortly before the run's end.
func (c crowd) look(ctx context.Context, client rdb.Client, from time.Time) (crowded, error) {
	time.Sleep(time.Until(from))
	began := time.Now()
	before, err := c.spent(ctx, client)
	if err != nil {
		return crowded{}, err
	}
	time.Sleep(c.lasting - c.warm - margin(c.lasting))
	after, err := c.spent(ctx, client)
	return crowded{
		Workers: c.workers, Seconds: time.Since(began).Seconds(), CPU: after.CPU - before.CPU,
		Renewals: after.Renewals - before.Renewals, Snapshots: after.Snapshots - before.Snapshots, Inside: after.Inside - before.Inside,
	}, err
}

// spent returns what Redis has done so far. A renewal calls TIME once and a snapshot never does: this distinguishes
// them.
func (c crowd) spent(ctx context.Context, client rdb.Client) (crowded, error) {
	used, err := cpu(c.server)
	if err != nil {
		return crowded{}, err
	}
	all, err := commandStats(ctx, client)
	scripts, renewals := all.of("eval", "fcall"), all.of("time").calls
	return crowded{CPU: used.Seconds(), Renewals: renewals, Snapshots: scripts.calls - renewals, Inside: scripts.took.Seconds()}, err
}

// open connects a worker to its run.
func (c crowd) open(ctx context.Context, name, worker string) (*link.Link, *run.Run, error) {
	link, err := link.New(ctx, c.redis, "bench:"+name+":"+worker)
	if err != nil {
		return nil, nil, err
	}
	mine, err := run.Open(ctx, link.Client, name)
	if err != nil {
		return nil, nil, errors.Join(err, link.Close())
	}
	return link, mine, nil
}

// work runs one worker of the crowd until the run ends.
func (c crowd) work(ctx context.Context, r *run.Run, name string, started *atomic.Int64) (*record.Snapshot, error) {
	link, mine, err := c.open(ctx, r.Name, name)
	if err != nil {
		return nil, err
	}
	defer link.Close() //nolint:errcheck // the run is over
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w := member.New(watching, mine, link, name, false)
	if c.silent {
		w.Journal = mute{w.Journal}
	}
	w.NewClient = func(int) (worker.Client, error) { return blocking.New(w.Clock, idle{}, 1), nil }
	w.MaxLag, w.CatchUp, w.Started = time.Second, time.Second, started.Load // one poll of Redis serves all workers
	return w.Run(ctx)
}

// idle is a target that answers without sending anything, as noop does. An event loop would keep a thread for each worker.
type idle struct{}

// Do implements targets.Target.
func (idle) Do(context.Context, targets.Call) targets.Outcome { return targets.Outcome{} }

// Connects says to the worker that there are no connections to wait for.
func (idle) Connects() bool { return false }

// Close implements targets.Target.
func (idle) Close() error { return nil }

// mute is a Journal that publishes nothing.
type mute struct{ worker.Journal }

// Publish implements worker.Journal.
func (mute) Publish(context.Context, *record.Snapshot, *record.Snapshot, *record.Series) error {
	return nil
}
