package report_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// phased returns a run of one worker with these random requests of two steps.
func phased(id string, recorders ...*record.Recorder) report.Input {
	s := record.NewSnapshot(id, "1")
	for _, rec := range recorders {
		s.Record(rec)
	}
	s.Final = true
	return report.Input{
		Run: "x", Duration: time.Second, Steps: []string{"a", "b"},
		Workers: []report.WorkerInput{{ID: id, Incarnation: "1", State: "left", Gone: true, Leased: s.Counts.Sent, Total: s}},
		Budget:  report.Budget{Issued: s.Counts.Sent},
	}
}

// exchanges records n random requests and a connection for each third.
func exchanges(rng *rand.Rand, n int) *record.Recorder {
	rec := record.NewRecorder("a", "b")
	for range n {
		took := rng.Int64N(50_000_000)
		one := record.Finished{Sent: 1_000, Done: 1_000 + took, Step: rng.IntN(2), Reused: rng.IntN(3) > 0}
		if rng.IntN(9) > 0 {
			one.First = one.Sent + rng.Int64N(took+1)
		}
		rec.Sent()
		rec.StepSent(one.Step)
		rec.Done(one)
		if !one.Reused {
			rec.LookedUp(rng.Int64N(2_000_000))
			rec.Connected(rng.Int64N(3_000_000))
			rec.Secured(rng.Int64N(9_000_000))
		}
	}
	rec.ClosedByServer()
	return rec
}

// combined returns the combined reports of two workers, one of them from an archive.
func combined(t *testing.T, one, other *record.Recorder) report.Report {
	t.Helper()
	r, err := report.Combine([]report.Part{
		{Name: "1", Report: report.Build(phased("w1", one))}, {Name: "2", Report: reporttest.Reread(t, report.Build(phased("w2", other)))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPhasesOfSumAreThoseOfOne asserts that the report of one worker, and the combined reports of two that did the same,
// have the same first bytes and connections.
func TestPhasesOfSumAreThoseOfOne(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		one, other := exchanges(rng, 1+rng.IntN(300)), exchanges(rng, 1+rng.IntN(300))
		want := report.Build(phased("w", one, other))
		got := combined(t, one, other)
		if got.FirstByte != want.FirstByte || got.FirstBytes != want.FirstBytes || got.Connections != want.Connections {
			t.Fatalf("seed %d: %+v %+v, want %+v %+v", seed, got.FirstByte, got.Connections, want.FirstByte, want.Connections)
		}
		if want.Connections.Opened == 0 && want.Connections.ClosedByServer != 2 {
			t.Errorf("seed %d: %+v", seed, want.Connections)
		}
		if !reflect.DeepEqual(got.Steps, want.Steps) {
			t.Errorf("seed %d: steps %+v, want %+v", seed, got.Steps, want.Steps)
		}
	}
}

// TestPhasesSurviveArchives asserts that all formats of a report with phases are those of its archive.
func TestPhasesSurviveArchives(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for name, r := range map[string]report.Report{"with steps": report.Build(phased("w", exchanges(rng, 500))), "without": report.Build(reporttest.Phased(reporttest.Run(t)))} {
		reporttest.SameFormats(t, name, reporttest.Reread(t, r), r)
		if r.FirstBytes == 0 || r.Connections.Opened == 0 {
			t.Errorf("%s: %+v", name, r.Connections)
		}
	}
}

// TestReportsWithoutPhasesAreSilent asserts that a run whose answers had no first byte, and that opened no connection,
// says nothing of either.
func TestReportsWithoutPhasesAreSilent(t *testing.T) {
	for name, text := range reporttest.EveryFormat(t, report.Build(reporttest.Run(t))) {
		for _, word := range []string{"first_byte", "first byte", "closed_by_server", "closed by the server", "handshakes"} {
			if name != "html" && strings.Contains(text, word) { // the scripts of a page know all words
				t.Errorf("%s has %q", name, word)
			}
		}
	}
}

// TestThresholdsOnPhases asserts that the whole run and its steps are judged by first bytes, and the run by the phases
// of its connections.
func TestThresholdsOnPhases(t *testing.T) {
	rec := record.NewRecorder("a", "b")
	for i := range int64(100) {
		rec.Sent()
		rec.StepSent(int(i % 2))
		rec.Done(record.Finished{First: (10 + 40*(i%2)) * 1_000_000, Done: 200_000_000, Step: int(i % 2)})
	}
	rec.LookedUp(1_000_000)
	rec.Connected(4_000_000)
	rec.Connected(6_000_000)
	in := phased("w", rec)
	want := map[string]string{
		"first_byte:p(99)<80ms":         threshold.Passed,
		"first_byte:p(99)<40ms":         threshold.Failed,
		"first_byte:avg<31ms":           threshold.Passed,
		"first_byte{step=a}:max<11ms":   threshold.Passed,
		"first_byte{step=b}:min>=51ms":  threshold.Failed,
		"first_byte{step=c}:p(50)<51ms": threshold.Undecided,
		"connect:p(99)<5ms":             threshold.Failed,
		"connect:p(50)<5ms":             threshold.Passed,
		"dns:max<2ms":                   threshold.Passed,
		"tls:p(99)<1s":                  threshold.Undecided, // there was none
	}
	for text := range want {
		parsed, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, parsed)
	}
	section := report.Section{Asked: 100, Length: time.Second, Workers: []*record.Snapshot{in.Workers[0].Total}}
	for i, got := range report.Build(in).Thresholds {
		if got.Result != want[got.Threshold] {
			t.Errorf("%s: %s (%s), want %s", got.Threshold, got.Result, got.Text, want[got.Threshold])
		}
		if part := section.Judge(in.Thresholds[i]); part.Result != got.Result || part.Text != got.Text {
			t.Errorf("%s: a section says %s (%s), the report %s (%s)", got.Threshold, part.Result, part.Text, got.Result, got.Text)
		}
	}
}

// TestPhasesInJSON asserts the names of the members.
func TestPhasesInJSON(t *testing.T) {
	data, err := json.Marshal(report.Build(phased("w", exchanges(rand.New(rand.NewPCG(9, 9)), 300))))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		FirstByte   map[string]int64 `json:"first_byte_ns"`
		FirstBytes  int64            `json:"first_bytes"`
		Connections map[string]any   `json:"connections"`
		Steps       []map[string]any `json:"steps"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.FirstByte["p99"] == 0 || doc.FirstBytes == 0 || doc.Steps[0]["first_byte_ns"] == nil {
		t.Errorf("%.900s", data)
	}
	for _, member := range []string{"opened", "reused", "closed_by_server", "lookups", "handshakes", "dns_ns", "connect_ns", "tls_ns"} {
		if doc.Connections[member] == nil {
			t.Errorf("no member %s in %v", member, doc.Connections)
		}
	}
}
