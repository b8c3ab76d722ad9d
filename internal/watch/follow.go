// Package watch shows the progress of a run until it is over: on a terminal in one line that is rewritten, elsewhere in
// plain lines.
//
//	err := watch.Run(ctx, os.Stderr, r, time.Second)
//	if err != nil { … }
//	rep, err := results.FinalReport(ctx, r, patience)
//
// It only watches: the run goes on without it. The exception is a run with a dead-man's switch, to which it sends signs
// of life. If Redis does not answer, it says so once and retries. It gives up only after the planned end of the run. No
// control character of an error reaches the terminal.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loadctl/loadctl/internal/results"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/internal/spec"
)

// Run shows the run's progress on w until it is over and everything has been published (nil), or ctx has ended (its
// cause). It shows a line in each interval every, accurate to about a second; also if Redis cannot be reached, and when
// the run is over. With every = 0 it shows nothing. It returns an error if the run is gone or cannot be read, or if
// Redis is silent until well after the planned end.
func Run(ctx context.Context, w io.Writer, r *run.Run, every time.Duration) error {
	o := onlooker{every: every, line: newLine(w), closed: r.Spec.Max}
	defer o.line.end()
	if r.Spec.Deadman > 0 {
		here, leave := context.WithCancel(ctx)
		defer leave()
		go StayInTouch(here, r.Spec.Deadman, r.Touch)
	}
	return o.follow(ctx, r)
}

// mostBetween bounds the time between two signs of life, for every --deadman.
const mostBetween = 5 * time.Second

// StayInTouch sends signs of life often enough for a dead-man's switch, until ctx ends. It ignores failures: the next
// sign may arrive, and reading the progress reports that Redis does not answer.
func StayInTouch(ctx context.Context, deadman time.Duration, touch func(context.Context) error) {
	every := min(deadman/3, mostBetween)
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, every)
		_ = touch(limit) // the next one comes anyway
		cancel()
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
}

// An onlooker shows progress when it is time to.
type onlooker struct {
	every    time.Duration
	line     *line
	closed   bool      // the run is a closed loop
	shown    time.Time // when the last line was written
	troubled bool      // the last line says that Redis cannot be reached
}

// follow asks Redis until the run is over. The run does not need us, so if Redis does not answer, follow asks again.
func (o *onlooker) follow(ctx context.Context, r *run.Run) error {
	var f *results.Follower
	look := func() (now results.Progress, err error) {
		if f == nil {
			f, err = results.Follow(ctx, r)
		}
		if err == nil {
			now, err = f.Progress(ctx)
		}
		return now, err
	}
	var heard time.Time    // when the last answer came
	var left time.Duration // of the run at that time; 0 = unknown
	for {
		now, err := o.ask(ctx, r.Name, look)
		wait := time.Second
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, run.ErrNoRun) || errors.Is(err, spec.ErrBroken) || errors.Is(err, spec.ErrNewer) || errors.Is(err, spec.ErrOlder):
			return err
		case err != nil && left > 0 && time.Since(heard) > left+silence:
			return fmt.Errorf("run %s: Redis has not answered since %s, and the planned end is past: %w; when Redis is back, loadctl report %s shows the result",
				r.Name, heard.UTC().Format(time.RFC3339), err, r.Name)
		case err != nil:
			o.trouble(fmt.Sprintf("%s: Redis cannot be reached (%v); trying again", r.Name, err))
		default:
			heard, left = time.Now(), now.Left()
			o.show(now)
			if now.Settled {
				return nil
			}
			wait = now.Next
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// silence is how long Redis may be silent after the planned end before the watch gives up.
const silence = 10 * time.Second

// prompt is how soon Redis answers if nothing is wrong.
const prompt = 500 * time.Millisecond

// ask waits for the answer, and says so if the wait is long. A server that hangs blocks a call for seconds, and the end
// of ctx does not shorten that, so the call is then abandoned.
func (o *onlooker) ask(ctx context.Context, name string, look func() (results.Progress, error)) (now results.Progress, err error) {
	answered := make(chan struct{})
	var answer results.Progress
	var failure error
	go func() {
		answer, failure = look()
		close(answered)
	}()
	late := time.After(prompt)
	for {
		select {
		case <-answered:
			return answer, failure
		case <-late:
			o.trouble(name + ": Redis does not answer; waiting for it")
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// trouble shows why there is no progress, once until there is progress again.
func (o *onlooker) trouble(why string) {
	if o.every > 0 && !o.troubled {
		o.line.show(why)
	}
	o.troubled = true
}

// show shows the progress if it is time to, or if the last line is no longer true.
func (o *onlooker) show(now results.Progress) {
	const early = 500 * time.Millisecond // the ticks are not exact
	due := time.Since(o.shown) >= o.every-early
	if o.every > 0 && (due || o.troubled || now.Settled) {
		o.line.show(describe(now, o.closed))
		o.shown = time.Now()
	}
	o.troubled = false
}
