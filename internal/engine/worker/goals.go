package worker

import (
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// A streaming client tells when events of answers came.
type streaming interface{ Gaps(g events.Gaps) }

// gaps records the times between events of answers of a shard.
type gaps struct{ *shard }

// Gap implements events.Gaps.
func (s gaps) Gap(step int, ns int64) { s.recorder.Gap(step, ns) }

// judge adds to a request that has ended what is known of its events, and whether it met the goals of its step.
func (s *shard) judge(f *record.Finished, r *targets.Result) {
	e := r.Events
	if e != nil && e.Count > 0 {
		f.Stream = &record.Stream{First: e.First, Last: e.Last, Events: e.Count}
		if e.Preset {
			f.Stream.TokensIn, f.Stream.TokensOut, f.Stream.Usage = e.In, e.Tokens(), e.Usage
			if ns, ok := e.PerToken(); ok {
				f.Stream.PerToken = max(1, ns) // all tokens may have come with one read, which is a time too
			}
		}
	}
	if r.Call.Step >= len(s.goals) || len(s.goals[r.Call.Step]) == 0 {
		return
	}
	f.Judged, f.Good = true, true
	times := events.Times{Due: r.Due, Sent: r.Sent, First: r.First, Done: r.Done}
	for i := range s.goals[r.Call.Step] {
		f.Good = f.Good && s.goals[r.Call.Step][i].Met(times, e)
	}
}

// listen makes the shards note the times between events, and judge goals.
func (e *engine) listen() {
	for _, s := range e.shards {
		s.goals = e.Goals
		if client, ok := s.client.(streaming); ok {
			client.Gaps(gaps{s})
		}
	}
}
