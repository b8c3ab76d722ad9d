package results

import (
	"context"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// A Look is what is known of a run at one time: how it is now, and its report so far.
type Look struct {
	Progress

	// StepsPerFlow is the mean number of requests of a flow, 1 without flows; 0 = it is unknown. Rate and RateThen count
	// flows, and commands count requests.
	StepsPerFlow float64

	// Report is that of the run so far. When Settled is true, it is the report that loadctl report prints.
	Report report.Report

	// Pulses say what each process did in its newest interval, by worker/incarnation. A process that has published
	// nothing since Live began has none.
	Pulses map[string]Pulse
}

// A Pulse is what one process of a worker did in its newest interval.
type Pulse struct {
	Start, End int64 // µs of the Redis clock
	Sent       int64 // requests
	InFlight   int64 // sent and not ended at the end
	LagP99NS   int64 // sent − due; 0 = nothing was sent
}

// Live keeps the report of a run current. The first Look reads all that the workers have published. Each later one
// reads what is new, so that watching costs Redis little. It is not safe for concurrent use.
type Live struct {
	run    *run.Run
	follow *Follower
	pulses map[string]Pulse
}

// NewLive begins to watch a run. It reads nothing yet.
func NewLive(r *run.Run) *Live { return &Live{run: r, pulses: map[string]Pulse{}} }

// Look reads the run. Call it again after Next. After an error the same Live can be used on.
func (l *Live) Look(ctx context.Context) (Look, error) {
	if l.follow == nil {
		f, err := Follow(ctx, l.run)
		if err != nil {
			return Look{}, err
		}
		l.follow = f
	}
	p, err := l.follow.Progress(ctx)
	if err != nil {
		return Look{}, err
	}
	for _, beat := range p.Beats {
		l.pulses[beat.Worker+"/"+beat.Incarnation] = pulse(beat)
	}
	rep, err := Report(ctx, l.run)
	return Look{Progress: p, StepsPerFlow: l.run.Spec.Target.StepsPerFlow(), Report: rep, Pulses: l.pulses}, err
}

// pulse returns what an interval says of its process.
func pulse(beat *record.Snapshot) Pulse {
	return Pulse{Start: beat.Start, End: beat.End, Sent: beat.Counts.Requests(), LagP99NS: beat.Lag.Quantile(0.99)}
}
