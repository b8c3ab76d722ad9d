//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// A throng is a crowd of thousands. It also takes commands and is read, and at the end its Redis stops for a second.
// One core cannot carry thousands of engines. So each worker has only a Renewer, a Journal and a connection, and calls
// Redis at its natural pace. It sends no requests, and publishes invented results.
type throng struct {
	crowd
	rate     int64
	changes  int    // number of commands of each kind
	loadctl  string // path of loadctl, which reads the run
	received received
	failed   chan error
	all      sync.WaitGroup
}

// thronged is what a throng reports. Times are in seconds.
type thronged struct {
	crowded
	Begins  float64      `json:"begins"` // from the start of the first worker until the last has joined
	SetRate float64      `json:"setrate"`
	Pause   float64      `json:"pause"` // until the last worker has received it
	Status  float64      `json:"status"`
	Watch   float64      `json:"watch"` // until its first line shows the run
	Report  float64      `json:"report"`
	Steady  report.Audit `json:"steady"`
	Frozen  float64      `json:"frozen"` // from the end of an outage of one second until each worker was answered
	Stop    float64      `json:"stop"`
	Memory  float64      `json:"memory"` // used by Redis, MB
	Sum     report.Audit `json:"sum"`
}

// The bounds of a throng.
const (
	joining         = 64               // how many workers connect at the same time
	joinPatience    = 90 * time.Second // until all have joined
	receivePatience = 30 * time.Second // until all have received a command, or of the end of an outage
)

func newThrong() *throng {
	return &throng{received: received{have: map[int64]int{}, last: map[int64]time.Time{}, answered: map[int]bool{}}}
}

// throngPart is the process.
func throngPart(args []string) error {
	t := newThrong()
	flags := t.flags("throng", 10*time.Second, 5*time.Second)
	flags.Int64Var(&t.rate, "rate", 10_000, "")
	flags.IntVar(&t.changes, "changes", 5, "")
	flags.StringVar(&t.loadctl, "loadctl", "loadctl", "")
	if err := errors.Join(flags.Parse(args), raiseDescriptors()); err != nil {
		return err
	}
	return printJSON(t.redis, t.run)
}

// run runs the throng from its start to its end.
func (t *throng) run(ctx context.Context, client rdb.Client) (said thronged, err error) {
	r, _, err := run.Create(ctx, client, t.name, spec.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(t.rate), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: int64(t.workers),
	}, run.Options{})
	if err != nil {
		return said, err
	}
	began := time.Now()
	var started atomic.Int64
	t.start(ctx, r, &started)
	limit, cancel := context.WithTimeoutCause(ctx, joinPatience, fmt.Errorf("not all of %d workers were there after %v", t.workers, joinPatience))
	defer cancel()
	if err := begun(limit, r, &started, t.failed); err != nil {
		return said, err
	}
	said.Begins = time.Since(began).Seconds()
	if err := t.measure(ctx, client, r, &started, &said); err != nil {
		return said, err
	}
	stopped := time.Now()
	if _, err := r.Stop(ctx, nil); err != nil {
		return said, err
	}
	said.Stop = time.Since(stopped).Seconds()
	t.all.Wait()
	close(t.failed)
	last, err := t.report()
	said.Sum = last.Audit
	return said, errors.Join(err, <-t.failed)
}

// measure takes all figures that are measured while the run goes on.
func (t *throng) measure(ctx context.Context, client rdb.Client, r *run.Run, started *atomic.Int64, said *thronged) (err error) {
	if said.crowded, err = t.look(ctx, client, time.UnixMicro(started.Load()).Add(t.warm)); err != nil {
		return err
	}
	if said.Memory, err = held(ctx, client); err != nil {
		return err
	}
	if said.Status, err = t.reads("status"); err != nil {
		return err
	}
	if said.Watch, err = t.watches(); err != nil {
		return err
	}
	before := time.Now()
	steady, err := t.report()
	if err != nil {
		return err
	}
	said.Report, said.Steady = time.Since(before).Seconds(), steady.Audit
	var set, paused values
	for i := range int64(t.changes) {
		if err := t.command(&set, func() error { _, err := r.SetRate(ctx, pacer.PerSecond(t.rate+i+1), 0); return err }); err != nil {
			return err
		}
		if err := t.command(&paused, func() error { _, err := r.Pause(ctx); return err }); err != nil {
			return err
		}
		if err := t.command(nil, func() error { _, err := r.Resume(ctx); return err }); err != nil {
			return err
		}
	}
	said.SetRate, said.Pause = set.median(), paused.median()
	said.Frozen, err = t.freeze()
	return err
}

// command gives a command, and notes how long it takes until the last worker has received it.
func (t *throng) command(took *values, give func() error) error {
	before, began := t.received.newest(), time.Now()
	if err := give(); err != nil {
		return err
	}
	for {
		last, all := t.received.after(before, t.workers)
		switch {
		case all:
			if took != nil {
				*took = append(*took, last.Sub(began).Seconds())
			}
			time.Sleep(time.Second) // the effects of the command are over by then
			return nil
		case time.Since(began) > receivePatience:
			return fmt.Errorf("not all workers have received a command after %v", receivePatience)
		}
		time.Sleep(time.Millisecond)
	}
}

// freeze stops Redis for a second, and returns how long it then takes until each worker was answered, in seconds.
func (t *throng) freeze() (float64, error) {
	if err := syscall.Kill(t.server, syscall.SIGSTOP); err != nil {
		return 0, err
	}
	time.Sleep(time.Second)
	if err := syscall.Kill(t.server, syscall.SIGCONT); err != nil {
		return 0, err
	}
	t.received.forget()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		took, n := time.Since(began), t.received.count()
		switch {
		case n == t.workers:
			return took.Seconds(), nil
		case took > receivePatience:
			return 0, fmt.Errorf("%d workers were answered in %v after Redis had stood still for a second", n, receivePatience)
		}
	}
}

// held returns the memory that Redis uses, in MB.
func held(ctx context.Context, client rdb.Client) (float64, error) {
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	var bytes float64
	_, err = fmt.Sscan(info["Memory"]["used_memory"], &bytes)
	return bytes / 1e6, err
}
