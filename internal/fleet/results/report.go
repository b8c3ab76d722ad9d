package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report"
)

// Report merges what the workers have published so far with the state, which says who owned the slots. It needs no
// worker and no stream: the cumulative snapshots have everything.
func Report(ctx context.Context, r *run.Run) (report.Report, error) {
	in, _, err := gather(ctx, r, nil)
	if err != nil {
		return report.Report{}, err
	}
	return build(ctx, r, in), nil
}

// FinalReport is Report for a run that is over. It waits for the last snapshots, at most for patience. An active run is
// reported as it is.
func FinalReport(ctx context.Context, r *run.Run, patience time.Duration) (report.Report, error) {
	if err := waitSettled(ctx, r, patience); err != nil {
		return report.Report{}, err
	}
	return Report(ctx, r)
}

// OwnReport is FinalReport for a worker. It always has what the worker did itself, even if Redis does not; own may be
// nil. missing reports that Redis does not have it.
func OwnReport(ctx context.Context, r *run.Run, patience time.Duration, own *Unpublished) (rep report.Report, missing bool, err error) {
	if err := waitSettled(ctx, r, patience); err != nil {
		return report.Report{}, false, err
	}
	rest := map[string]*Unpublished{}
	if own != nil {
		rest[own.key()] = own
	}
	in, used, err := gather(ctx, r, rest)
	if err != nil {
		return report.Report{}, false, err
	}
	return noted(build(ctx, r, in), used), used > 0, nil
}

// clocks is by how much the clock of a worker may be ahead of that of Redis.
const clocks = time.Second

// waitSettled waits until no more snapshots will come, patience has run out, or the run turns out to be active. For a
// worker whose clock is ahead, the run may be over a moment before it is for Redis: that moment is waited for.
func waitSettled(ctx context.Context, r *run.Run, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		s, err := r.State(ctx)
		if err != nil {
			return err
		}
		if s.EndedAt.IsZero() {
			if left := s.EndsAt.Sub(s.Now()); s.EndsAt.IsZero() || left > clocks || time.Now().After(deadline) {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
			continue
		}
		settled, err := (&Follower{run: r, known: map[string]tally{}}).recount(ctx, s, s.Workers)
		if err != nil || settled || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// gather reads the input of a report, with what workers could not publish. used is for how many of those it is the
// newest.
func gather(ctx context.Context, r *run.Run, rest map[string]*Unpublished) (in report.Input, used int, err error) {
	t, err := readTotals(ctx, r, rest)
	if err != nil {
		return in, 0, err
	}
	series, rest, err := readSeries(ctx, r, rest, t)
	if err != nil {
		return in, 0, err
	}
	s, err := r.State(ctx) // last, so that the snapshots cannot have more than their workers owned
	if err != nil {
		return in, 0, err
	}
	in = report.Input{
		Run: r.Name, StartedAt: s.StartedAt, Duration: s.Elapsed(), Running: s.EndedAt.IsZero(), TargetRate: s.LastRate, AskedBy: requestsAsked(s, r.Spec.Target.StepsPerFlow()),
		ClosedLoop: r.Spec.Max, Concurrency: s.Concurrencies, Planned: r.Spec.Length(), Series: series, Times: t.times,
		Budget: s.Budget(), Limiter: s.Limiter, Warmup: r.Spec.Warmup,
	}
	if in.Concurrency == nil {
		in.Concurrency = r.Spec.Concurrencies()
	}
	in.Steps, in.FromAnswer = r.Spec.CountedSteps(), r.Spec.FromAnswer()
	if in.Thresholds, err = r.Spec.Conditions(); err != nil {
		return in, 0, spec.Broken(r.Name, err.Error())
	}
	in.Queries, in.QueryStale = r.Spec.Queries, r.Spec.Stale()
	if in.Values, err = readAnswers(ctx, r); err != nil {
		return in, 0, err
	}
	if in.Samples, in.Unread, err = Samples(ctx, r); err != nil {
		return in, 0, err
	}
	if !s.Restored.IsZero() {
		in.Missing = append(in.Missing, restoredNote(s.Restored))
	}
	for _, w := range s.Workers {
		x := input(w, t, s)
		in.Budget.Issued += x.Beyond
		if s.Forgetful && x.Total != nil {
			regain(&x, x.Total.Counts.Slots(), &in.Budget)
		}
		in.Workers = append(in.Workers, x)
		delete(t.of, w.Process())
	}
	merge(&in, t.unrecorded())
	used = merge(&in, rest)
	if s.Forgetful && s.Restored.IsZero() {
		settle(&in, s.Budget().Issued)
	}
	in.Budget.Held = unreported(s, in.Workers, in.Budget.Skipped)
	in.Budget.Skipped -= in.Budget.Held
	return in, used, nil
}

// settle takes back slots that the server counts for two workers. A server that went back to an old state believes that
// ranges are still with those who held them then. But others have decided on some of these slots, and each slot has one
// owner. So as many slots less are missing from the workers that have not accounted for all of theirs. issued is how many
// slots there were by the laws.
func settle(in *report.Input, issued int64) {
	twice := in.Budget.Issued - issued
	for _, w := range in.Workers {
		twice -= w.Beyond
	}
	for i := range in.Workers {
		w := &in.Workers[i]
		n := min(max(0, twice), w.Open())
		w.Leased -= n
		in.Budget.Issued -= n
		twice -= n
	}
}

// reporting is how long after a loss a worker that has not reported may have been there before: each reports at least
// every 5 s, in the largest fleet. Later it is a new one.
const reporting = 6 * time.Second

// unreported returns how many of the slots without an owner may be those of workers. A state that has forgotten owners learns
// of them by what the workers report, and each report is up to an interval old. While workers have not joined again, or
// not reported since, any of these slots may be theirs.
func unreported(s *run.State, workers []report.WorkerInput, ownerless int64) int64 {
	switch {
	case !s.Forgetful || !s.EndedAt.IsZero():
		return 0
	case s.Unclaimed():
		return ownerless
	}
	early := s.Now().Sub(s.Restored) < reporting
	here := slices.DeleteFunc(slices.Clone(workers), func(w report.WorkerInput) bool { return !present(w.State) })
	if early && (len(here) == 0 || slices.ContainsFunc(here, func(w report.WorkerInput) bool { return w.Total == nil })) {
		return ownerless
	}
	since := s.Now()
	for _, w := range here {
		if w.Total != nil && run.TimeOf(w.Total.End).Before(since) {
			since = run.TimeOf(w.Total.End)
		}
	}
	return min(ownerless, s.Asked-s.AskedAt(since))
}

// input returns what the report needs of one incarnation.
func input(w run.Worker, t totals, s *run.State) report.WorkerInput {
	in := report.WorkerInput{ID: w.ID, Incarnation: w.Incarnation, LastSeen: w.LastSeen, Leased: w.Owned, Gaps: t.gaps[w.Process()], Total: t.of[w.Process()]}
	var end int64
	final := false
	if in.Total != nil {
		end, final = in.Total.End, in.Total.Final
	}
	if in.Total != nil { // what it decided on before it received a cut was not its own
		in.Beyond = in.Total.Counts.Overrun()
		in.Leased += in.Beyond
		// A process that was suspended while another one took its name decides on slots that others have by then.
		if foreign := in.Total.Counts.Slots() - in.Leased; w.State == "replaced" && foreign > 0 {
			in.Beyond += foreign
			in.Leased += foreign
		}
	}
	in.State, in.Gone = standing(w, end, final, s)
	if w.State == "silent" && s.EndedAt.IsZero() && !final {
		in.State, in.Gone = w.State, false // it may be sending by its lease, and report it later
	}
	return in
}

// restoredNote is the note of a report about a run whose state was lost.
func restoredNote(at time.Time) string {
	return fmt.Sprintf("the run's state was lost from Redis and restored at %s: earlier requests are known only from the workers that were there afterwards, "+
		"and earlier changes and pauses not at all",
		at.Format(time.RFC3339))
}

// standing returns the state of one incarnation whose last snapshot goes up to end, µs, and whether it is gone. What
// it holds counts as lost once it cannot report any more.
func standing(w run.Worker, end int64, final bool, s *run.State) (state string, gone bool) {
	// Snapshots also come from a worker that owns nothing any more and waits for answers.
	lastSeen := w.LastSeen
	if end > lastSeen.UnixMicro() {
		lastSeen = run.TimeOf(end)
	}
	state = w.State
	silent := s.Now().Sub(lastSeen) > s.Silence()
	if silent && (w.State == "active" || w.State == "silent") {
		state = "lost"
	}
	return state, final || silent || w.State == "lost" || w.State == "replaced" || w.State == "removed"
}
