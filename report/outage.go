package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// maxOutages bounds the outages of a snapshot; it keeps the last ones.
	maxOutages = 16

	// shortestOutage is the shortest outage that is noted, in µs. A worker publishes once a second, so one failed
	// attempt is shorter.
	shortestOutage = 1_500_000

	// outageGap is how far apart two workers may see the same outage, in µs.
	outageGap = 1_000_000
)

// An Outage is a time in which a worker could not publish: Redis was away, or the worker was cut off from it.
type Outage struct {
	From int64 `json:"from"` // µs of the Redis clock, as the worker knows it
	To   int64 `json:"to"`
}

// Outage notes that nothing could be published between two times, in µs of the Redis clock. To extend an outage, note
// it again with the same start and a later end. Short outages are ignored.
func (s *Snapshot) Outage(from, to int64) {
	n := len(s.Outages)
	switch {
	case to-from < shortestOutage:
	case n > 0 && s.Outages[n-1].From == from:
		s.Outages[n-1].To = to
	default:
		s.Outages = append(slices.Clone(s.Outages[max(0, n+1-maxOutages):]), Outage{from, to})
	}
}

// checkOutages refuses decoded outages that no worker writes.
func (s *Snapshot) checkOutages() error {
	if len(s.Outages) > maxOutages {
		return fmt.Errorf("%d outages, more than %d", len(s.Outages), maxOutages)
	}
	for _, o := range s.Outages {
		if err := cmp.Or(checkCount("from", o.From), checkCount("to", o.To)); err != nil {
			return err
		}
		if o.From > o.To {
			return errors.New("an outage ends before it begins")
		}
	}
	return nil
}

// outages returns the outages of all workers as events. Overlapping outages of several workers are one event.
func outages(workers []WorkerInput) []Event {
	type seen struct {
		Outage
		worker string
	}
	var all []seen
	for _, w := range workers {
		if w.Total != nil {
			for _, o := range w.Total.Outages {
				all = append(all, seen{o, w.ID})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b seen) int { return cmp.Compare(a.From, b.From) })
	var events []Event
	for len(all) > 0 {
		whole, by := all[0].Outage, map[string]bool{}
		for len(all) > 0 && all[0].From <= whole.To+outageGap {
			whole.To = max(whole.To, all[0].To)
			by[all[0].worker] = true
			all = all[1:]
		}
		events = append(events, whole.event(by))
	}
	return events
}

// event returns the event of an outage that some workers saw.
func (o Outage) event(by map[string]bool) Event {
	e := Event{At: time.UnixMicro(o.From).UTC(), Kind: "outage", Who: "-"}
	who := fmt.Sprintf("%d workers", len(by))
	if len(by) == 1 {
		for e.Who = range by {
			who = "it"
		}
	}
	e.What = fmt.Sprintf("%s could not publish for %.1f s", who, float64(o.To-o.From)/1e6)
	return e
}
