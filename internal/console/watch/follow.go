package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// A display shows a run to a person.
type display interface {
	Show(results.Look)
	Trouble(why string) // until the next Show; why may have control characters
}

// A looker looks at the run, once for each call.
type looker func(context.Context) (results.Look, error)

// follow looks at the run until it is over. The run does not need us, so if Redis does not answer, follow asks again.
func follow(ctx context.Context, name string, look looker, d display) error {
	var heard time.Time    // when the last answer came
	var left time.Duration // of the run at that time; 0 = unknown
	for {
		now, err := ask(ctx, name, look, d)
		wait := time.Second
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, run.ErrNoRun) || errors.Is(err, spec.ErrBroken) || errors.Is(err, spec.ErrNewer) || errors.Is(err, spec.ErrOlder):
			return err
		case err != nil && left > 0 && time.Since(heard) > left+silence:
			return fmt.Errorf("run %s: Redis has not answered since %s, and the planned end is past: %w; when Redis is back, loadctl report %s shows the result",
				name, heard.UTC().Format(time.RFC3339), err, name)
		case err != nil:
			d.Trouble(fmt.Sprintf("%s: Redis cannot be reached (%v); trying again", name, err))
		default:
			heard, left = time.Now(), now.Left()
			d.Show(now)
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
// of ctx does not shorten that, so the call is then abandoned. A panic of the call is one of ask: its caller may have a
// terminal to give back.
func ask(ctx context.Context, name string, look looker, d display) (now results.Look, err error) {
	answered := make(chan struct{})
	var answer results.Look
	var failure error
	var bug any
	go func() {
		defer close(answered)
		defer func() { bug = recover() }()
		answer, failure = look(ctx)
	}()
	late := time.After(prompt)
	for {
		select {
		case <-answered:
			if bug != nil {
				panic(bug)
			}
			return answer, failure
		case <-late:
			d.Trouble(name + ": Redis does not answer; waiting for it")
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}
