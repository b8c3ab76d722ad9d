package run

import (
	"context"
	"time"

	"github.com/loadctl/loadctl/report"
)

// Report merges what the workers have published so far with the state, which tells who owned the slots. It needs no
// worker and no stream: the cumulative snapshots have everything.
func (r *Run) Report(ctx context.Context) (report.Report, error) {
	in, _, err := r.gather(ctx, nil)
	if err != nil {
		return report.Report{}, err
	}
	return r.build(ctx, in), nil
}

// FinalReport is Report of a run that is over, after the last snapshot of every worker that can still send one, or
// after patience. An active run is reported as it is.
func (r *Run) FinalReport(ctx context.Context, patience time.Duration) (report.Report, error) {
	if err := r.waitSettled(ctx, patience); err != nil {
		return report.Report{}, err
	}
	return r.Report(ctx)
}

// OwnReport is FinalReport for a worker. It always has what the worker did itself, even if Redis does not; own may be
// nil. missing reports that Redis does not have it.
func (r *Run) OwnReport(ctx context.Context, patience time.Duration, own *Unpublished) (rep report.Report, missing bool, err error) {
	if err := r.waitSettled(ctx, patience); err != nil {
		return report.Report{}, false, err
	}
	rest := map[string]*Unpublished{}
	if own != nil {
		rest[own.key()] = own
	}
	in, used, err := r.gather(ctx, rest)
	if err != nil {
		return report.Report{}, false, err
	}
	return merged(r.build(ctx, in), used), used > 0, nil
}

// waitSettled waits until no more snapshots will come, patience has run out, or the run turns out to be active.
func (r *Run) waitSettled(ctx context.Context, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		s, err := r.State(ctx)
		if err != nil || s.EndedAt.IsZero() {
			return err
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
func (r *Run) gather(ctx context.Context, rest map[string]*Unpublished) (in report.Input, used int, err error) {
	t, err := r.totals(ctx, rest)
	if err != nil {
		return in, 0, err
	}
	series, rest, err := r.series(ctx, rest, t)
	if err != nil {
		return in, 0, err
	}
	s, err := r.State(ctx) // last, so that the snapshots cannot have more than their workers owned
	if err != nil {
		return in, 0, err
	}
	in = report.Input{
		Run: r.Name, StartedAt: s.StartedAt, Duration: s.elapsed(), Running: s.EndedAt.IsZero(), TargetRate: s.target, AskedBy: s.askedBy,
		ClosedLoop: r.Spec.Max, Planned: r.Spec.Length(), Series: series, Times: t.times,
		Budget: report.Budget{Issued: s.issued + s.untaken(), Skipped: s.idle + s.untaken()}, Limiter: s.Limiter,
	}
	if err := r.Spec.toMeet(&in); err != nil {
		return in, 0, broken(r.Name, err.Error())
	}
	if !s.restored.IsZero() {
		in.Missing = append(in.Missing, restoredNote(s.restored))
	}
	for _, w := range s.Workers {
		x := w.input(t, s)
		in.Budget.Issued += x.Beyond
		if s.forgetful && x.Total != nil {
			regain(&x, x.Total.Counts.Slots(), &in.Budget)
		}
		in.Workers = append(in.Workers, x)
		delete(t.of, w.key())
	}
	merge(&in, t.unrecorded())
	return in, merge(&in, rest), nil
}

// untaken returns how many past slots have no owner in the state: it was lost, or has forgotten a member.
func (s *State) untaken() int64 { return max(0, s.Asked-s.issued) }

// elapsed returns the time from the first t0 to the end, or to now.
func (s *State) elapsed() time.Duration {
	if s.StartedAt.IsZero() {
		return 0
	}
	end := s.now
	if !s.EndedAt.IsZero() {
		end = s.EndedAt
	}
	return max(0, end.Sub(s.StartedAt))
}

func (w Worker) key() string { return w.ID + "/" + w.Incarnation }

// silence returns how long a worker that can still report may be silent. Large fleets publish less often, and spread
// their last snapshots.
func (s *State) silence() time.Duration {
	return 2*time.Second + report.SnapshotPeriod(int64(len(s.Workers)))
}

// standing returns the state of one incarnation whose last snapshot goes up to end, µs, and whether it is gone. What
// it holds counts as lost once it cannot report any more.
func (w Worker) standing(end int64, final bool, s *State) (state string, gone bool) {
	// Snapshots also come from a worker that owns nothing any more and waits for answers.
	heard := w.LastSeen
	if end > heard.UnixMicro() {
		heard = instant(end)
	}
	state = w.State
	silent := s.now.Sub(heard) > s.silence()
	if silent && (w.State == "active" || w.State == "silent") {
		state = "lost"
	}
	return state, final || silent || w.State == "lost" || w.State == "replaced" || w.State == "removed"
}

// input returns what the report needs of one incarnation.
func (w Worker) input(t totals, s *State) report.WorkerInput {
	in := report.WorkerInput{ID: w.ID, Incarnation: w.Incarnation, LastSeen: w.LastSeen, Leased: w.Owned, Gaps: t.gaps[w.key()], Total: t.of[w.key()]}
	var end int64
	final := false
	if in.Total != nil {
		end, final = in.Total.End, in.Total.Final
	}
	if in.Total != nil { // what it decided on before it heard of a cut was not its own
		in.Beyond = in.Total.Counts.Beyond
		in.Leased += in.Beyond
	}
	in.State, in.Gone = w.standing(end, final, s)
	if w.State == "silent" && s.EndedAt.IsZero() && !final {
		in.State, in.Gone = w.State, false // it may be sending by its promise, and report it later
	}
	return in
}
