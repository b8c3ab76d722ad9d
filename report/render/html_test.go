package render_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// tenMinutes is the report of a run of ten minutes: see reporttest.TenMinutes.
func tenMinutes(t testing.TB) report.Report {
	t.Helper()
	return report.Build(reporttest.TenMinutes(t, 600))
}

// htmlOf writes a report as a page into a file, and returns its name and text.
func htmlOf(t *testing.T, r report.Report) (file, text string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "report.html")
	text = rendered(t, render.FormatOf(file), r)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, text
}

// htmlData returns the JSON in a page.
func htmlData(t testing.TB, text string) (data struct{ Report, Curve, Heat, Marks any }) {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no data in\n%.500s", text)
	}
	if err := json.Unmarshal([]byte(found[1]), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// htmlKinds are reports of every kind that a page can show.
func htmlKinds(t *testing.T) map[string]report.Report {
	t.Helper()
	incomplete := reporttest.Run(t)
	incomplete.Workers[0].Total.Final = false
	failed := reporttest.Run(t)
	for _, text := range []string{"errors:rate<1%", "latency:p(50)<1s", "latency:p(99)<10ms over 30s"} {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		failed.Thresholds = append(failed.Thresholds, threshold)
	}
	combined, err := report.Combine([]report.Part{{Name: "berlin.loadctl", Report: report.Build(reporttest.Run(t))}, {Name: "paris.loadctl", Report: report.Build(otherProcesses(reporttest.Run(t)))}})
	if err != nil {
		t.Fatal(err)
	}
	running := reporttest.Run(t)
	running.Running = true
	short := reporttest.Run(t)
	short.Duration = 300 * time.Millisecond
	fromJSON := report.Build(reporttest.Run(t))
	fromJSON.Histograms = nil
	phasesFromJSON := report.Build(reporttest.Phased(reporttest.Run(t)))
	phasesFromJSON.Histograms = nil
	return map[string]report.Report{
		"streams": report.Build(reporttest.Streamed(reporttest.Run(t))),
		"terse":   report.Build(reporttest.Terse(reporttest.Run(t))),
		"phases":  report.Build(reporttest.Phased(reporttest.Run(t))), "phases from JSON": phasesFromJSON,
		"slots": report.Build(reporttest.Run(t)), "closed loop": report.Build(reporttest.Loop(true)), "never begun": report.Build(report.Input{Run: "x", TargetRate: 100}),
		"nothing sent": report.Build(report.Input{Run: "x", StartedAt: incomplete.StartedAt, Duration: 5 * time.Second, TargetRate: 100, Budget: report.Budget{Issued: 500, Skipped: 500}}),
		"incomplete":   report.Build(incomplete), "thresholds": report.Build(failed), "combined": combined, "hostile": reporttest.Scribbled(t), "running": report.Build(running), "short": report.Build(short), "JSON": fromJSON, "evil": evil(t), "queries": report.Build(reporttest.Queried(reporttest.Run(t))),
	}
}

// evil is a report in which every text tries to be active HTML.
func evil(t *testing.T) report.Report {
	t.Helper()
	const text = "<img src=x onerror=alert(1)>\"'></script><script>alert(1)</script><!--<script>"
	r := report.Build(reporttest.Run(t))
	r.Run, r.Limiter, r.Described.URL, r.Described.CreatedBy, r.Described.ReportedBy, r.Described.Redis = text, text, text, text, text, text
	r.Described.Flags, r.Described.Withheld = []string{text}, []string{text}
	r.Errors, r.StatusCodes = map[string]int64{text: 30}, map[string]int64{text: 30}
	for i := range r.Series {
		r.Series[i].Errors = map[string]int64{text: r.Series[i].Failed}
	}
	r.Events = []report.Event{{At: r.StartedAt.Add(time.Second), Kind: text, Who: text, What: text}}
	r.Notes = []string{text}
	r.Thresholds = []threshold.Result{{Threshold: text, Result: "failed", Text: text}}
	for i := range r.Workers {
		r.Workers[i].ID, r.Workers[i].State, r.Workers[i].Verdicts = text, text, []record.Verdict{{Limit: text, Cause: text, Text: text}}
	}
	return r
}

// otherProcesses returns the same run by other processes.
func otherProcesses(in report.Input) report.Input {
	for i := range in.Workers {
		in.Workers[i].Incarnation = "c3d4"
	}
	return in
}

// TestHTMLHasTheJSON: the data in the page is the JSON report, and each number shown equals the one at its path there.
func TestHTMLHasTheJSON(t *testing.T) {
	for name, r := range htmlKinds(t) {
		t.Run(name, func(t *testing.T) {
			_, text := htmlOf(t, r)
			var want any
			if err := json.Unmarshal([]byte(rendered(t, "json", r)), &want); err != nil {
				t.Fatal(err)
			}
			if got := htmlData(t, text).Report; !reflect.DeepEqual(got, want) {
				t.Errorf("the data differs from the JSON report: %v", got)
			}
			if name == "hostile" || name == "evil" {
				return // the names of its numbers are cut
			}
			seen := htmlNumbers(t, r, text)
			for _, path := range []string{"sent", "audit.completed", "audit.failed", "audit.issued", "audit.lost", "rate", "throughput"} {
				if !seen[path] {
					t.Errorf("%s is not shown", path)
				}
			}
			if r.HasTimes() && (!seen["latency_ns.p50"] || !seen["latency_ns.p9999"] || !seen["latency_ns.max"]) {
				t.Errorf("no times: %v", seen)
			}
		})
	}
}

// htmlHas checks each number that is shown.
func htmlHas(t *testing.T, r report.Report, _ map[string]any, text string) {
	t.Helper()
	if seen := htmlNumbers(t, r, text); len(seen) < 15 {
		t.Errorf("only %d numbers are shown: %v", len(seen), seen)
	}
}

// htmlNumbers checks that each number of the page equals the one at its path in the JSON report, and returns the paths.
func htmlNumbers(t *testing.T, r report.Report, text string) map[string]bool {
	t.Helper()
	numbers := flat(document(t, rendered(t, "json", r)))
	for i, w := range r.Workers {
		for path, n := range map[string]int64{"sent": w.Sent, "seen_late": w.SeenLate, "late_dropped": w.LateDropped, "busy": w.Busy} {
			numbers[fmt.Sprintf("workers.%d.%s", i, path)] = fmt.Sprint(n)
		}
	}
	for i, q := range r.Queries {
		for path, n := range map[string]float64{"n": float64(q.N), "missed": float64(q.Missed), "min": q.Min, "avg": q.Avg, "max": q.Max} {
			text, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			numbers[fmt.Sprintf("queries.%d.%s", i, path)] = string(text)
		}
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`<data value="([^"]*)" data-path="([^"]*)">([^<]*)</data>`).FindAllStringSubmatch(text, -1) {
		seen[m[2]] = true
		if numbers[m[2]] == "" || numbers[m[2]] != m[1] {
			t.Errorf("%s is %s (%s), want %s", m[2], m[1], m[3], numbers[m[2]])
		}
	}
	return seen
}

// TestHTMLIsClosed: untrusted text opens no element and ends none.
func TestHTMLIsClosed(t *testing.T) {
	_, text := htmlOf(t, evil(t))
	if n := strings.Count(strings.ToLower(text), "<script"); n != 2 {
		t.Errorf("%d script elements", n)
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d ends of script elements", n)
	}
	if strings.Contains(text, "<img") || strings.Contains(text, "<!--") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("a text is read as HTML, or steers")
	}
}

// TestHTMLSize: a page stays small.
func TestHTMLSize(t *testing.T) {
	_, text := htmlOf(t, tenMinutes(t))
	t.Logf("%d bytes", len(text))
	if len(text) > 500_000 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestHTMLHeat: no request is lost in the heat map, and each is in its row, for long runs and wide ranges.
func TestHTMLHeat(t *testing.T) {
	for name, r := range map[string]report.Report{"run": report.Build(reporttest.Run(t)), "ten minutes": tenMinutes(t)} {
		heat := render.HeatOf(r)
		if heat == nil || len(heat.Columns) > render.HeatColumns {
			t.Fatalf("%s: %+v", name, heat)
		}
		per := heat.WidthS / r.SeriesWidthS
		for i, column := range heat.Columns {
			var want, got int64
			low, high := int64(math.MaxInt64), int64(0)
			for _, p := range r.Histograms.Series {
				if p.Index/per == int64(i) {
					want += p.Latency.Count()
					low, high = min(low, p.Latency.Min()), max(high, p.Latency.Max())
				}
			}
			for _, n := range column[min(1, len(column)):] {
				got += n
			}
			if got != want {
				t.Errorf("%s: column %d has %d, want %d", name, i, got, want)
			}
			if got == 0 {
				continue
			}
			edge := func(row int64) float64 { return 1000 * math.Pow(10, float64(row)/float64(heat.PerDecade)) }
			first, last := edge(column[0]), edge(column[0]+int64(len(column))-1)
			if float64(low) < 0.99*first || float64(low) > 1.05*edge(column[0]+1) || float64(high) > 1.03*last {
				t.Errorf("%s: column %d is from %.0f to %.0f, want %d to %d", name, i, first, last, low, high)
			}
		}
	}
}

// TestHTMLCurve: the curve goes through the percentiles of the report, never falls, and leaves out lower bounds.
func TestHTMLCurve(t *testing.T) {
	for name, r := range htmlKinds(t) {
		c := render.CurveOf(r)
		if !r.HasTimes() {
			if c != nil {
				t.Errorf("%s: a curve of nothing", name)
			}
			continue
		}
		want := map[float64]int64{2: r.Latency.P50, 10: r.Latency.P90, 20: r.Latency.P95, 100: r.Latency.P99, 1000: r.Latency.P999}
		last := int64(0)
		for i, n := range c.OneIn {
			v := c.Latency[i]
			if r.LowerBoundsAbove != nil && 1-1/n > *r.LowerBoundsAbove {
				if v != nil {
					t.Errorf("%s: 1 in %v is known", name, n)
				}
				continue
			}
			if v == nil || *v < last {
				t.Fatalf("%s: 1 in %v is %v after %d", name, n, v, last)
			}
			if ns, has := want[n]; has && *v != ns && i < len(c.OneIn)-1 {
				t.Errorf("%s: 1 in %v is %d, want %d", name, n, *v, ns)
			}
			last = *v
		}
		if (c.Service == nil) != r.ClosedLoop {
			t.Errorf("%s: service time %v", name, c.Service)
		}
		if (len(c.FirstByte) == len(c.OneIn)) != (r.FirstBytes > 0) {
			t.Errorf("%s: %d first bytes", name, len(c.FirstByte))
		}
		for _, line := range [][]*int64{c.FirstEvent, c.EventGap} {
			if (len(line) == len(c.OneIn)) != r.Streams.Any() {
				t.Errorf("%s: %d values of answers in pieces", name, len(line))
			}
		}
	}
}

// TestHTMLMarks: each event during the run is a numbered mark, and the table of events has the number.
func TestHTMLMarks(t *testing.T) {
	r := tenMinutes(t)
	marks := render.MarksOf(r)
	var times []float64
	for i, m := range marks {
		times = append(times, m.T)
		if m.N != i+1 {
			t.Errorf("%+v", m)
		}
	}
	if fmt.Sprint(times) != "[180 300 312 450 480]" || marks[0].Tone != "command" || marks[1].Tone != "fault" || marks[2].Tone != "member" {
		t.Errorf("%+v", marks)
	}
	rows, hidden := render.EventRows(r, marks)
	if len(rows) != len(r.Events) || hidden != 0 || rows[9].Mark != "1" || rows[0].Mark != "" || rows[13].What != "560 per second" {
		t.Errorf("%+v", rows)
	}
	r.Events = nil // as in an archive of an older version
	r.Described.Commands = []report.Command{{At: r.StartedAt.Add(time.Minute), Command: "pause", Who: "ann@desk"}}
	if marks := render.MarksOf(r); len(marks) != 1 || marks[0].Text != "pause · ann@desk" || marks[0].T != 60 {
		t.Errorf("%+v", marks)
	}
}
