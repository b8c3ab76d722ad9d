package report_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

func TestAuditOfOneIncarnation(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		leased, beyond                       int64
		gone                                 bool
		counts                               *record.Snapshot
		recalled, lost, held, overrun, asked int64
	}{
		{name: "all sent", leased: 100, counts: reporttest.Snapshot(record.Counts{Sent: 100, Completed: 100}), asked: 100},
		{name: "running, holds 10", leased: 100, counts: reporttest.Snapshot(record.Counts{Sent: 90, Completed: 90}), held: 10, asked: 100},
		{name: "killed, held 10", leased: 100, gone: true, counts: reporttest.Snapshot(record.Counts{Sent: 90, Completed: 90}), lost: 10, asked: 100},
		{name: "killed, no snapshot", leased: 100, gone: true, lost: 100, asked: 100},
		{name: "refused", leased: 100, counts: reporttest.Snapshot(record.Counts{Sent: 90, Ungranted: 10, Completed: 90}), asked: 100},
		{name: "recalled", leased: 100, beyond: 8, counts: reporttest.Snapshot(record.Counts{Sent: 92, Recalled: 8, Completed: 92}), recalled: 8, asked: 92},
		{name: "learned too late", leased: 100, beyond: 8, counts: reporttest.Snapshot(record.Counts{Sent: 95, Recalled: 5, Completed: 95}), recalled: 5, overrun: 3, asked: 92},
		{name: "not yet learned", leased: 100, beyond: 8, counts: reporttest.Snapshot(record.Counts{Sent: 80, Completed: 80}), recalled: 8, held: 12, asked: 92},
		{name: "killed after a cut", leased: 100, beyond: 8, gone: true, counts: reporttest.Snapshot(record.Counts{Sent: 80, Completed: 80}), recalled: 8, lost: 12, asked: 92},
		{name: "killed, some overrun", leased: 100, beyond: 8, gone: true, counts: reporttest.Snapshot(record.Counts{Sent: 97, Completed: 97}), recalled: 3, overrun: 5, asked: 92},
	} {
		w := report.WorkerInput{Leased: c.leased, Beyond: c.beyond, Gone: c.gone, Total: c.counts}
		a := report.NewAudit(report.Budget{Issued: c.leased}, []report.WorkerInput{w})
		if reported := w.Total; reported != nil && (a.Ungranted != reported.Counts.Ungranted || a.Issued != c.leased-a.Ungranted) {
			t.Errorf("%s: %+v", c.name, a)
		}
		if a.Recalled != c.recalled || a.Lost != c.lost || a.Held != c.held || a.Overrun != c.overrun || a.Asked != c.asked {
			t.Errorf("%s: %+v", c.name, a)
		}
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The equations hold at every moment, and asked is what the schedule contained before the cuts (I6).
func TestAuditAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 3_000 {
		var asked int64
		b := report.Budget{Skipped: rng.Int64N(50), Ungranted: rng.Int64N(50)}
		b.Issued = b.Skipped
		asked += b.Skipped + b.Ungranted
		var workers []report.WorkerInput
		for range 1 + rng.IntN(6) {
			w := reporttest.Fates(rng, &asked)
			b.Issued += w.Leased
			workers = append(workers, w)
		}
		a := report.NewAudit(b, workers)
		if err := a.Check(); err != nil {
			t.Fatalf("%v\n%+v", err, a)
		}
		if a.Asked != asked {
			t.Fatalf("asked %d, the schedule had %d: %+v", a.Asked, asked, a)
		}
		if n := report.SumTerms(a.ReasonTerms()); n != a.Asked {
			t.Fatalf("asked %d, reasons add up to %d", a.Asked, n)
		}
		for i := range workers {
			if workers[i].Gone = true; a.Held > 0 && report.NewAudit(b, workers).Asked != asked {
				t.Fatal("asked changes as processes end")
			}
		}
		if a = report.NewAudit(b, workers); a.Held != 0 || a.Check() != nil {
			t.Fatalf("at the end: %v, held %d", a.Check(), a.Held)
		}
	}
}

// Any single wrong number is found.
func TestAuditCheckFindsEachError(t *testing.T) {
	good := report.NewAudit(report.Budget{Issued: 100}, []report.WorkerInput{{Leased: 100, Beyond: 4,
		Total: reporttest.Snapshot(record.Counts{Sent: 96, Recalled: 3, LateDropped: 1, Completed: 90, Failed: 5})}})
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[report.Audit]().NumField() {
		for _, off := range []int64{-1, 1, 1_000} {
			bad := good
			field := reflect.ValueOf(&bad).Elem().Field(i)
			field.SetInt(field.Int() + off)
			if bad.Check() == nil {
				t.Errorf("%s off by %d is not found", reflect.TypeFor[report.Audit]().Field(i).Name, off)
			}
		}
	}
	bad := good
	bad.LateDropped += 5
	want := "issued 100 ≠ sent 96 + late_dropped 6 + recalled 3, which is 105"
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
