package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// long returns the look at a run with many points and workers, so many seconds after its begin.
func long(seconds, workers int) results.Look {
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rep := report.Report{Run: "x", StartedAt: start, DurationS: float64(seconds), Running: true, SeriesWidthS: 1, Events: []report.Event{{At: start, Kind: "create"}}}
	rep.Histograms = &report.Histograms{Latency: record.NewHistogram(), Service: record.NewHistogram(), Lag: record.NewHistogram()}
	for i := range seconds {
		h := record.NewHistogram()
		for range 300 {
			ns := int64(1e6 * (1 + 50*rng.ExpFloat64()))
			h.Record(ns)
			rep.Histograms.Latency.Record(ns)
			rep.Histograms.Service.Record(ns)
		}
		rep.Histograms.Series = append(rep.Histograms.Series, record.Point{Index: int64(i), Latency: h})
		rep.Series = append(rep.Series, report.SeriesReport{T: int64(i), Asked: 1000, Sent: 1000, OK: 990, Failed: 10, P50NS: rng.Int64N(1e7), P90NS: rng.Int64N(1e7), P99NS: rng.Int64N(1e8), P999NS: rng.Int64N(1e9), Errors: map[string]int64{"timeout": 10}})
		rep.Audit.Sent, rep.Audit.Completed = rep.Audit.Sent+1000, rep.Audit.Completed+1000
	}
	rep.Latency = rep.Histograms.Latency.Distribution(1)
	state := &run.State{Run: "x", Phase: "running", StartedAt: start}
	for i := range workers {
		rep.Workers = append(rep.Workers, report.WorkerReport{ID: fmt.Sprintf("worker-%04d", i), Incarnation: "0123456789abcdef", State: "active", LastSeen: start, Verdicts: []record.Verdict{}})
	}
	return results.Look{Progress: results.Progress{State: state}, Report: rep}
}

// TestFrameSize: with 1,000 points and a fleet of 4,000, a frame of each second is below 50 kB without the fleet's 200
// members, and all together below 150 kB.
func TestFrameSize(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	for _, workers := range []int{50, 4000} {
		before, now := NewFrame(long(899, workers), true), NewFrame(long(900, workers), true)
		had, err1 := fingerprint(seed, before)
		has, err2 := fingerprint(seed, now)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		delta := now.since(had, has)
		whole, all, fleet := size(t, now), size(t, delta), size(t, delta.Fleet)
		t.Logf("%d workers: a whole frame has %d bytes; one of each second %d, of these the fleet %d, curve %d, heat map %d", workers, whole, all, fleet, size(t, delta.Curve), size(t, delta.Heat))
		if all-fleet > 50_000 || all > 150_000 || len(now.Fleet) > MostMembers {
			t.Errorf("%d workers: %d bytes, the fleet %d", workers, all, fleet)
		}
		if delta.SeriesFrom != 899 || len(delta.Report.Series) != 1 || delta.HeatFrom == 0 || delta.EventsFrom != 1 || len(now.Report.Series) != 900 {
			t.Errorf("series from %d, heat from %d, events from %d", delta.SeriesFrom, delta.HeatFrom, delta.EventsFrom)
		}
	}
}

// size returns the length of a value as JSON.
func size(t *testing.T, v any) int {
	t.Helper()
	text, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// TestFramesAfterChanges: whatever changes, a page that puts frames together has the whole one.
func TestFramesAfterChanges(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	grown := long(40, 3)
	wider := long(40, 3)
	wider.Report.SeriesWidthS = 2
	changed := long(30, 3)
	changed.Report.Series[12].OK++
	for name, to := range map[string]results.Look{"the same": long(30, 3), "more": grown, "another width": wider, "an early point": changed, "less": long(5, 3), "nothing": {Progress: grown.Progress}} {
		a, b := NewFrame(long(30, 3), false), NewFrame(to, false)
		was, err := fingerprint(seed, a)
		if err != nil {
			t.Fatal(err)
		}
		is, err := fingerprint(seed, b)
		if err != nil {
			t.Fatal(err)
		}
		d := b.since(was, is)
		d.Report.Series = append(a.Report.Series[:d.SeriesFrom:d.SeriesFrom], d.Report.Series...)
		d.Report.Events = append(a.Report.Events[:d.EventsFrom:d.EventsFrom], d.Report.Events...)
		d.Marks = append(a.Marks[:d.MarksFrom:d.MarksFrom], d.Marks...)
		if d.Heat != nil {
			d.Heat.Columns = append(a.Heat.Columns[:d.HeatFrom:d.HeatFrom], d.Heat.Columns...)
		}
		d.SeriesFrom, d.EventsFrom, d.MarksFrom, d.HeatFrom = 0, 0, 0, 0
		if !reflect.DeepEqual(parsed(t, d), parsed(t, b)) {
			t.Errorf("%s: put together %v, whole %v", name, parsed(t, d), parsed(t, b))
		}
	}
}

// parsed returns a frame as a page has it. It has no difference between no list and an empty one.
func parsed(t *testing.T, f Frame) (v Frame) {
	t.Helper()
	text, err := encode(f)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Report.Series) == 0 {
		v.Report.Series = nil
	}
	if len(v.Report.Events) == 0 {
		v.Report.Events = nil
	}
	return v
}

// TestForemost: of a large fleet a frame has those with problems first, and counts all.
func TestForemost(t *testing.T) {
	t.Parallel()
	l := long(1, 4000)
	l.Report.Workers[3999].State = "silent"
	l.Report.Workers[3000].State = "lost"
	l.Report.Workers[2000].Verdicts = []record.Verdict{{Limit: "generator", Cause: "late"}}
	f := NewFrame(l, false)
	if f.Fleet[0].ID != "worker-3999" || f.Fleet[1].ID != "worker-2000" || f.Fleet[2].ID != "worker-3000" || f.Fleet[3].ID != "worker-0000" {
		t.Errorf("%v", f.Fleet[:4])
	}
	if f.FleetStates["active"] != 3998 || f.FleetStates["silent"] != 1 || f.FleetStates["lost"] != 1 {
		t.Errorf("%v", f.FleetStates)
	}
}
