// Package demo shows in 15 seconds what the project promises: a fleet of worker processes on this machine shares one
// rate. The rate changes while they run, a worker is killed, and another joins. At the end the counts of a target stand
// beside what was asked for.
//
//	worker, err := demo.FindWorker()
//	if err != nil {
//		return err
//	}
//	err = demo.Run(ctx, demo.Options{QPS: 1000, Worker: worker, Out: os.Stdout, Err: os.Stderr})
//
// Redis and the target are inside this process, on free ports of 127.0.0.1. When Run returns, nothing is left behind.
// On Linux the workers die with this process even if it is killed.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// The range of rates that a demo can begin with, in requests per second of the whole cluster. Below MinQPS a deviation
// in percent means nothing; above MaxQPS one machine is too small for everything.
const (
	MinQPS = 10
	MaxQPS = 20_000
)

// Options are what a demo needs. All are required.
type Options struct {
	QPS    int64     // the initial rate, MinQPS to MaxQPS; later three times and half of it
	Worker string    // path of loadworker, see FindWorker
	Out    io.Writer // receives the story and its results, in whole lines
	Err    io.Writer // receives the last lines of a worker that failed
}

// patience bounds a demo, including its end. It is a safety net: all waits are for parts of the demo. A busy machine must
// not reach it.
const patience = 5 * time.Minute

// Run plays the demo. It returns nil if the demo ran to its end and the counts add up, however busy the machine was. If
// ctx ended it, Run returns the cause. Run may be called once at a time for each Out.
func Run(ctx context.Context, o Options) error {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the demo takes more than %v; stop other work on this machine, or give a smaller --qps", patience))
	defer cancel()
	playing, fail := context.WithCancelCause(limited)
	defer fail(nil)
	err := perform(playing, fail, o)
	if err != nil && playing.Err() != nil {
		err = context.Cause(playing) // the cause, not the call that it interrupted
	}
	if failed, ok := errors.AsType[*workerError](err); ok {
		failed.write(o.Err)
	}
	return err
}

// perform plays the story on a new stage, and shows the result.
func perform(ctx context.Context, fail func(error), o Options) error {
	screen := newScreen(o.Out)
	s, err := open(ctx, fail, o, screen)
	if err != nil {
		return err
	}
	defer s.close()
	screen.line("Three loadworker processes; a target that counts what arrives, and Redis, inside")
	screen.line("this one. All of it ends with the demo, in %.0f seconds or with Ctrl-C.\n", length.Seconds())
	if screen.err != nil {
		return screen.failure()
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	moments, err := s.play(ctx, story(o.QPS))
	if err != nil {
		return err
	}
	total, seconds, err := s.settle(ctx, moments)
	if err != nil {
		return err
	}
	text, err := ending(total, seconds, screen.look)
	if err != nil {
		return err
	}
	screen.text(text)
	if screen.err != nil {
		return screen.failure()
	}
	return check(total, seconds)
}

// ending returns all that is shown after the end: the report, the plot, the verdict, and what to do next.
func ending(total report.Report, seconds []second, l look) (string, error) {
	var b strings.Builder
	b.WriteByte('\n')
	if err := render.Text(&b, total); err != nil {
		return "", err
	}
	b.WriteByte('\n')
	b.WriteString(plot(seconds, l))
	b.WriteByte('\n')
	for _, sentence := range verdict(total, seconds) {
		b.WriteString(wrap(sentence, l.width))
	}
	b.WriteString(next)
	return b.String(), nil
}

// next says how to go on without the demo.
const next = `
The same by hand, with a real Redis, one line a terminal; more in README.md:
  redis-server --save '' &   loadctl target &
  export LOADCTL_REDIS=redis://127.0.0.1:6379
  loadworker run --run mine --url http://127.0.0.1:8080/ --qps 1k &   # twice
  loadctl set-rate mine 3k
`
