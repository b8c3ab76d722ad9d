package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// TestReportMergesOutages: an outage seen by several workers at the same time is one event, in order among the others.
func TestReportMergesOutages(t *testing.T) {
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
