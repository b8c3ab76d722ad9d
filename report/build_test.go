package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/units"
)

func TestBuild(t *testing.T) {
	r := report.Build(reporttest.Run(t))
	if !r.Complete || len(r.Notes) != 0 {
		t.Errorf("complete %t, notes %q", r.Complete, r.Notes)
	}
	if r.Rate != 201 || r.Throughput != 197.5 || !(r.Success > 0.98 && r.Success < 0.99) {
		t.Errorf("rate %v, throughput %v, success %v", r.Rate, r.Throughput, r.Success)
	}
	if r.LowerBoundsAbove == nil || *r.LowerBoundsAbove != 1-4/float64(r.Asked) {
		t.Errorf("lower bounds above %v, asked %d", r.LowerBoundsAbove, r.Asked)
	}
	var asked, sent, ended int64
	for _, s := range r.Series {
		asked, sent, ended = asked+s.Asked, sent+s.Sent, ended+s.OK+s.Failed
	}
	if asked != 2_000 || sent != r.Audit.Sent || ended != r.Audit.Completed+r.Audit.Failed {
		t.Errorf("series adds up to asked %d, sent %d, ended %d: %+v", asked, sent, ended, r.Audit)
	}
}

func TestBuildOfNothing(t *testing.T) {
	r := report.Build(report.Input{})
	if !r.Complete || r.Asked != 0 || r.Rate != 0 || r.Success != 0 || r.LowerBoundsAbove != nil {
		t.Errorf("empty report: %+v", r)
	}
	for _, name := range render.Formats() {
		render, err := render.Format(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := render(new(bytes.Buffer), r); err != nil {
			t.Errorf("%s of an empty report: %v", name, err)
		}
	}
}

func TestBuildIncomplete(t *testing.T) {
	in := reporttest.Run(t)
	in.Missing = []string{"half of it"}
	in.Budget.Issued, in.Budget.Skipped = in.Budget.Issued+500, in.Budget.Skipped+500 // which somebody unknown may have sent
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || r.Notes[0] != "half of it" {
		t.Errorf("with something missing: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = reporttest.Run(t)
	in.Workers[1].Total = nil
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "worker host-2: no snapshot arrived") {
		t.Errorf("without a snapshot: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = reporttest.Run(t)
	in.Budget.Issued++
	if r := report.Build(in); r.Complete || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "audit: issued") {
		t.Errorf("with a slot unaccounted for: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = reporttest.Run(t)
	in.Workers[0].Total.Counts.OutOfRange = 3
	if r := report.Build(in); !r.Complete || len(r.Notes) != 1 || r.OutOfRange != 3 {
		t.Errorf("with values out of range: complete %t, notes %q", r.Complete, r.Notes)
	}
}

func TestBuildFillsSeries(t *testing.T) {
	for _, c := range []struct {
		Duration   time.Duration
		atUS       int64
		n          int
		width, hit int64
	}{
		{10 * time.Second, 3e6, 10, 1, 3},
		{9500 * time.Millisecond, 3e6, 10, 1, 3},
		{2 * time.Second, 5e6, 6, 1, 5}, // an answer after the end
		{2048 * time.Second, 5e6, 1024, 2, 2},
		{2049 * time.Second, 5e6, 513, 4, 1},
		{-time.Second, 5e6, 6, 1, 5},
		{0, 3e9, 751, 4, 750},
	} {
		var s record.Series
		s.Add(c.atUS, reporttest.Interval(7, 1_000_000))
		r := report.Build(report.Input{Duration: c.Duration, Workers: []report.WorkerInput{{Series: s.Points()}},
			AskedBy: func(from, to int64) int64 { return to - from }})
		if len(r.Series) != c.n || r.SeriesWidthS != c.width || r.Series[c.hit].Sent != 7 {
			t.Errorf("%v: %d points of %d s, want %d of %d", c.Duration, len(r.Series), r.SeriesWidthS, c.n, c.width)
			continue
		}
		var asked int64
		for _, p := range r.Series {
			asked += p.Asked
		}
		if want := max(0, c.Duration.Microseconds()); asked != want {
			t.Errorf("%v: the windows asked about cover %d µs, want %d", c.Duration, asked, want)
		}
	}
}

// broken is a writer whose disk is full.
type broken struct{}

var errFull = errors.New("disk full")

func (broken) Write([]byte) (int, error) { return 0, errFull }

func TestFormats(t *testing.T) {
	r := report.Build(reporttest.Run(t))
	for _, name := range render.Formats() {
		render, err := render.Format(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := render(broken{}, r); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
	}
	for file, want := range map[string]string{"a.json": "json", "a/b.TXT": "text", "x.prom": "openmetrics", "x.xml": "junit", "x.md": "markdown", "x": "", "json": "", "x.json.old": ""} {
		if got := render.FormatOf(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if _, err := render.Format("xml"); err == nil || !strings.Contains(err.Error(), "text, json") {
		t.Errorf("unknown format: %v", err)
	}
}

// A report read from its own JSON is the same except for the histograms, and still prints as text.
func TestReportFromJSON(t *testing.T) {
	r := report.Build(reporttest.Run(t))
	var data, text bytes.Buffer
	if err := render.JSON(&data, r); err != nil {
		t.Fatal(err)
	}
	var back report.Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if err := render.Text(&text, back); err != nil {
		t.Fatal(err)
	}
	if render.HGRM(&text, back) == nil || render.HLog(&text, back) == nil {
		t.Error("histograms rendered from a report that has none")
	}
	back.Histograms = r.Histograms
	if !reflect.DeepEqual(back, r) {
		t.Errorf("read back %+v\nwant %+v", back, r)
	}
}

func TestTextMarksLowerBounds(t *testing.T) {
	r := report.Build(reporttest.Run(t)) // 4 dropped of about 2,000: above 99.8 %
	var b bytes.Buffer
	if err := render.Text(&b, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		marks := strings.Count(line, "≥")
		want := 0
		if strings.HasPrefix(line, "latency") || strings.HasPrefix(line, "lag") {
			want = 3 // p99.9, p99.99, max
		}
		if marks != want {
			t.Errorf("%d marks, want %d: %s", marks, want, line)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{units.Duration(0), "0.00µs"}, {units.Duration(511), "0.51µs"}, {units.Duration(1_234_567), "1.23ms"},
		{units.Duration(45_678_901), "45.7ms"}, {units.Duration(999_999_999), "1.00s"}, {units.Duration(999_936), "1.00ms"}, {units.Duration(record.HighestNS), "3600s"},
		{units.Bytes(999), "999 B"}, {units.Bytes(1_234), "1.23 kB"}, {units.Bytes(12_345_678), "12.3 MB"},
		{units.Bytes(9e18), "9000 PB"}, {units.Rate(0), "0"}, {units.Rate(0.2), "0.2"}, {units.Rate(1.0 / 3), "0.333"},
		{units.Rate(999.96), "1000"}, {units.Rate(12_345.67), "12345.7"},
		{units.Percent(1), "100.00"}, {units.Percent(0.99999), "99.99"}, {units.Percent(0.57), "57.00"}, {units.Percent(0), "0.00"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestUnsentIsSaid: if a run did not reach its rate, the report says so in words, even if it is complete.
func TestUnsentIsSaid(t *testing.T) {
	for skipped, said := range map[int64]bool{5: false, 50: true} {
		in := reporttest.Run(t)
		in.Budget.Issued += skipped - in.Budget.Skipped
		in.Budget.Skipped = skipped
		r := report.Build(in)
		if got := strings.Contains(strings.Join(r.Notes, "\n"), "was not sent, because no worker owned it"); got != said || !r.Complete {
			t.Errorf("%d skipped of %d: complete %v, %q", skipped, r.Asked, r.Complete, r.Notes)
		}
		in.Running = true
		if r := report.Build(in); len(r.Notes) > 0 {
			t.Errorf("while it runs: %q", r.Notes)
		}
	}
}

// TestAloneIsSaid: what single workers did is not taken for what was asked of the cluster.
func TestAloneIsSaid(t *testing.T) {
	for _, c := range []struct {
		states []string
		says   string
	}{{[]string{"alone"}, "/s (of this worker alone)"}, {[]string{"alone", "alone"}, "/s (of these workers alone)"}, {[]string{"alone", "left"}, "/s (cluster total)"}} {
		in := reporttest.Run(t)
		in.Workers = in.Workers[:len(c.states)]
		for i, state := range c.states {
			in.Workers[i].State = state
		}
		var b bytes.Buffer
		if err := render.Text(&b, report.Build(in)); err != nil || !strings.Contains(b.String(), c.says) || strings.Count(b.String(), "/s (") != 1 {
			t.Errorf("%q: %v\n%s", c.states, err, b.String())
		}
	}
}

// TestUngrantedIsSaid: the note names possible causes and what to do, in one line.
func TestUngrantedIsSaid(t *testing.T) {
	in := reporttest.Run(t)
	in.Budget.Ungranted = 10 * in.Budget.Issued
	text := strings.Join(report.Build(in).Notes, "\n")
	for _, cause := range []string{"Redis was away", "lost its state", "workers were gone", "--burst or --window is too small for calls 5 ms apart"} {
		if !strings.Contains(text, cause) || strings.Contains(text, "\n") {
			t.Errorf("%q is not in one note of %q", cause, text)
		}
	}
}

// The note says what was not sent and why.
func TestShortfall(t *testing.T) {
	for name, c := range map[string]struct {
		audit report.Audit
		want  []string
	}{
		"late":        {report.Audit{LateDropped: 50, Skipped: 60}, []string{"6.00 % of what was asked for was not sent, because no worker owned it: there was none, or after a failover the owner was unknown", "5.00 % of what was asked for was not sent, because it would have been late: the workers or their connections did not keep up, or Redis did not answer for longer than leases last"}},
		"not granted": {report.Audit{Ungranted: 100}, []string{"10.00 % of what was asked for was not sent, because the limiter did not grant it in time"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := report.Report{Asked: 1000, Audit: c.audit}
			r.Shortfall()
			if !slices.EqualFunc(r.Notes, c.want, strings.HasPrefix) {
				t.Errorf("%q", r.Notes)
			}
		})
	}
}
