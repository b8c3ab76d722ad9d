// Package fleet lets a program take part in a run: under the shared rate of the fleet it calls a function of its own, where a
// worker sends requests.
//
//	err := fleet.Join(ctx, "redis://10.0.0.5:6379", "migrate", func(ctx context.Context, c fleet.Call) fleet.Outcome {
//		return fleet.Outcome{Err: migrate(ctx, c.Number)}
//	})
//
// The run is created with a URL of the scheme program: loadctl create migrate --url program://rows --qps 500 --min-workers 2.
// loadctl watches, changes and reports it like any other, and the audit holds: each slot is one call, or is counted under
// one reason for not calling.
package fleet

import (
	"context"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/loadworker"
)

// A Call is one request: Number is the ordinal of its slot, from 0. In a run with a rate no other call of the same Step has it,
// unless a process was replaced or the rate was changed in a moment when a worker could not be reached. In a closed loop each
// process counts its own. URL and Body have their placeholders filled.
type Call = targets.Request

// An Outcome is what became of a call. The zero value is a success.
type Outcome = targets.Answer

// Join takes part in a run until it has ended, or until ctx ends. Calls of do are concurrent, at most 1,000 at a time. The
// context of a call ends with the timeout of the run. A call that goes on counts as timed out, and may go on after Join has
// returned; a call that panics has failed.
//
// It returns nil when the run has ended, whatever its thresholds say, and the cause of ctx if that ended before: then the
// program has left the run, and the others have its share. An error is one line that says what to do; without a server, or if
// there is no such run, do was not called.
func Join(ctx context.Context, redisURL, run string, do func(context.Context, Call) Outcome) error {
	program := targets.Program()
	program.Open = func(targets.Spec, targets.Local) (targets.Sender, error) { return sender(do), nil }
	return loadworker.Join(ctx, redisURL, run, program)
}

// A sender makes a function a targets.Sender.
type sender func(context.Context, Call) Outcome

// Do implements targets.Sender.
func (s sender) Do(ctx context.Context, c Call) Outcome { return s(ctx, c) }

// Close implements targets.Sender. There is nothing to free, and the engine calls no function after it.
func (sender) Close() error { return nil }
