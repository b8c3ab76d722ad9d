// Package watch shows the progress of a run until it is over: on a whole terminal, in one line of a terminal that is
// rewritten, or elsewhere in plain lines.
//
//	err := watch.Run(ctx, watch.Options{Out: os.Stderr, Every: time.Second}, r)
//	if err != nil { … }
//	rep, err := results.FinalReport(ctx, r, patience)
//
// It only watches: the run goes on without it. The exceptions are commands of the person at the terminal, and a run with
// a dead-man's switch, to which it sends signs of life. If Redis does not answer, it says so once and retries. It gives up
// only after the planned end of the run. No control character of an error reaches the terminal.
package watch

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Options say how a run is shown. The zero value shows nothing.
type Options struct {
	Out   io.Writer     // for lines; it becomes a whole screen if it is a terminal, and Keys and Data are too
	Every time.Duration // how often a line is shown; 0 = nothing is shown

	Keys  io.Reader // the keyboard
	Data  io.Writer // for what the command will print: a pipe means that a program reads it, and nobody looks
	Plain bool      // never a whole screen

	ReadOnly bool // the keyboard gives no commands
	Leaves   bool // q ends Run, with ErrLeft; else lines follow
}

// ErrLeft says that the person at the terminal does not want to see more. The run goes on.
var ErrLeft = errors.New("left")

// Run shows the run's progress until it is over and everything has been published (nil), or ctx has ended (its cause).
// It shows a line in each interval Every, accurate to about a second; also if Redis cannot be reached, and when the run
// is over. It returns an error if the run is gone or cannot be read, or if Redis is silent until well after the planned
// end.
func Run(ctx context.Context, o Options, r *run.Run) error {
	if r.Spec.Deadman > 0 {
		here, leave := context.WithCancel(ctx)
		defer leave()
		go Heartbeat(here, r.Spec.Deadman, r.Touch)
	}
	if in, out := o.terminal(); in != nil {
		err := onScreen(ctx, o, in, out, r, nil)
		if o.Leaves || !errors.Is(err, ErrLeft) {
			return err
		}
	}
	return inLines(ctx, newLine(o.Out), o.Every, r)
}

// mostBetween bounds the time between two signs of life, for every --deadman.
const mostBetween = 5 * time.Second

// Heartbeat sends signs of life often enough for a dead-man's switch, until ctx ends. It ignores failures: the next
// sign may arrive, and reading the progress reports that Redis does not answer.
func Heartbeat(ctx context.Context, deadman time.Duration, touch func(context.Context) error) {
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
