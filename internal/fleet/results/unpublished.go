package results

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/units"
)

// Unpublished is what a worker had to report at its end and could not publish, because Redis did not answer or had
// lost the run.
type Unpublished struct {
	File     string // where it was read from; not encoded
	Run, UID string
	State    string // how the worker ended: left or stopped
	Leased   int64  // slots that it has decided on

	StartedAt time.Time        // the run's first t0; zero = the worker did not learn it
	Length    time.Duration    // planned length of the run; 0 = without an end
	Total     *record.Snapshot // its last cumulative snapshot, with worker and incarnation
	Series    []record.Point

	ClosedLoop  bool               // as in report.Report
	Concurrency []int64            // as in report.Report, as far as the run's spec says
	Described   report.Description // likewise
	Thresholds  []string           // conditions of the run, as in its spec
	Warmup      time.Duration      // as in the run's spec
	Steps       []string           // names of the steps, in the order of the workload
	Samples     samples.Set        // requests that it kept as evidence
}

// The encoding of an Unpublished is one JSON object. In all versions its first members say what it is.
const (
	// FileVersion is the version that this program writes, and the newest that it reads.
	FileVersion = 1

	unpublishedFormat = "loadworker"
	unpublishedBytes  = 64 << 20 // more than any snapshot with all its points
)

// unpublishedFile is the JSON object.
type unpublishedFile struct {
	Format      string             `json:"format"`
	Version     int                `json:"version"`
	Run         string             `json:"run"`
	UID         string             `json:"uid"`
	Worker      string             `json:"worker"`
	Incarnation string             `json:"incarnation"`
	State       string             `json:"state"`
	Leased      int64              `json:"leased"`
	Started     int64              `json:"started_us,omitempty"`
	Length      time.Duration      `json:"length_ns,omitempty"`
	ClosedLoop  bool               `json:"closed_loop,omitempty"`
	Concurrency []int64            `json:"concurrency,omitempty"`
	Described   report.Description `json:"described,omitzero"`
	Thresholds  []string           `json:"thresholds,omitempty"`
	Warmup      time.Duration      `json:"warmup_ns,omitempty"`
	Steps       []string           `json:"steps,omitempty"`
	Snapshot    []byte             `json:"snapshot"` // base64
	Series      []record.Point     `json:"series"`
	Samples     []byte             `json:"samples,omitempty"` // base64; absent = none
}

// MarshalBinary encodes u as JSON.
func (u *Unpublished) MarshalBinary() ([]byte, error) {
	total, err := u.Total.MarshalBinary()
	if err != nil {
		return nil, err
	}
	f := unpublishedFile{
		Format: unpublishedFormat, Version: FileVersion, Run: u.Run, UID: u.UID, Worker: u.Total.Worker, Incarnation: u.Total.Incarnation,
		State: u.State, Leased: u.Leased, Length: u.Length, ClosedLoop: u.ClosedLoop, Concurrency: u.Concurrency, Described: u.Described,
		Thresholds: u.Thresholds, Warmup: u.Warmup, Steps: u.Steps, Snapshot: total, Series: u.Series,
	}
	if len(u.Samples.Samples) > 0 {
		if f.Samples, err = u.Samples.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	if !u.StartedAt.IsZero() {
		f.Started = u.StartedAt.UnixMicro()
	}
	return json.Marshal(f)
}

// ErrOtherRun says that a file belongs to another run.
var ErrOtherRun = errors.New("it belongs to another run")

// Other errors about a file.
var (
	errForeign = errors.New("loadworker did not write it; leave it out")
	errCutOff  = errors.New("it is cut off, its end is missing; leave it out")
)

// UnmarshalBinary replaces u by what MarshalBinary wrote. The data may come from anybody. After an error u is
// unchanged.
func (u *Unpublished) UnmarshalBinary(data []byte) error {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	// The version comes first, as the rest of a newer file is unknown.
	if err := json.Unmarshal(data, &head); err != nil || head.Format != unpublishedFormat || head.Version < 1 {
		e, syntax := errors.AsType[*json.SyntaxError](err)
		if syntax && e.Offset == int64(len(data)) && bytes.HasPrefix(data, []byte(`{"format":"`+unpublishedFormat+`",`)) {
			return errCutOff
		}
		return errForeign
	}
	if head.Version > FileVersion {
		return fmt.Errorf("it is of version %d, newer than %d, which this program knows; use a newer loadctl", head.Version, FileVersion)
	}
	var f unpublishedFile
	total := new(record.Snapshot)
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("%w (%w)", errForeign, err)
	}
	if err := total.UnmarshalBinary(f.Snapshot); err != nil {
		return err
	}
	read := Unpublished{
		Run: f.Run, UID: f.UID, State: f.State, Leased: f.Leased, StartedAt: run.TimeOf(f.Started), Length: f.Length, ClosedLoop: f.ClosedLoop, Concurrency: f.Concurrency,
		Described: f.Described, Thresholds: f.Thresholds, Warmup: f.Warmup, Steps: f.Steps, Total: total, Series: f.Series,
	}
	if len(f.Samples) > 0 { // older workers wrote none
		if err := read.Samples.UnmarshalBinary(f.Samples); err != nil {
			return err
		}
	}
	if !f.consistent(total) {
		return fmt.Errorf("%w (it contradicts itself)", errForeign)
	}
	*u = read
	return nil
}

// consistent reports whether the file matches its snapshot, and has no impossible values.
func (f *unpublishedFile) consistent(total *record.Snapshot) bool {
	n := total.Counts
	conditions, err := spec.Spec{Thresholds: f.Thresholds}.Conditions()
	return err == nil && len(conditions) <= spec.MaxThresholds && f.Warmup >= 0 && f.Warmup <= spec.MaxDuration &&
		f.Worker == total.Worker && f.Incarnation == total.Incarnation &&
		cmp.Or(run.ValidateName("run", f.Run), run.ValidateName("worker", f.Worker), run.ValidateName("incarnation", f.Incarnation)) == nil &&
		(f.State == "left" || f.State == "stopped") &&
		total.InFlight() >= 0 && 0 <= total.Start && total.Start <= total.End && total.End <= record.MaxCount &&
		f.Leased >= n.Slots() && f.Leased <= record.MaxCount &&
		f.Started >= 0 && f.Started <= record.MaxCount && f.Length >= 0 && f.Length <= spec.MaxDuration
}

// ReadUnpublished reads a file that a worker has written. The error names it.
func ReadUnpublished(path string) (*Unpublished, error) {
	// Opening a pipe would wait for a writer. For a directory the error says what it is.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("read %s: it is no regular file: %w", path, errForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; give the path of a file that loadworker has left", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, unpublishedBytes+1))
	if err != nil {
		return nil, err
	}
	u := new(Unpublished)
	if len(data) > unpublishedBytes {
		return nil, fmt.Errorf("read %s: %w", path, errForeign)
	}
	if err := u.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	u.File = path
	return u, nil
}

// key names the incarnation of u.
func (u *Unpublished) key() string { return u.Total.Worker + "/" + u.Total.Incarnation }

// newer reports whether a snapshot of an incarnation has more than another one, which may be nil.
func newer(a, b *record.Snapshot) bool {
	switch {
	case b == nil:
		return true
	case a.Final != b.Final:
		return a.Final
	default:
		return a.Seq > b.Seq
	}
}

// pick returns what was read by incarnation, each once. It refuses files of another run name or uid. A uid of ""
// allows any, but only one.
func pick(name, uid string, all []*Unpublished) (map[string]*Unpublished, error) {
	picked := map[string]*Unpublished{}
	for _, u := range all {
		switch {
		case u.Run != name:
			return nil, fmt.Errorf("merge %s: %w, %s; leave it out", u.File, ErrOtherRun, u.Run)
		case uid == "":
			uid = u.UID
		case u.UID != uid:
			return nil, fmt.Errorf("merge %s: %w, also called %s; leave it out", u.File, ErrOtherRun, name)
		}
		if have := picked[u.key()]; have == nil || newer(u.Total, have.Total) {
			picked[u.key()] = u
		}
	}
	return picked, nil
}

// regain makes w own as many slots as its worker has decided on. The server has forgotten who owned the additional
// ones, and counts them as nobody's.
func regain(w *report.WorkerInput, decided int64, b *report.Budget) {
	forgotten := max(0, decided-w.Leased)
	w.Leased += forgotten
	skipped := min(forgotten, b.Skipped)
	b.Skipped -= skipped
	b.Issued += forgotten - skipped
}

// join adds u to what the server knows of the same incarnation, in w, and corrects the budget. Of u's snapshot and
// the published one the newer counts, never both. It reports whether u's does.
func (u *Unpublished) join(w *report.WorkerInput, b *report.Budget) (used bool) {
	// The server does not know of them, as they were not asked for.
	beyond := max(u.Total.Counts.Overrun(), u.Total.Counts.Recalled) - w.Beyond
	if u.Total.Counts.Deduplicated == 0 || !newer(u.Total, w.Total) { // only slots that replace later ones lower it
		beyond = max(0, beyond)
	}
	w.Beyond += beyond
	w.Leased += beyond
	b.Issued += beyond
	regain(w, u.Leased, b)
	w.Gone = true
	switch w.State {
	case "", "active", "silent", "lost":
		w.State = u.State
	}
	if !newer(u.Total, w.Total) {
		return false
	}
	w.Total, w.Series = u.Total, u.Series
	return true
}

// merge adds what could not be published to the input of a report. It returns for how many incarnations that is the
// newest.
func merge(in *report.Input, rest map[string]*Unpublished) (used int) {
	rest = maps.Clone(rest)
	add := func(u *Unpublished, w *report.WorkerInput) {
		if u.join(w, &in.Budget) {
			used++
		}
	}
	kept := []samples.Set{in.Samples}
	for _, u := range rest {
		kept = append(kept, u.Samples)
	}
	in.Samples = samples.Merge(kept...)
	for i := range in.Workers {
		w := &in.Workers[i]
		if u, ok := rest[w.ID+"/"+w.Incarnation]; ok {
			add(u, w)
			delete(rest, u.key())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) { // those that the server does not know
		u := rest[key]
		w := report.WorkerInput{ID: u.Total.Worker, Incarnation: u.Total.Incarnation}
		add(u, &w)
		in.Workers = append(in.Workers, w)
	}
	return used
}

// MergedReport is Report with what workers could not publish. It refuses files of another run.
func MergedReport(ctx context.Context, r *run.Run, all []*Unpublished) (report.Report, error) {
	rest, err := pick(r.Name, r.UID, all)
	if err != nil {
		return report.Report{}, err
	}
	in, used, err := gather(ctx, r, rest)
	if err != nil {
		return report.Report{}, err
	}
	return noted(build(ctx, r, in), used), nil
}

// noted adds to a report of how many workers the counts are not from Redis.
func noted(rep report.Report, used int) report.Report {
	if used > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("the final counts of %s did not come from Redis", units.Things(int64(used), "worker")))
	}
	return rep
}

// FromFiles builds the report of a run only from what its workers could not publish, if the run itself cannot be read;
// why says so. It is never complete: it does not know other workers, and what was nobody's.
func FromFiles(name, why string, all []*Unpublished) (report.Report, error) {
	rest, err := pick(name, "", all)
	if err != nil {
		return report.Report{}, err
	}
	in := report.Input{Run: name, ClosedLoop: slices.ContainsFunc(all, func(u *Unpublished) bool { return u.ClosedLoop })}
	var asked spec.Spec
	for _, u := range all {
		if in.Described.URL == "" {
			in.Described, in.Concurrency = u.Described, u.Concurrency
		}
		if len(asked.Thresholds) == 0 { // older workers wrote none
			asked.Thresholds, in.Warmup = u.Thresholds, u.Warmup
		}
		if len(in.Steps) == 0 { // likewise
			in.Steps = u.Steps
		}
	}
	if in.Thresholds, err = asked.Conditions(); err != nil {
		return report.Report{}, err
	}
	merge(&in, rest)
	for i := range in.Workers {
		in.Workers[i].State = "alone"
	}
	in.StartedAt, in.Duration = span(slices.Collect(maps.Values(rest)))
	what := "this is what %s counted"
	if !slices.ContainsFunc(all, (*Unpublished).began) {
		what = "this is of %s for which the run had not begun"
	}
	in.Missing = []string{fmt.Sprintf("%s: "+what+"; what other workers did, and what was asked for in each second, is unknown",
		why, units.Things(int64(len(in.Workers)), "worker"))}
	return report.Build(in), nil
}

// began reports whether the run began before the worker ended, as far as the worker knows.
func (u *Unpublished) began() bool { return !u.StartedAt.IsZero() || u.Leased > 0 }

// span returns when the run began and how long it took, as far as its workers know. Workers may have waited for Redis
// longer than the planned run. But a pause makes a run longer than planned, and then there are points. A run that began
// for none of them has neither.
func span(all []*Unpublished) (start time.Time, took time.Duration) {
	var began, first, end int64 // µs
	var last int64              // s since the start
	var planned time.Duration
	for _, u := range all {
		if t := u.StartedAt; !t.IsZero() && (began == 0 || t.UnixMicro() < began) {
			began = t.UnixMicro()
		}
		if t := u.Total.Start; u.began() && t > 0 && (first == 0 || t < first) {
			first = t
		}
		end, planned = max(end, u.Total.End), max(planned, u.Length)
		for _, p := range u.Series {
			last = max(last, (p.Index+1)*p.Width)
		}
	}
	if began = cmp.Or(began, first); began == 0 {
		return start, 0
	}
	took = time.Duration(max(0, end-began)) * time.Microsecond
	if planned > 0 {
		took = min(took, max(planned, time.Duration(min(last, int64(spec.MaxDuration/time.Second)))*time.Second))
	}
	return run.TimeOf(began), took
}
