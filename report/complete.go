package report

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// namePattern matches names of runs and workers that can stand in a command.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]*$`

// UnpublishedFile returns the name of the file in which one process of a worker saves its counts if Redis does not take
// them.
func UnpublishedFile(run, worker, incarnation string) string {
	return fmt.Sprintf("loadctl-%s-%s-%s.json", run, worker, incarnation)
}

// setComplete reports whether the report is complete:
//
//	complete = the run is over, and the final snapshot of every incarnation is in, and no incarnation was forgotten,
//	           and the audit adds up, and the series has all requests, and as many are accounted for as the rate
//	           asked for, and in.Missing is empty
//
// A final snapshot contains all that its process did. So a complete report contains all that the workers did.
func (r *Report) setComplete(in Input) {
	unknown := in.unfinished()
	missing := append(slices.Clone(in.Missing), in.forgotten()...)
	r.Complete = !in.Running && len(missing) == 0 && len(unknown) == 0
	r.Notes = append(r.Notes, missing...)
	if n := r.seriesLacks(); r.Complete && n > 0 {
		r.Complete = false
		r.Notes = append(r.Notes, fmt.Sprintf("%d requests are missing from the series, because Redis has lost points; all other figures include them", n))
	}
	if asked := in.Budget.Asked; r.Complete && !in.ClosedLoop && asked > 0 && asked != r.Audit.Asked {
		r.Complete = false
		r.Notes = append(r.Notes, fmt.Sprintf("the rate asked for %d requests, and %d are accounted for: Redis may have gone back to an old state, so what was lost or skipped is not certain", asked, r.Audit.Asked))
	}
	r.Notes = append(r.Notes, missingFinals(in.Run, unknown)...)
	if err := r.CheckAudit(); err != nil {
		r.Complete = false
		r.Notes = append(r.Notes, err.Error())
	}
	if r.OutOfRange > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d values above 1 h are in no histogram", r.OutOfRange))
	}
	if kept := r.Audit.kept(r.followedLate()); kept < 1 {
		r.LowerBoundsAbove = &kept
	}
	r.unanswered()
	r.unmade()
	if r.Complete { // else slots that look unsent may have been sent
		r.shortfall()
	}
}

// final reports whether all that the process did is known.
func (w WorkerInput) final() bool { return w.Total != nil && w.Total.Final }

// forgotten returns a note if processes took part of which nothing is known: workers have reported more processes than
// there are.
func (in Input) forgotten() []string {
	var known int64
	for _, w := range in.Workers {
		if w.Total != nil {
			known = max(known, w.Total.Processes)
		}
	}
	n := known - int64(len(in.Workers))
	if n <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("Redis has forgotten %d of the %d processes that took part, in a restart or failover: the requests that they sent are not counted", n, known)}
}

// seriesLacks returns how many sent requests are in no point of the series; 0 for a series without points.
func (r *Report) seriesLacks() int64 {
	if len(r.Histograms.Series) == 0 {
		return 0
	}
	lacks := r.Audit.Sent
	for _, p := range r.Histograms.Series {
		lacks -= p.Sent
	}
	return lacks
}

// unfinished returns the incarnations whose final snapshot is missing. While the run goes on, only an incarnation that
// is gone can lack it. In a run that never began nobody has sent anything.
func (in Input) unfinished() []WorkerInput {
	if in.neverBegun() {
		return nil
	}
	var missing []WorkerInput
	for _, w := range in.Workers {
		if !w.final() && (w.Gone || !in.Running) {
			missing = append(missing, w)
		}
	}
	return missing
}

// neverBegun reports whether the run ended before its first slot.
func (in Input) neverBegun() bool {
	sent := func(w WorkerInput) bool { return w.Total != nil && w.Total.Counts != (record.Counts{}) }
	return !in.Running && in.StartedAt.IsZero() && in.Budget == (Budget{}) && !slices.ContainsFunc(in.Workers, sent)
}

// missingFinals returns a note for each worker whose final snapshot is missing: what is not counted, and how to add it.
// The number of notes is bounded.
func missingFinals(run string, workers []WorkerInput) []string {
	var notes []string
	for _, w := range workers[:min(len(workers), MaxListedWorkers)] {
		lack := "no snapshot arrived, so nothing that it sent is counted"
		if w.Total != nil {
			lack = "its final snapshot is missing, so what it sent after " + time.UnixMicro(w.Total.End).UTC().Format(time.RFC3339) + " is not counted"
		}
		note := fmt.Sprintf("worker %s: %s", w.ID, lack)
		if file := UnpublishedFile(run, w.ID, w.Incarnation); regexp.MustCompile(namePattern).MatchString(file) {
			note += fmt.Sprintf(". If it left %s, add that: loadctl report %s --merge %s (a killed process leaves none)", file, run, file)
		}
		notes = append(notes, note)
	}
	if hidden := len(workers) - len(notes); hidden > 0 {
		notes = append(notes, fmt.Sprintf("%d more workers: the final snapshot is missing; -o json lists them (\"final\": false)", hidden))
	}
	return notes
}

// MaxListedWorkers bounds the workers that texts list; JSON has them all.
const MaxListedWorkers = 20
