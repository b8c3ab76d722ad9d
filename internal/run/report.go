package run

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report"
)

// Report merges what the workers have published so far with the budget's own count. It needs no worker and no stream: the
// cumulative snapshots carry everything.
func (r *Run) Report(ctx context.Context) (report.Report, error) {
	in, _, err := r.gather(ctx)
	if err != nil {
		return report.Report{}, err
	}
	return r.build(ctx, in), nil
}

// FinalReport is Report of a run that is over, after the last snapshot of every worker that can still send one has
// arrived, or patience has run out. A run that goes on is reported as it is.
func (r *Run) FinalReport(ctx context.Context, patience time.Duration) (report.Report, error) {
	in, err := r.gatherFinal(ctx, patience)
	if err != nil {
		return report.Report{}, err
	}
	return r.build(ctx, in), nil
}

// OwnReport is FinalReport for a worker. What it did itself is in the report whether Redis has it or not; own may be nil. missing tells
// that Redis has not.
func (r *Run) OwnReport(ctx context.Context, patience time.Duration, own *Unpublished) (rep report.Report, missing bool, err error) {
	in, err := r.gatherFinal(ctx, patience)
	if err != nil {
		return report.Report{}, false, err
	}
	used := 0
	if own != nil {
		used = merge(&in, map[string]*Unpublished{own.key(): own})
	}
	return merged(r.build(ctx, in), used), used > 0, nil
}

// gatherFinal gathers until no more will come or patience has run out.
func (r *Run) gatherFinal(ctx context.Context, patience time.Duration) (report.Input, error) {
	deadline := time.Now().Add(patience)
	for {
		in, settled, err := r.gather(ctx)
		if err != nil || settled || time.Now().After(deadline) {
			return in, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// gather reads what a report is built from. settled: no more will come, or the run goes on anyway.
func (r *Run) gather(ctx context.Context) (in report.Input, settled bool, err error) {
	totals, err := r.client.HGetAll(ctx, r.keys.Totals).Result()
	if err != nil {
		return in, false, explain("read snapshots of", r.Name, err)
	}
	series, err := scanHash(ctx, r.client, r.keys.Series)
	if err != nil {
		return in, false, explain("read series of", r.Name, err)
	}
	s, err := r.State(ctx) // last: the snapshots cannot then account for more than was leased
	if err != nil {
		return in, false, err
	}
	points, err := parseSeries(series)
	if err != nil {
		return in, false, broken(r.Name, "read series: "+err.Error())
	}
	in = report.Input{
		Run: r.Name, StartedAt: s.StartedAt, Duration: s.elapsed(), Running: s.EndedAt.IsZero(), TargetRate: s.target, AskedBy: s.askedBy,
		ClosedLoop: r.Spec.Max, Planned: r.Spec.Length(),
		Budget: report.Budget{Issued: s.issued + s.untaken(), Skipped: s.Skipped + s.untaken()}, Limiter: s.Limiter,
	}
	if b := &in.Budget; s.Limiter != "" { // what passed without a grant was not granted, and never issued
		*b = report.Budget{Issued: b.Issued - b.Skipped, Ungranted: b.Skipped}
	}
	if err := r.Spec.toMeet(&in); err != nil {
		return in, false, broken(r.Name, err.Error())
	}
	if !s.restored.IsZero() {
		in.Missing = append(in.Missing, restoredNote(s.restored))
	}
	settled = true
	unclaimed := totalKeys(totals)
	for _, w := range s.Workers {
		delete(unclaimed, w.key())
		wi, final, err := w.input(totals, s)
		if err != nil {
			return in, false, broken(r.Name, fmt.Sprintf("read snapshot of worker %s: %v", w.ID, err))
		}
		if w.State == "suspect" && in.Running && !final {
			wi.State, wi.Gone = w.State, false // it may be firing on its permit, and tell of it later
		}
		wi.Series = points[w.key()]
		in.Workers = append(in.Workers, wi)
		settled = settled && (final || wi.Gone)
	}
	forgotten, err := unrecorded(unclaimed, totals, points)
	if err != nil {
		return in, false, broken(r.Name, err.Error())
	}
	merge(&in, forgotten)
	return in, settled || s.EndedAt.IsZero(), nil
}

// totalKeys are the incarnations of which there is a cumulative snapshot, as worker/incarnation. Other fields have a colon.
func totalKeys(totals map[string]string) map[string]bool {
	keys := map[string]bool{}
	for name := range totals {
		if !strings.Contains(name, ":") {
			keys[name] = true
		}
	}
	return keys
}

// unrecorded is what incarnations published of which the server has no record any more: a failover forgot that they joined, and they
// have ended since. What they did counts all the same.
func unrecorded(keys map[string]bool, totals map[string]string, points map[string][]report.Point) (map[string]*Unpublished, error) {
	found := map[string]*Unpublished{}
	for key := range keys {
		total := new(report.Snapshot)
		if err := total.UnmarshalBinary([]byte(totals[key])); err != nil {
			return nil, fmt.Errorf("read snapshot %q: %w", key, err)
		}
		found[key] = &Unpublished{State: "left", Leased: total.Counts.Slots(), Total: total, Series: points[key]}
	}
	return found, nil
}

// untaken is how many slots are past though nobody has passed them over in the budget yet, because nobody has called since.
func (s *State) untaken() int64 { return max(0, s.Asked-(s.issued-s.beyond)) }

// elapsed is the time from the first t0 to the end, or to now.
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

// silence is how long nothing may have been heard of a worker that can still report. Many publish less often, and spread their last snapshots.
func (s *State) silence() time.Duration {
	return 2*time.Second + report.SnapshotPeriod(int64(len(s.Workers)))
}

// input is what the report needs of one incarnation, and whether its last snapshot is there. What it holds counts as lost
// once it cannot report any more.
func (w Worker) input(totals map[string]string, s *State) (in report.WorkerInput, final bool, err error) {
	in = report.WorkerInput{ID: w.ID, State: w.State, Incarnation: w.Incarnation, LastSeen: w.LastSeen, Leased: w.Leased, Beyond: w.beyond}
	if text := totals[w.key()+":gaps"]; text != "" {
		if in.Gaps, err = strconv.ParseInt(text, 10, 64); err != nil {
			return in, false, err
		}
	}
	if text, ok := totals[w.key()]; ok {
		in.Total = new(report.Snapshot)
		if err := in.Total.UnmarshalBinary([]byte(text)); err != nil {
			return in, false, err
		}
		final = in.Total.Final
	}
	// Snapshots come every second, also from a worker that has leased its last slot and waits for answers.
	heard := w.LastSeen
	if in.Total != nil && in.Total.End > heard.UnixMicro() {
		heard = instant(in.Total.End)
	}
	silent := s.now.Sub(heard) > s.silence()
	if silent && (w.State == "active" || w.State == "suspect") {
		in.State = "lost"
	}
	in.Gone = final || silent || w.State == "lost" || w.State == "replaced" || w.State == "removed"
	return in, final, nil
}

// parseSeries sorts the stored points by incarnation: the fields are "worker/incarnation/index".
func parseSeries(fields map[string]string) (map[string][]report.Point, error) {
	points := map[string][]report.Point{}
	for name, text := range fields {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return nil, fmt.Errorf("field %q: not worker/incarnation/index", name)
		}
		var p report.Point
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		points[name[:i]] = append(points[name[:i]], p)
	}
	return points, nil
}
