package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// run returns the input of a small run: two workers, one of them killed, with an answer of each kind and each reason
// for not sending.
func run(t testing.TB) Input {
	t.Helper()
	const ms = 1_000_000
	in := Input{
		Run:        "checkout",
		StartedAt:  time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC),
		Duration:   10 * time.Second,
		TargetRate: 200,
		Budget:     Budget{Issued: 2_028, Skipped: 5},
		AskedBy:    func(from, to int64) int64 { return (to - from) * 200 / 1_000_000 },
	}
	in.Described = Description{
		Setting: Setting{
			Method: "POST", URL: "http://redacted@127.0.0.1:8080/pay?a=1&b=2",
			Flags: []string{"--url", "http://redacted@127.0.0.1:8080/pay?a=1&b=2", "--header", "Authorization: [redacted]", "--body", "it's |one|",
				"--qps", "200", "--duration", "10s"},
			Withheld: []string{"--url", "--header Authorization"},
		},
		CreatedBy: "loadctl 1.2.3", Redis: "7.0.15",
		Commands: []Command{{At: in.StartedAt.Add(-time.Second), Command: "create", Who: "ann@desk"},
			{At: in.StartedAt.Add(3 * time.Second), Command: "set-rate", Who: "ann@desk", What: "200 per second"}},
	}
	in.Events = []Event{{At: in.StartedAt.Add(-time.Second), Kind: "create", Who: "ann@desk", What: "u1"},
		{At: in.StartedAt.Add(-time.Millisecond), Kind: "join", Who: "host-1", What: "weight 1"},
		{At: in.StartedAt.Add(3 * time.Second), Kind: "set-rate", Who: "ann@desk", What: "200 per second"},
		{At: in.StartedAt.Add(10 * time.Second), Kind: "stopped", Who: "host-1", What: "a1b2"}}
	for id, sent := range []int64{1_000, 1_010} {
		rec, series, total := NewRecorder(), new(Series), NewSnapshot(fmt.Sprintf("host-%d", id+1), "a1b2")
		for i := range sent {
			s := Sample{Sent: 20_000 * (i % 5), Done: (1 + i%40) * ms, Status: 200, BytesIn: 1_500, BytesOut: 120}
			switch {
			case i%100 == 0:
				s.Status, s.Class = 503, "status"
			case i%250 == 1:
				s.Status, s.Class, s.Done = 0, "timeout", 2_000*ms
			}
			rec.Sent()
			if i < 1_005 {
				rec.Done(s)
			}
			if i%101 == 100 || i == sent-1 {
				part := NewSnapshot(total.Worker, total.Incarnation)
				part.Record(rec)
				rec.Reset()
				series.Add(i*10_000, part)
				total.Merge(part)
			}
		}
		total.Counts.LateDropped, total.Counts.Recalled = 2, 1
		total.Counts.SeenLate, total.Counts.Busy, total.Counts.Opening, total.Counts.NoRoom = 1, 40, 30, 20
		total.Final = true
		measured := beat()
		measured.Self.Shard.Worst += second * 8 / 10 * int64(id) // of the second worker that is too much
		measured.JudgeBeat()
		total.Self = measured.Self
		points := series.Points()
		in.Workers = append(in.Workers, WorkerInput{
			ID: total.Worker, Incarnation: total.Incarnation, State: []string{"left", "dead"}[id], Gone: true, Gaps: int64(id),
			LastSeen: in.StartedAt.Add(10 * time.Second), Leased: sent + []int64{4, 8}[id], Beyond: 2,
			Total: total, Series: points,
		})
	}
	in.Budget.Issued = in.Workers[0].Leased + in.Workers[1].Leased + in.Budget.Skipped
	return in
}

func TestBuild(t *testing.T) {
	r := Build(run(t))
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
	r := Build(Input{})
	if !r.Complete || r.Asked != 0 || r.Rate != 0 || r.Success != 0 || r.LowerBoundsAbove != nil {
		t.Errorf("empty report: %+v", r)
	}
	for _, name := range Formats() {
		render, err := Format(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := render(new(bytes.Buffer), r); err != nil {
			t.Errorf("%s of an empty report: %v", name, err)
		}
	}
}

func TestBuildIncomplete(t *testing.T) {
	in := run(t)
	in.Missing = []string{"half of it"}
	in.Budget.Issued, in.Budget.Skipped = in.Budget.Issued+500, in.Budget.Skipped+500 // which somebody unknown may have sent
	if r := Build(in); r.Complete || len(r.Notes) != 1 || r.Notes[0] != "half of it" {
		t.Errorf("with something missing: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = run(t)
	in.Workers[1].Total = nil
	if r := Build(in); r.Complete || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "worker host-2: no snapshot arrived") {
		t.Errorf("without a snapshot: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = run(t)
	in.Budget.Issued++
	if r := Build(in); r.Complete || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "audit: issued") {
		t.Errorf("with a slot unaccounted for: complete %t, notes %q", r.Complete, r.Notes)
	}
	in = run(t)
	in.Workers[0].Total.Counts.OutOfRange = 3
	if r := Build(in); !r.Complete || len(r.Notes) != 1 || r.OutOfRange != 3 {
		t.Errorf("with values out of range: complete %t, notes %q", r.Complete, r.Notes)
	}
}

func TestBuildFillsSeries(t *testing.T) {
	for _, c := range []struct {
		duration   time.Duration
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
		var s Series
		s.Add(c.atUS, interval(7, 1_000_000))
		r := Build(Input{Duration: c.duration, Workers: []WorkerInput{{Series: points(&s)}},
			AskedBy: func(from, to int64) int64 { return to - from }})
		if len(r.Series) != c.n || r.SeriesWidthS != c.width || r.Series[c.hit].Sent != 7 {
			t.Errorf("%v: %d points of %d s, want %d of %d", c.duration, len(r.Series), r.SeriesWidthS, c.n, c.width)
			continue
		}
		var asked int64
		for _, p := range r.Series {
			asked += p.Asked
		}
		if want := max(0, c.duration.Microseconds()); asked != want {
			t.Errorf("%v: the windows asked about cover %d µs, want %d", c.duration, asked, want)
		}
	}
}

// broken is a writer whose disk is full.
type broken struct{}

var errFull = errors.New("disk full")

func (broken) Write([]byte) (int, error) { return 0, errFull }

func TestFormats(t *testing.T) {
	r := Build(run(t))
	for _, name := range Formats() {
		render, err := Format(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := render(broken{}, r); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
	}
	for file, want := range map[string]string{"a.json": "json", "a/b.TXT": "text", "x.prom": "openmetrics", "x.xml": "junit", "x.md": "markdown", "x": "", "json": "", "x.json.old": ""} {
		if got := FormatOf(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if _, err := Format("xml"); err == nil || !strings.Contains(err.Error(), "text, json") {
		t.Errorf("unknown format: %v", err)
	}
}

// A report read from its own JSON is the same except for the histograms, and still prints as text.
func TestReportFromJSON(t *testing.T) {
	r := Build(run(t))
	var data, text bytes.Buffer
	if err := JSON(&data, r); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, back); err != nil {
		t.Fatal(err)
	}
	if HGRM(&text, back) == nil || HLog(&text, back) == nil {
		t.Error("histograms rendered from a report that has none")
	}
	back.Histograms = r.Histograms
	if !reflect.DeepEqual(back, r) {
		t.Errorf("read back %+v\nwant %+v", back, r)
	}
}

func TestTextMarksLowerBounds(t *testing.T) {
	r := Build(run(t)) // 4 dropped of about 2,000: above 99.8 %
	var b bytes.Buffer
	if err := Text(&b, r); err != nil {
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
		{duration(0), "0.00µs"}, {duration(511), "0.51µs"}, {duration(1_234_567), "1.23ms"},
		{duration(45_678_901), "45.7ms"}, {duration(999_999_999), "1.00s"}, {duration(999_936), "1.00ms"}, {duration(highestNS), "3600s"},
		{bytesize(999), "999 B"}, {bytesize(1_234), "1.23 kB"}, {bytesize(12_345_678), "12.3 MB"},
		{bytesize(9e18), "9000 PB"}, {rate(0), "0"}, {rate(0.2), "0.2"}, {rate(1.0 / 3), "0.333"},
		{rate(999.96), "1000"}, {rate(12_345.67), "12345.7"},
		{percent(1), "100.00"}, {percent(0.99999), "99.99"}, {percent(0.57), "57.00"}, {percent(0), "0.00"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestUnsentIsSaid: if a run did not reach its rate, the report says so in words, even if it is complete.
func TestUnsentIsSaid(t *testing.T) {
	for skipped, said := range map[int64]bool{5: false, 50: true} {
		in := run(t)
		in.Budget.Issued += skipped - in.Budget.Skipped
		in.Budget.Skipped = skipped
		r := Build(in)
		if got := strings.Contains(strings.Join(r.Notes, "\n"), "was not sent, because no worker owned it"); got != said || !r.Complete {
			t.Errorf("%d skipped of %d: complete %v, %q", skipped, r.Asked, r.Complete, r.Notes)
		}
		in.Running = true
		if r := Build(in); len(r.Notes) > 0 {
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
		in := run(t)
		in.Workers = in.Workers[:len(c.states)]
		for i, state := range c.states {
			in.Workers[i].State = state
		}
		var b bytes.Buffer
		if err := Text(&b, Build(in)); err != nil || !strings.Contains(b.String(), c.says) || strings.Count(b.String(), "/s (") != 1 {
			t.Errorf("%q: %v\n%s", c.states, err, b.String())
		}
	}
}

// TestUngrantedIsSaid: the note names possible causes and what to do, in one line.
func TestUngrantedIsSaid(t *testing.T) {
	in := run(t)
	in.Budget.Ungranted = 10 * in.Budget.Issued
	text := strings.Join(Build(in).Notes, "\n")
	for _, cause := range []string{"Redis was away", "lost its state", "workers were gone", "--burst or --window is too small for calls 5 ms apart"} {
		if !strings.Contains(text, cause) || strings.Contains(text, "\n") {
			t.Errorf("%q is not in one note of %q", cause, text)
		}
	}
}

// The note says what was not sent and why.
func TestShortfall(t *testing.T) {
	for name, c := range map[string]struct {
		audit Audit
		want  []string
	}{
		"late":        {Audit{LateDropped: 50, Skipped: 60}, []string{"6.00 % of what was asked for was not sent, because no worker owned it: there was none, or after a failover the owner was unknown", "5.00 % of what was asked for was not sent, because it would have been late: the workers or their connections did not keep up, or Redis did not answer for longer than promises last"}},
		"not granted": {Audit{Ungranted: 100}, []string{"10.00 % of what was asked for was not sent, because the limiter did not grant it in time"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{Asked: 1000, Audit: c.audit}
			r.shortfall()
			if !slices.EqualFunc(r.Notes, c.want, strings.HasPrefix) {
				t.Errorf("%q", r.Notes)
			}
		})
	}
}
