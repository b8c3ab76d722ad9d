package report

import (
	"fmt"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// Loop returns what a closed loop asked for, and what that means.
func (r *Report) Loop() (asked, meaning string) {
	if asked = units.InFlight(r.Concurrency); asked != "" {
		return asked, "as many requests in flight"
	}
	return "max", "as fast as it goes"
}

// OverConnections says how many connections all workers of a closed loop used; "" if that is not known. Of the
// processes that a worker had one after the other it counts the one with most.
func (r *Report) OverConnections() string {
	most := map[string]int64{}
	for _, w := range r.Workers {
		most[w.ID] = max(most[w.ID], w.MostInFlight)
	}
	var all int64
	for _, n := range most {
		all += n
	}
	switch all {
	case 0:
		return ""
	case 1:
		return " over 1 connection"
	}
	return fmt.Sprintf(" over %d connections", all)
}

// leastStandstill is how long a closed loop must have stood still for a note, in ns. A shorter pause hardly changes the
// mean.
const leastStandstill = 100_000_000

// closedNotes returns notes on the figures of a closed loop. Its rate is a result, so the notes list all that lowered
// it.
func (r *Report) closedNotes(workers []WorkerInput) []string {
	notes := []string{closedLoop}
	if ended := r.Audit.Completed + r.Audit.Failed; r.Audit.Failed > 0 && float64(r.Audit.Failed) >= record.ErrorLimit*float64(ended) {
		notes = append(notes, fmt.Sprintf("%s %% of the requests failed, and the rate of sent includes them: the endpoint may not have done their work",
			units.Percent(units.Ratio(float64(r.Audit.Failed), float64(ended)))))
	}
	var silent, paused int64
	for _, w := range workers {
		if w.Total != nil {
			silent, paused = max(silent, w.Total.Self.Silent), max(paused, w.Total.Self.Paused)
		}
	}
	for _, still := range []struct {
		ns   int64
		text string
	}{
		{silent, "a worker sent nothing for about %s because Redis did not answer; the rates include that time"},
		{paused, "paused for %s; the rates include that time"},
	} {
		if still.ns >= leastStandstill {
			notes = append(notes, fmt.Sprintf(still.text, time.Duration(still.ns).Round(leastStandstill)))
		}
	}
	return notes
}
