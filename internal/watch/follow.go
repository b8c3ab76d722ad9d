// Package watch shows how a run goes, until it is over: one line that is written anew on a terminal, plain lines elsewhere.
//
//	err := watch.Run(ctx, os.Stderr, r, time.Second)
//	if err != nil { … }
//	rep, err := r.FinalReport(ctx, patience)
//
// It only looks on: the run goes on without it, unless it has a deadman's switch, which is told that somebody is there. Where Redis does not answer it says so once and asks again, and gives up only when the
// run's planned end is past too. Whatever an error quotes, no control character reaches the terminal.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loadctl/loadctl/internal/run"
)

// Run shows the run's progress on w until it is over and everything has been published (nil), or ctx has ended (its cause). It shows
// a line every so often, to about a second, and besides when Redis cannot be asked and when the run is over; with every = 0 nothing.
// It is an error if the run is gone or cannot be read, or if Redis has said nothing until well after the planned end.
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

// mostBetween is how long may pass between two signs of life, whatever the switch.
const mostBetween = 5 * time.Second

// StayInTouch gives a sign of life often enough for a deadman's switch, until ctx ends. Where one fails the next one may not: that Redis
// does not answer is told by who reads the progress.
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

// An onlooker shows what there is to show, when it is time to.
type onlooker struct {
	every    time.Duration
	line     *line
	closed   bool      // the run is a closed loop
	shown    time.Time // when the last line was written
	troubled bool      // the last line says that Redis cannot be asked
}

// follow asks until there is nothing left to ask for. The run does not need us: where Redis does not answer, the question is asked
// again.
func (o *onlooker) follow(ctx context.Context, r *run.Run) error {
	var f *run.Follower
	look := func() (now run.Progress, err error) {
		if f == nil {
			f, err = r.Follow(ctx)
		}
		if err == nil {
			now, err = f.Progress(ctx)
		}
		return now, err
	}
	var heard time.Time    // when there was an answer
	var left time.Duration // of the run at that time; 0 = not known
	for {
		now, err := o.ask(ctx, r.Name, look)
		wait := time.Second
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, run.ErrNoRun) || errors.Is(err, run.ErrBroken) || errors.Is(err, run.ErrNewer) || errors.Is(err, run.ErrOlder):
			return err
		case err != nil && left > 0 && time.Since(heard) > left+silence:
			return fmt.Errorf("run %s: Redis has not answered since %s, and the planned end is past: %w; when it is back, loadctl report %s tells what became of it",
				r.Name, heard.UTC().Format(time.RFC3339), err, r.Name)
		case err != nil:
			o.trouble(fmt.Sprintf("%s: Redis cannot be asked (%v); trying again", r.Name, err))
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

// silence is how long after the planned end Redis may say nothing before nobody waits for it any more.
const silence = 10 * time.Second

// prompt is how soon Redis answers where nothing is wrong.
const prompt = 500 * time.Millisecond

// ask waits for the answer as long as it takes, and says so where that is long. A server that hangs holds a call for seconds, which
// the end of ctx does not shorten, so the call is then left alone.
func (o *onlooker) ask(ctx context.Context, name string, look func() (run.Progress, error)) (now run.Progress, err error) {
	answered := make(chan struct{})
	var answer run.Progress
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

// trouble shows why there is no progress to show, once until there is.
func (o *onlooker) trouble(why string) {
	if o.every > 0 && !o.troubled {
		o.line.show(why)
	}
	o.troubled = true
}

// show shows the progress if it is time to, or if what was shown last is not true any more.
func (o *onlooker) show(now run.Progress) {
	const early = 500 * time.Millisecond // looking is not exact to the second
	due := time.Since(o.shown) >= o.every-early
	if o.every > 0 && (due || o.troubled || now.Settled) {
		o.line.show(describe(now, o.closed))
		o.shown = time.Now()
	}
	o.troubled = false
}
