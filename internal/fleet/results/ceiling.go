package results

import (
	"context"
	"encoding/json"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
)

// A Ceiling is the highest rate of the whole cluster at which a worker takes part: its --max-qps.
type Ceiling struct {
	Worker  string
	MaxRate pacer.Rate
}

// Ceilings returns those of the workers that take part in the run, in the order of their names. A worker reports its
// own with its counts. So it is known about a second after the worker has joined.
func Ceilings(ctx context.Context, r *run.Run) ([]Ceiling, error) {
	s, err := r.Presence(ctx)
	if err != nil {
		return nil, err
	}
	var here []run.Worker
	for _, w := range s.Workers {
		if present(w.State) && s.EndedAt.IsZero() {
			here = append(here, w)
		}
	}
	texts, err := lastCounts(ctx, r, here)
	if err != nil {
		return nil, run.Explain("read run", r.Name, err)
	}
	var all []Ceiling
	for i, w := range here {
		var t counted
		if json.Unmarshal([]byte(texts[i]), &t) == nil && t.MaxRate.Num > 0 { // what cannot be read says nothing
			all = append(all, Ceiling{w.ID, t.MaxRate})
		}
	}
	return all, nil
}
