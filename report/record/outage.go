package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

const (
	// MaxOutages bounds the outages of a snapshot; it keeps the last ones.
	MaxOutages = 16

	// shortestOutage is the shortest outage that is noted, in µs. A worker publishes once a second, so one failed
	// attempt is shorter.
	shortestOutage = 1_500_000
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
		s.Outages = append(slices.Clone(s.Outages[max(0, n+1-MaxOutages):]), Outage{from, to})
	}
}

// checkOutages refuses decoded outages that no worker writes.
func (s *Snapshot) checkOutages() error {
	if len(s.Outages) > MaxOutages {
		return fmt.Errorf("%d outages, more than %d", len(s.Outages), MaxOutages)
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
