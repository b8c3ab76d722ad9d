package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestSnapshotOutages: an ongoing outage grows, a short one is ignored, and the last ones are kept.
func TestSnapshotOutages(t *testing.T) {
	s := record.NewSnapshot("w", "i")
	s.Outage(10e6, 11e6)
	s.Outage(20e6, 22e6)
	s.Outage(20e6, 29e6)
	if !slices.Equal(s.Outages, []record.Outage{{From: 20e6, To: 29e6}}) {
		t.Errorf("%v", s.Outages)
	}
	before := s.Outages
	for i := range int64(100) {
		s.Outage(100e6+i*10e6, 105e6+i*10e6)
	}
	if len(s.Outages) != record.MaxOutages || s.Outages[0].From != 940e6 || s.Outages[15].From != 1_090e6 || len(before) != 1 {
		t.Errorf("%v", s.Outages)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back := new(record.Snapshot)
	if err := back.UnmarshalBinary(data); err != nil || !slices.Equal(back.Outages, s.Outages) {
		t.Errorf("%v, %v", err, back.Outages)
	}
	for bad, says := range map[string]string{
		`{"from":-1,"to":5}`: "count from = -1", `{"from":1,"to":9007199254740993}`: "out of range", `{"from":6,"to":5}`: "ends before it begins",
		strings.Repeat(`{},`, record.MaxOutages) + `{}`: "17 outages",
	} {
		if err := back.UnmarshalBinary(fmt.Appendf(nil, `{"v":1,"outages":[%s]}`, bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestReportTellsOfOutages: an outage seen by several workers at the same time is one event, in order among the others.
func TestReportTellsOfOutages(t *testing.T) {
	start := time.Unix(1_800_000_000, 0).UTC()
	in := report.Input{StartedAt: start, Events: []report.Event{{At: start, Kind: "start", Who: "a"}, {At: start.Add(20 * time.Second), Kind: "end", Who: "a"}}}
	at := func(seconds float64) int64 { return start.UnixMicro() + int64(seconds*1e6) }
	for id, outages := range map[string][]record.Outage{
		"a": {{From: at(2), To: at(6)}, {From: at(30), To: at(33)}},
		"b": {{From: at(3), To: at(7)}},
		"c": {{From: at(7.9), To: at(10)}, {From: at(12), To: at(14)}},
		"d": nil,
	} {
		total := record.NewSnapshot(id, "i")
		total.Outages = outages
		in.Workers = append(in.Workers, report.WorkerInput{ID: id, Incarnation: "i", Total: total})
	}
	in.Workers = append(in.Workers, report.WorkerInput{ID: "e"})
	r := report.Build(in)
	var got []string
	for _, e := range r.Events {
		got = append(got, fmt.Sprintf("%g %s %s %s", e.At.Sub(start).Seconds(), e.Kind, e.Who, e.What))
	}
	const want = "0 start a ;2 outage - 3 workers could not publish for 8.0 s;12 outage c it could not publish for 2.0 s;20 end a ;30 outage a it could not publish for 3.0 s"
	if all := strings.Join(got, ";"); all != want {
		t.Errorf("%s\nwant\n%s", all, want)
	}
}
