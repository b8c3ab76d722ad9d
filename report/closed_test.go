package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// TestClosedLoop: nothing was asked for, all adds up, and the report explains its latencies.
func TestClosedLoop(t *testing.T) {
	r := report.Build(reporttest.Loop(true))
	if !r.Complete || r.Asked != 0 || r.Audit.Sent != 8 || r.Lag != (record.Distribution{}) || r.Latency != r.ServiceTime || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
	var text, object bytes.Buffer
	if err := render.Text(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nasked       max          as fast as it goes (closed loop)\n", "\nsent        8 ", "\naudit       sent 8 = completed 8\n", "\nlatency ",
		"\nnote        closed loop: the next request was sent when one had ended; " +
			"latencies do not include the time that users would have waited (coordinated omission). For latencies at a rate use --qps NUMBER\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, text.String())
		}
	}
	if s := text.String(); strings.Contains(s, "\nlag ") || strings.Contains(s, "\nservice time ") || strings.Contains(s, "permit") {
		t.Error(s)
	}
	if err := render.JSON(&object, r); err != nil || !strings.Contains(object.String(), "\"closed_loop\": true,\n") {
		t.Errorf("%s, %v", object.String(), err)
	}
}

// TestConcurrency asserts that every format for people says how many requests were to be in flight, and JSON all numbers. Of many
// they show the first ones and the last.
func TestConcurrency(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		text    string
	}{
		{[]int64{8}, "c=8"},
		{[]int64{4, 8, 16, 64}, "c=4, c=8, c=16, c=64"},
		{[]int64{1, 2, 3, 4, 5, 6}, "c=1, c=2, c=3, …, c=6"},
	} {
		in := reporttest.Loop(true)
		in.Concurrency = c.numbers
		r := report.Build(in)
		for format, want := range map[string]string{
			"text": "\nasked       " + fmt.Sprintf("%-12s", c.text) + " as many requests in flight (closed loop)\n", "markdown": "| asked | " + c.text + " | |",
			"html": c.text, "json": `"concurrency": [`,
		} {
			write, err := render.Format(format)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := write(&b, r); err != nil || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "as fast as it goes") {
				t.Errorf("%v as %s: %v, %q is missing, or the loop has no number:\n%.3000s", c.numbers, format, err, want, b.String())
			}
		}
		if again := reporttest.Reread(t, r); !slices.Equal(again.Concurrency, c.numbers) {
			t.Errorf("an archive has %v, want %v", again.Concurrency, c.numbers)
		}
	}
}

// TestCombinedConcurrency asserts that the numbers of fleets side by side are added up, if they changed alike.
func TestCombinedConcurrency(t *testing.T) {
	part := func(name string, numbers ...int64) report.Part {
		in := reporttest.Loop(true)
		in.Concurrency = numbers
		for i := range in.Workers {
			in.Workers[i].ID += name
		}
		return report.Part{Name: name, Report: report.Build(in)}
	}
	for _, c := range []struct{ one, two, want []int64 }{{[]int64{4, 8}, []int64{1, 2}, []int64{5, 10}}, {[]int64{4, 8}, []int64{1}, nil}, {nil, []int64{1}, nil}, {nil, nil, nil}} {
		r, err := report.Combine([]report.Part{part("p", c.one...), part("q", c.two...)})
		if err != nil || !slices.Equal(r.Concurrency, c.want) {
			t.Errorf("%v and %v: %v, %v; want %v", c.one, c.two, r.Concurrency, err, c.want)
		}
	}
}

// TestClosedLoopHasNoSlots: counts of slots, as in a worker's file, are ignored. The counts of requests must add up.
func TestClosedLoopHasNoSlots(t *testing.T) {
	in := reporttest.Loop(true)
	in.Workers[0].Leased, in.Budget = in.Workers[0].Total.Counts.Slots(), report.Budget{Issued: 7, Skipped: 2}
	r := report.Build(in)
	if want := (report.Audit{Sent: 8, Completed: 8}); r.Audit != want || r.Asked != 0 || r.CheckAudit() != nil || !r.Complete {
		t.Errorf("%+v, complete %v %q", r.Audit, r.Complete, r.Notes)
	}
	r.Audit.Completed--
	if err := r.CheckAudit(); err == nil || !strings.Contains(err.Error(), "sent 8 ≠ completed 7") {
		t.Errorf("one that is missing: %v", err)
	}
	in.ClosedLoop = false
	if r := report.Build(in); r.CheckAudit() == nil || r.Complete {
		t.Errorf("sent without slots in a run that has slots: %+v", r.Audit)
	}
}

// TestClosedLoopCutShort: no slots account for what a killed worker sent last, so the report is not complete.
func TestClosedLoopCutShort(t *testing.T) {
	r := report.Build(reporttest.Loop(false))
	notes := strings.Join(r.Notes, "\n")
	if r.Complete || !strings.Contains(notes, "worker b: its final snapshot is missing") || strings.Contains(notes, "worker a") {
		t.Errorf("complete %v, %s", r.Complete, notes)
	}
}

// TestClosedLoopVerdicts: if the worker had time to spare, the report says what limited the closed loop, with the
// number of connections.
func TestClosedLoopVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, want, says, not string
		change                func(*record.Snapshot)
	}{
		{"the endpoint", "endpoint/answers", "the worker had 86 % of its time to spare: the endpoint, or the number of connections (64), was", "",
			func(*record.Snapshot) {}},
		{"what was taken is no spare time", "endpoint/answers", " 34 % ", "", func(s *record.Snapshot) { s.Self.Shard = record.NewLoad(reporttest.Second*65/100, reporttest.Second) }},
		{"the worker", "generator/shard_cpu", "", "", func(s *record.Snapshot) { s.Self.Shard = record.NewLoad(reporttest.Second*95/100, reporttest.Second) }},
		{"almost the worker", "", "", "", func(s *record.Snapshot) { s.Self.Shard = record.NewLoad(reporttest.Second*89/100, reporttest.Second) }},
		{"the machine", "machine/steal", "", "", func(s *record.Snapshot) { s.Self.Steal = record.NewLoad(reporttest.Second*8/10, reporttest.Second) }},
		{"the endpoint, on a shared machine", "machine/steal endpoint/answers", " 77 % ", "", func(s *record.Snapshot) { s.Self.Steal = record.NewLoad(reporttest.Second/10, reporttest.Second) }},
		{"nothing sent", "", "", "", func(s *record.Snapshot) { s.Counts.Sent = 0 }},
		{"no connections", "", "", "", func(s *record.Snapshot) { s.MostInFlight = 0 }},
		{"nothing known", "", "", "", func(s *record.Snapshot) { s.Self = record.Self{Wall: reporttest.Second} }},
		{"all cores", "generator/cpu", "add workers or cores", "--pace-resolution", func(s *record.Snapshot) {
			s.Self.CPU, s.Self.Shard = record.NewLoad(reporttest.Second, reporttest.Second), record.NewLoad(reporttest.Second*89/100, reporttest.Second)
		}},
	} {
		s := reporttest.Beat()
		s.MostInFlight = 64
		c.change(s)
		s.JudgeBeat()
		var causes, texts []string
		for _, v := range record.Verdicts(s, true) {
			causes, texts = append(causes, v.Limit+"/"+v.Cause), append(texts, v.Text)
		}
		text := strings.Join(texts, "\n")
		if strings.Join(causes, " ") != c.want || !strings.Contains(text, c.says) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q %q, want %s with %q", c.name, causes, text, c.want, c.says)
		}
		for _, v := range record.Verdicts(s, false) {
			if v.Cause == "answers" {
				t.Errorf("%s: of slots %q", c.name, v.Text)
			}
		}
	}
}

// TestClosedLoopStoodStill: notes list what lowered the rate, and the report has the number of connections.
func TestClosedLoopStoodStill(t *testing.T) {
	in := reporttest.Loop(true)
	for i, most := range []int64{48, 16} {
		total := in.Workers[i].Total
		total.MostInFlight, total.Self.Silent, total.Self.Paused = most, int64(i+2)*reporttest.Second, 99_000_000
	}
	again := record.NewSnapshot("b", "2") // takes its place, with fewer
	again.MostInFlight, again.Self.Paused, again.Final = 8, 2*reporttest.Second+7, true
	again.Counts = record.Counts{Sent: 2, Completed: 1, Failed: 1}
	in.Workers = append(in.Workers, report.WorkerInput{ID: "b", State: "left", Gone: true, Total: again})
	r := report.Build(in)
	want := []string{
		report.ClosedLoop, "10.00 % of the requests failed, and the rate of sent includes them: the endpoint may not have done their work",
		"a worker sent nothing for about 3s because Redis did not answer; the rates include that time",
		"paused for 2s; the rates include that time",
	}
	if strings.Join(r.Notes, "\n") != strings.Join(want, "\n") || !r.Complete || r.Workers[1].MostInFlight != 16 {
		t.Errorf("%q, %+v", r.Notes, r.Workers)
	}
	var text bytes.Buffer
	if err := render.Text(&text, r); err != nil || !strings.Contains(text.String(), "as fast as it goes (closed loop) over 64 connections\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestMostInFlight: the sum over shards, and the maximum over beats; it survives publishing.
func TestMostInFlight(t *testing.T) {
	total, a, b := record.NewSnapshot("w", "1"), record.NewRecorder(), record.NewRecorder()
	for _, n := range [][2]int64{{3, 4}, {5, 6}, {1, 9}} {
		a.InFlight(n[0])
		a.InFlight(n[0] - 1)
		b.InFlight(n[1])
		one := record.NewSnapshot("w", "1")
		one.Record(a)
		one.Record(b)
		total.Merge(one)
		a.Reset()
		b.Reset()
	}
	data, err := total.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back record.Snapshot
	if err := back.UnmarshalBinary(data); err != nil || back.MostInFlight != 11 {
		t.Errorf("%d of %d, want 11; %v", back.MostInFlight, total.MostInFlight, err)
	}
	if err := back.UnmarshalBinary([]byte(`{"v":1,"most_in_flight":-1}`)); err == nil {
		t.Error("-1 in flight are believed")
	}
}
