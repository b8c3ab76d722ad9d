package report_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// life is one process of a worker: the cumulative snapshot of each second; the last one is final, and so the truth.
type life struct {
	worker, incarnation string
	beats               []*record.Snapshot
	leased              int64
}

func (l life) truth() record.Counts { return l.beats[len(l.beats)-1].Counts }

// live plays the life of a process that owned slots and sent most of them.
func live(rng *rand.Rand, worker, incarnation string) life {
	l := life{worker: worker, incarnation: incarnation}
	var n record.Counts
	for beats := 1 + rng.IntN(4); len(l.beats) < beats; {
		sent, late := rng.Int64N(50), rng.Int64N(3)
		n.Sent, n.LateDropped = n.Sent+sent, n.LateDropped+late
		n.Completed += sent
		s := record.NewSnapshot(worker, incarnation)
		s.Seq, s.End, s.Counts, s.Final = uint64(len(l.beats)+1), int64(len(l.beats)+1)*1_000_000, n, len(l.beats)+1 == beats
		l.beats = append(l.beats, s)
	}
	l.leased = n.Slots()
	return l
}

// TestCompleteIsTheTruth: whichever snapshots of whichever processes have arrived, a complete report holds all that was
// done.
func TestCompleteIsTheTruth(t *testing.T) {
	outcomes := map[bool]int{}
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 17))
		in := report.Input{Run: "x", StartedAt: time.Unix(1, 0), Running: rng.IntN(4) == 0, ClosedLoop: rng.IntN(4) == 0}
		var truth record.Counts
		missing := 0
		for i := range 1 + rng.IntN(4) {
			l := live(rng, fmt.Sprint("w", i/2), fmt.Sprint("i", i)) // also two processes of one worker
			truth = truth.Plus(l.truth())
			w := report.WorkerInput{ID: l.worker, Incarnation: l.incarnation, Leased: l.leased, Gone: rng.IntN(2) == 0}
			arrived := len(l.beats)
			if rng.IntN(3) == 0 {
				arrived = rng.IntN(len(l.beats) + 1)
			}
			if arrived > 0 {
				w.Total = l.beats[arrived-1]
			}
			if arrived < len(l.beats) {
				missing++
			}
			in.Budget.Issued += l.leased
			in.Workers = append(in.Workers, w)
		}
		r := report.Build(in)
		outcomes[r.Complete]++
		if in.ClosedLoop {
			truth.LateDropped = 0 // it has no slots
		}
		if r.Complete && (r.Audit.Sent != truth.Sent || r.Audit.Completed != truth.Completed || r.Audit.LateDropped != truth.LateDropped) {
			t.Fatalf("seed %d: complete with %+v of %+v", seed, r.Audit, truth)
		}
		if want := missing == 0 && !in.Running; r.Complete != want {
			t.Fatalf("seed %d: complete %v, running %v, %d final snapshots are missing: %q", seed, r.Complete, in.Running, missing, r.Notes)
		}
	}
	if outcomes[true] < 1000 || outcomes[false] < 1000 {
		t.Errorf("one of the outcomes hardly occurred: %v", outcomes)
	}
}

// TestMissingFinalIsNamed: the note has the worker, the time, the file and the command.
func TestMissingFinalIsNamed(t *testing.T) {
	in := reporttest.Run(t)
	in.Budget.Issued, in.Budget.Skipped = in.Budget.Issued+500, in.Budget.Skipped+500
	in.Workers[1].Total.Final = false
	in.Workers[1].Total.End = 1_790_000_000_000_000
	r := report.Build(in)
	want := "worker host-2: its final snapshot is missing, so what it sent after 2026-09-21T14:13:20Z is not counted. " +
		"If it left loadctl-checkout-host-2-a1b2.json, add that: loadctl report checkout --merge loadctl-checkout-host-2-a1b2.json (a killed process leaves none)"
	if got := r.Notes; r.Complete || len(got) != 1 || got[0] != want {
		t.Errorf("complete %v, %q", r.Complete, r.Notes) // and lateness is not blamed for what that worker may have sent
	}
	var text strings.Builder
	if err := render.Text(&text, r); err != nil || !strings.Contains(text.String(), "INCOMPLETE") || strings.Count(text.String(), ", final snapshot missing\n") != 1 {
		t.Errorf("%v\n%s", err, text.String())
	}
	if r.Workers[0].Incarnation != "a1b2" || !r.Workers[0].Final || r.Workers[1].Final {
		t.Errorf("%+v", r.Workers)
	}
}

// TestMissingFinalsAreBounded: of a large fleet only some workers are named.
func TestMissingFinalsAreBounded(t *testing.T) {
	in := report.Input{Run: "x", StartedAt: time.Unix(1, 0)}
	for i := range 3 * report.MaxListedWorkers {
		in.Workers = append(in.Workers, report.WorkerInput{ID: fmt.Sprint("w", i), Incarnation: "i"})
	}
	r := report.Build(in)
	last := fmt.Sprintf("%d more workers: ", 2*report.MaxListedWorkers)
	if n := len(r.Notes); n != report.MaxListedWorkers+1 || !strings.HasPrefix(r.Notes[n-1], last) {
		t.Errorf("%d notes, %q", n, r.Notes[len(r.Notes)-1])
	}
}

// TestHostileNamesAreNoCommand: untrusted names in Redis do not become a command to paste.
func TestHostileNamesAreNoCommand(t *testing.T) {
	in := reporttest.Run(t)
	in.Workers[0].ID, in.Workers[0].Total.Final = "$(reboot)", false
	if r := report.Build(in); r.Complete || strings.Contains(r.Notes[0], "loadctl") || !strings.Contains(r.Notes[0], "worker $(reboot): its final") {
		t.Errorf("%q", r.Notes)
	}
}

// TestSeriesWithHoles: if Redis has lost points, the report says so.
func TestSeriesWithHoles(t *testing.T) {
	in := reporttest.Run(t)
	lost := in.Workers[0].Series[0].Sent
	in.Workers[0].Series = in.Workers[0].Series[1:]
	want := fmt.Sprintf("%d requests are missing from the series", lost)
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Errorf("complete %v, %q, want %q", r.Complete, r.Notes, want)
	}
}

// TestNeverBegun: a run that never began lacks nothing.
func TestNeverBegun(t *testing.T) {
	in := report.Input{Run: "x", Workers: []report.WorkerInput{{ID: "w", Incarnation: "i", Gone: true}}}
	if r := report.Build(in); !r.Complete || len(r.Notes) != 0 {
		t.Errorf("complete %v, %q", r.Complete, r.Notes)
	}
}

// TestRunningIsNotComplete: while a run goes on, running workers lack nothing, and a dead one is named.
func TestRunningIsNotComplete(t *testing.T) {
	in := reporttest.Run(t)
	in.Running = true
	for i := range in.Workers {
		in.Workers[i].Gone, in.Workers[i].Total.Final = false, false
	}
	if r := report.Build(in); r.Complete || len(r.Notes) != 0 {
		t.Errorf("complete %v, %q", r.Complete, r.Notes)
	}
	in.Workers[0].Gone = true
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "worker host-1: its final snapshot is missing") {
		t.Errorf("complete %v, %q", r.Complete, r.Notes)
	}
}

// TestForgottenProcesses: a process that others know, and of which nothing is known, is missing.
func TestForgottenProcesses(t *testing.T) {
	in := reporttest.Run(t)
	in.Workers[0].Total.Processes = 2
	if r := report.Build(in); !r.Complete {
		t.Errorf("with all that are known: %q", r.Notes)
	}
	in.Workers[1].Total.Processes = 4
	const want = "Redis has forgotten 2 of the 4 processes that took part"
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], want) {
		t.Errorf("complete %v, %q", r.Complete, r.Notes)
	}
}

// TestWhyLost: if another process took a worker's id, the report does not say that Redis was away.
func TestWhyLost(t *testing.T) {
	for state, says := range map[string]string{"replaced": "another process took the id of a worker", "left": "Redis did not answer for longer"} {
		total := record.NewSnapshot("w", "1")
		total.Final, total.Counts = true, record.Counts{Sent: 90, Completed: 90}
		r := report.Build(report.Input{Run: "x", Duration: time.Second, Budget: report.Budget{Issued: 100},
			Workers: []report.WorkerInput{{ID: "w", Incarnation: "1", State: state, Leased: 100, Gone: true, Total: total}}})
		if notes := strings.Join(r.Notes, "; "); r.Audit.Lost != 10 || !strings.Contains(notes, says) {
			t.Errorf("%s: %d lost, %q", state, r.Audit.Lost, notes)
		}
	}
}
