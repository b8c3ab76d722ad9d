package e2e

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report"
)

// reported waits until the report of a run has an event of this kind.
func (b *bed) reported(name, kind, who string) {
	b.t.Helper()
	await.True(b.t, "the event "+kind+" of "+who, func() bool {
		return slices.ContainsFunc(b.report(name).Events, func(e report.Event) bool { return e.Kind == kind && e.Who == who })
	})
}

// TestReportHasEvents: the commands, joins and deaths are in the report, in its archive, and in the report of the
// archive. So is when which class of errors occurred.
func TestReportHasEvents(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	described := []string{"--url", b.web.URL(), "--qps", "100", "--timeout", "1h", "--permit-for", scale("5s", "1s"), "--expect", "204"}
	stays := b.worker("pictured", append(described, "--id", "stays")...)
	dies := b.worker("pictured", append(described, "--id", "dies")...)
	b.started(50)
	b.loadctl("set-rate", "pictured", "300")
	b.loadctl("pause", "pictured")
	b.loadctl("resume", "pictured")
	joins := b.worker("pictured", append(described, "--id", "joins")...)
	b.reported("pictured", "join", "joins")
	dies.Cmd.Process.Signal(syscall.SIGKILL)
	b.reported("pictured", "lost", "dies")
	b.loadctl("stop", "pictured")
	stays.wait(1) // no answer was good
	joins.wait(1)

	live, _, _ := b.try("report", "pictured", "-o", "json")
	path := filepath.Join(t.TempDir(), "pictured.loadctl")
	b.try("report", "pictured", "--out", path)
	b.redis.Kill()
	if archived, _, code := b.try("report", path, "-o", "json"); archived != live || code != 1 {
		t.Errorf("the archive has\n%s\nwant\n%s", archived, live)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(live), &r); err != nil {
		t.Fatal(err)
	}
	person := run.Who()
	for _, want := range []report.Event{
		{Kind: "create", Who: person}, {Kind: "set-rate", Who: person, What: "300 per second"}, {Kind: "pause", Who: person}, {Kind: "resume", Who: person},
		{Kind: "stop", Who: person}, {Kind: "join", Who: "stays"}, {Kind: "join", Who: "dies"}, {Kind: "join", Who: "joins"}, {Kind: "lost", Who: "dies"},
		{Kind: "stopped", Who: "stays"}, {Kind: "stopped", Who: "joins"},
	} {
		n := 0
		for _, e := range r.Events {
			if e.Kind == want.Kind && e.Who == want.Who && (want.What == "" || e.What == want.What) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d times %+v in %+v", n, want, r.Events)
		}
	}
	if !slices.IsSortedFunc(r.Events, func(a, b report.Event) int { return a.At.Compare(b.At) }) {
		t.Errorf("%+v", r.Events)
	}
	classes := map[string]int64{}
	for _, s := range r.Series {
		if s.Errors["status"] != s.Failed {
			t.Errorf("second %d: %v of %d that failed", s.T, s.Errors, s.Failed)
		}
		for class, n := range s.Errors {
			classes[class] += n
		}
	}
	if !maps.Equal(classes, r.Errors) || r.Errors["status"] == 0 {
		t.Errorf("errors %v in the series, %v in the report", classes, r.Errors)
	}
}
