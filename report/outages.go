package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// outageGap is how far apart two workers may see the same outage, in µs.
const outageGap = 1_000_000

// outages returns the outages of all workers as events. Overlapping outages of several workers are one event.
func outages(workers []WorkerInput) []Event {
	type seen struct {
		record.Outage
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
		events = append(events, outageEvent(whole, by))
	}
	return events
}

// outageEvent returns the event of an outage that some workers saw.
func outageEvent(o record.Outage, by map[string]bool) Event {
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
