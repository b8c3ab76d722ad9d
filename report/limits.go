package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A limitLine is one cause of a limit, for all workers that met it.
type limitLine struct {
	Verdict        // the verdict on the worker that it limited most
	worst   string // the id of that worker
	workers int    // number of workers that met it
}

// String formats the line for people.
func (l limitLine) String() string {
	if l.workers == 1 {
		return fmt.Sprintf("%s, %s: %s", l.worst, l.Limit, l.Text)
	}
	return fmt.Sprintf("%d workers, %s; the worst, %s: %s", l.workers, l.Limit, l.worst, l.Text)
}

// limits condenses the verdicts on all workers to one for each cause, the worst causes first.
func (r Report) limits() []limitLine {
	lines := map[Verdict]*limitLine{} // by limit and cause
	most := map[Verdict]float64{}
	met := map[Verdict]map[string]bool{}
	var order []Verdict
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			key := Verdict{Limit: v.Limit, Cause: v.Cause}
			if lines[key] == nil {
				lines[key], met[key], most[key] = &limitLine{}, map[string]bool{}, -1
				order = append(order, key)
			}
			met[key][w.ID] = true
			if n := w.extent(v.Cause); n > most[key] {
				most[key], lines[key].Verdict, lines[key].worst = n, v, w.ID
			}
			lines[key].workers = len(met[key])
		}
	}
	slices.SortStableFunc(order, func(a, b Verdict) int { return cmp.Compare(a.rank(), b.rank()) })
	all := make([]limitLine, len(order))
	for i, key := range order {
		all[i] = *lines[key]
	}
	return all
}

// rank returns the position of a verdict's rule among all rules. An unknown cause comes last.
func (v Verdict) rank() int {
	rules := verdictRules()
	i := slices.IndexFunc(rules, func(r verdictRule) bool { return r.cause == v.Cause })
	if i < 0 {
		return len(rules)
	}
	return i
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

// within returns what a worker measured, with no time longer than the run: a worker measures on while it waits for the
// last answers. It does not change the snapshot. nil stays nil; a length of 0 means unknown.
func within(s *Snapshot, length time.Duration) *Snapshot {
	if s == nil || length <= 0 {
		return s
	}
	most, cut := length.Nanoseconds(), *s
	cut.Self.Wall = min(cut.Self.Wall, most)
	for _, t := range cut.Self.limited() {
		*t.ns = min(*t.ns, most)
	}
	for _, l := range cut.Self.loads() {
		l.Over = min(l.Over, most)
	}
	return &cut
}
