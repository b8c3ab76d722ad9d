package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/report/record"
)

// A Limit is one cause of a limit, for all workers that met it.
type Limit struct {
	record.Verdict        // the verdict on the worker that it limited most
	worst          string // the id of that worker
	Workers        int    // number of workers that met it
}

// String formats the line for people.
func (l Limit) String() string {
	if l.Workers == 1 {
		return fmt.Sprintf("%s, %s: %s", l.worst, l.Limit, l.Text)
	}
	return fmt.Sprintf("%d workers, %s; the worst, %s: %s", l.Workers, l.Limit, l.worst, l.Text)
}

// Limits condenses the verdicts on all workers to one for each cause, the worst causes first.
func (r Report) Limits() []Limit {
	lines := map[record.Verdict]*Limit{} // by limit and cause
	most := map[record.Verdict]float64{}
	met := map[record.Verdict]map[string]bool{}
	var order []record.Verdict
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			key := record.Verdict{Limit: v.Limit, Cause: v.Cause}
			if lines[key] == nil {
				lines[key], met[key], most[key] = &Limit{}, map[string]bool{}, -1
				order = append(order, key)
			}
			met[key][w.ID] = true
			if n := w.extent(v.Cause); n > most[key] {
				most[key], lines[key].Verdict, lines[key].worst = n, v, w.ID
			}
			lines[key].Workers = len(met[key])
		}
	}
	slices.SortStableFunc(order, func(a, b record.Verdict) int { return cmp.Compare(a.Rank(), b.Rank()) })
	all := make([]Limit, len(order))
	for i, key := range order {
		all[i] = *lines[key]
	}
	return all
}

// extent measures how much a cause limited a worker, to compare workers.
func (w WorkerReport) extent(cause string) float64 {
	switch cause {
	case "late":
		return float64(w.SeenLate)
	case "max_in_flight":
		return float64(w.NoRoom)
	case "opening":
		return float64(w.Opening)
	case "busy":
		return float64(w.Busy)
	case "wait":
		return max(w.Self.Load["wait"].OverS, w.Self.Load["shard_wait"].OverS)
	}
	return w.Self.Load[cause].OverS
}
