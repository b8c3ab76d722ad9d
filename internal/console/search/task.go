package search

import (
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/threshold"
)

// A Task is a search as a person asks for it.
type Task struct {
	Plan
	Objectives []threshold.Threshold
	Length     time.Duration // of the judged window of each probe, whole seconds
	Settle     time.Duration // least time between a new rate and its window
}

// mostDrain bounds the wait for requests that a probe left in flight.
const mostDrain = time.Minute

// Driver returns what plays the probes with a run that goes on.
func (t *Task) Driver(r *run.Run) *Driver {
	target := r.Spec.Target
	flow, pause := target.Pauses() // until the first flows have sent all, the rate of requests rises
	return &Driver{
		Fleet: &workers{run: r}, Objectives: t.Objectives, Length: t.Length, Settle: t.Settle + flow,
		Drain: min(mostDrain, target.Timeout+5*time.Second) + flow, Steps: target.StepsPerFlow(), Pause: pause,
	}
}
