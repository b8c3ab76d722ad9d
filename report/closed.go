package report

import (
	"fmt"
	"time"
)

// overConnections says how many connections a closed loop used, of all workers; nothing where that is not known. Of the processes that a
// worker had one after the other the one with most counts.
func (r *Report) overConnections() string {
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

// worthSaying is how long a closed loop must have stood still for a note, ns: less is lost in the mean of a second.
const worthSaying = 100_000_000

// closedNotes is what to know about the figures of a closed loop: its rate is what came of it, so all that made it less is told.
func (r *Report) closedNotes(workers []WorkerInput) []string {
	notes := []string{closedLoop}
	if ended := r.Audit.Completed + r.Audit.Failed; r.Audit.Failed > 0 && float64(r.Audit.Failed) >= errorLimit*float64(ended) {
		notes = append(notes, fmt.Sprintf("%s %% of the requests failed, and the rate of sent contains them: the endpoint may not have done their work",
			percent(ratio(float64(r.Audit.Failed), float64(ended)))))
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
		{silent, "a worker sent nothing for about %s: Redis did not answer it; the rates are over all the time, this too"},
		{paused, "paused for %s; the rates are over all the time, this too"},
	} {
		if still.ns >= worthSaying {
			notes = append(notes, fmt.Sprintf(still.text, time.Duration(still.ns).Round(worthSaying)))
		}
	}
	return notes
}
