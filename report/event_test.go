package report_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/reporttest"
)

// eventful returns a report with events at these seconds since its start.
func eventful(start time.Time, seconds ...float64) report.Report {
	in := report.Input{Run: "x", StartedAt: start}
	for _, s := range seconds {
		in.Events = append(in.Events, report.Event{At: start.Add(time.Duration(s * float64(time.Second))).UTC(), Kind: "join", Who: fmt.Sprint("w", s)})
	}
	return report.Build(in)
}

// listed returns for each event its seconds since the start of the report, and who.
func listed(r report.Report) string {
	var all []string
	for _, e := range r.Events {
		all = append(all, fmt.Sprintf("%g %s", e.At.Sub(r.StartedAt).Seconds(), e.Who))
	}
	return strings.Join(all, ", ")
}

// TestEventsAreBounded: a report lists the last thousand, and says so.
func TestEventsAreBounded(t *testing.T) {
	seconds := make([]float64, report.MaxEvents)
	for i := range seconds {
		seconds[i] = float64(i)
	}
	start := time.Unix(1_800_000_000, 0)
	if r := eventful(start, seconds...); len(r.Events) != report.MaxEvents || len(r.Notes) != 0 {
		t.Errorf("%d events, %q", len(r.Events), r.Notes)
	}
	r := eventful(start, append(seconds, 1_000, 1_001)...)
	if notes := strings.Join(r.Notes, "; "); len(r.Events) != report.MaxEvents || r.Events[0].Who != "w2" || notes != "the report lists the last 1000 changes of the run; 2 older ones are left out" {
		t.Errorf("%d events from %v on, %q", len(r.Events), r.Events[0], notes)
	}
	if back := reporttest.Reread(t, r); !reflect.DeepEqual(back.Events, r.Events) {
		t.Error("the archive has other events")
	}
	if r := eventful(start); r.Events == nil {
		t.Error("no events are null in JSON")
	}
}

// TestPaused: the pauses of a run, from its events.
func TestPaused(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	type at struct {
		kind    string
		seconds float64
	}
	for name, c := range map[string]struct {
		events []at
		want   time.Duration
	}{
		"none":                        {[]at{{"join", 1}, {"set-rate", 2}}, 0},
		"one":                         {[]at{{"pause", 10}, {"set-rate", 11}, {"resume", 12.5}}, 2500 * time.Millisecond},
		"two":                         {[]at{{"pause", 10}, {"resume", 12}, {"pause", 20}, {"resume", 21}}, 3 * time.Second},
		"until the end":               {[]at{{"pause", 10}, {"resume", 12}, {"pause", 55}, {"stop", 60}}, 7 * time.Second},
		"its begin is not known":      {[]at{{"resume", 12}, {"pause", 20}, {"resume", 21}}, time.Second},
		"of two runs that are one":    {[]at{{"pause", 10}, {"pause", 11}, {"resume", 12}, {"resume", 15}}, 5 * time.Second},
		"the clock has been set back": {[]at{{"pause", 10}, {"clock", 5}, {"resume", 6}}, 0},
	} {
		in := report.Input{Run: "x", StartedAt: start, Duration: time.Minute}
		for _, e := range c.events {
			in.Events = append(in.Events, report.Event{At: start.Add(time.Duration(e.seconds * float64(time.Second))), Kind: e.kind})
		}
		if got := report.Build(in).Paused(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCombineEvents: the events of all archives, in order of the time since each start, with the name of the archive.
func TestCombineEvents(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a, b := reporttest.Reread(t, eventful(start, -1, 2, 7.5)), reporttest.Reread(t, eventful(start.Add(40*time.Minute), -0.5, 2.25, 7, 8))
	waits := report.Build(report.Input{Run: "x", Events: []report.Event{{At: start.Add(time.Second), Kind: "create", Who: "ann"}}}) // it never began
	parts := []report.Part{{Name: "a", Report: a}, {Name: "b", Report: b}, {Name: "c", Report: waits}}
	r, err := report.Combine(parts)
	if err != nil {
		t.Fatal(err)
	}
	const want = "-1 a: w-1, -0.5 b: w-0.5, 1 c: ann, 2 a: w2, 2.25 b: w2.25, 7 b: w7, 7.5 a: w7.5, 8 b: w8"
	if got := listed(reporttest.Reread(t, r)); got != want || !r.StartedAt.Equal(start) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if listed(a) != "-1 w-1, 2 w2, 7.5 w7.5" {
		t.Errorf("what was combined is changed: %s", listed(a))
	}
	// Together they exceed the limit of a report.
	seconds := make([]float64, 600)
	r, err = report.Combine([]report.Part{{Name: "a", Report: eventful(start, seconds...)}, {Name: "b", Report: eventful(start, seconds...)}})
	if err != nil || len(r.Events) != report.MaxEvents || !strings.Contains(strings.Join(r.Notes, "; "), "200 older ones are left out") {
		t.Errorf("%v, %d events, %q", err, len(r.Events), r.Notes)
	}
	// A start outside the valid range moves no event out of the range of JSON.
	far := eventful(time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))
	far.Events = a.Events
	if r, err = report.Combine([]report.Part{{Name: "far", Report: far}, {Name: "a", Report: a}}); err != nil || !r.Events[0].At.Equal(a.Events[0].At) {
		t.Errorf("%v, %+v", err, r.Events)
	}
	reporttest.Reread(t, r)
}
