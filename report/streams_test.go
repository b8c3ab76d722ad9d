package report_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// answers records n random answers in pieces of two steps.
func answers(rng *rand.Rand, n int) *record.Recorder {
	rec := record.NewRecorder("a", "b")
	for range n {
		f := record.Finished{Sent: 1_000, Done: 900_000_000, Step: rng.IntN(2), Judged: true, Good: rng.IntN(4) > 0}
		f.Stream = &record.Stream{First: 1_000 + rng.Int64N(200_000_000), Events: 1 + rng.Int64N(30), TokensIn: 3, TokensOut: rng.Int64N(40), PerToken: rng.Int64N(9_000_000)}
		f.Stream.Last = f.Stream.First + rng.Int64N(500_000_000)
		for range f.Stream.Events - 1 {
			rec.Gap(f.Step, rng.Int64N(40_000_000))
		}
		rec.Sent()
		rec.StepSent(f.Step)
		rec.Done(f)
	}
	return rec
}

// TestStreamsOfSumAreThoseOfOne asserts that the report of one worker, that of two whose histograms are apart, and the combined
// reports of two have the same answers in pieces and the same goodput, in all and by step.
func TestStreamsOfSumAreThoseOfOne(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 41))
		one, other := answers(rng, 1+rng.IntN(200)), answers(rng, 1+rng.IntN(200))
		want := report.Build(phased("w", one, other))
		got := combined(t, one, other)
		apart := phased("w", one, other)
		apart.Times = record.NewSnapshot("", "")
		apart.Times.TakeTimes(apart.Workers[0].Total)
		for what, r := range map[string]report.Report{"combined": got, "apart": report.Build(apart)} {
			if r.Streams != want.Streams || r.Goodput != want.Goodput || !reflect.DeepEqual(r.Steps, want.Steps) {
				t.Fatalf("seed %d, %s: %+v %+v, want %+v %+v", seed, what, r.Streams, r.Goodput, want.Streams, want.Goodput)
			}
		}
		if want.Streams.Answers != want.Goodput.Judged || want.Steps[0].Streams.Events+want.Steps[1].Streams.Events != want.Streams.Events {
			t.Errorf("seed %d: %+v", seed, want)
		}
	}
}

// TestStreamsSurviveArchives asserts that all formats of a report with answers in pieces are those of its archive.
func TestStreamsSurviveArchives(t *testing.T) {
	for name, r := range map[string]report.Report{
		"with steps": report.Build(phased("w", answers(rand.New(rand.NewPCG(3, 1)), 300))), "without": report.Build(reporttest.Streamed(reporttest.Run(t))),
	} {
		back := reporttest.Reread(t, r)
		reporttest.SameFormats(t, name, back, r)
		if !r.Streams.Any() || !r.Goodput.Any() || !reflect.DeepEqual(back.Streams, r.Streams) || back.Histograms.Streams.Gap.Count() != r.Histograms.Streams.Gap.Count() {
			t.Errorf("%s: %+v", name, back.Streams)
		}
	}
}

// TestReportsWithoutStreamsAreSilent asserts that a run of plain answers without goals says nothing of pieces.
func TestReportsWithoutStreamsAreSilent(t *testing.T) {
	for name, text := range reporttest.EveryFormat(t, report.Build(reporttest.Phased(reporttest.Run(t)))) {
		for _, word := range []string{"streams", "first_event", "first event", "event gap", "goodput", "token"} {
			if name != "html" && strings.Contains(text, word) { // the scripts of a page know all words
				t.Errorf("%s has %q", name, word)
			}
		}
	}
}

// TestEveryFormatTellsOfStreams asserts that each format for people or programs has the first event and the goodput; and that only
// reports of language models name tokens.
func TestEveryFormatTellsOfStreams(t *testing.T) {
	model := report.Build(reporttest.Streamed(reporttest.Run(t)))
	plain := model
	plain.Streams.Tokens = report.Tokens{}
	want := map[string][]string{
		"text":        {"first event", "event gap", "stream ", "events  ", "goodput     108 of 120 answers met their goals, 10.8/s, 90.00 %"},
		"markdown":    {"| first event", "| event gap", "| stream |", "- events: ", "- goodput: 108 of 120"},
		"json":        {`"first_event_ns"`, `"event_gap_ns"`, `"stream_ns"`, `"goodput"`},
		"openmetrics": {"loadctl_first_event_seconds{", "loadctl_event_gap_seconds{", "loadctl_stream_seconds{", "loadctl_goals_met{"},
		"junit":       {`"streams.first_event_ns.p99"`, `"goodput.share"`},
		"html":        {">first event", ">event gap", ">goodput<", `"first_event":[`, `"event_gap":[`},
	}
	of, without := reporttest.EveryFormat(t, model), reporttest.EveryFormat(t, plain)
	for name, words := range want {
		for _, word := range words {
			if !strings.Contains(of[name], word) || !strings.Contains(without[name], word) {
				t.Errorf("%s has no %q", name, word)
			}
		}
		if !strings.Contains(of[name], "token") {
			t.Errorf("%s of a language model has no tokens", name)
		}
	}
	for _, word := range []string{"TTFT", "ITL", "TPOT", "tokens      in 840, out 1380, 138/s out, usage in 40 of 120 answers"} {
		if !strings.Contains(of["text"], word) || strings.Contains(without["text"], word) {
			t.Errorf("%q is in the text of a language model alone:\n%s", word, of["text"])
		}
	}
}

// TestThresholdsOnStreams asserts that the whole run and its steps are judged by answers in pieces and by goals.
func TestThresholdsOnStreams(t *testing.T) {
	rec := record.NewRecorder("a", "b", "plain")
	for i := range int64(100) {
		step, first := int(i%2), (50+40*(i%2))*1_000_000
		rec.Sent()
		rec.StepSent(step)
		rec.Gap(step, 20_000_000)
		s := &record.Stream{First: first, Last: first + 20_000_000, Events: 2, TokensIn: 1, TokensOut: 3, PerToken: 10_000_000}
		rec.Done(record.Finished{Sent: 10_000_000, Done: 200_000_000, Step: step, Stream: s, Judged: true, Good: i%20 > 0})
	}
	in := phased("w", rec)
	want := map[string]string{
		"first_event:p(99)<95ms":           threshold.Passed,
		"ttft:p(99)<85ms":                  threshold.Failed,
		"first_event_service:max<85ms":     threshold.Passed,
		"first_event_service:max<75ms":     threshold.Failed,
		"first_event{step=a}:max<51ms":     threshold.Passed,
		"first_event{step=b}:max<51ms":     threshold.Failed,
		"first_event{step=plain}:max<51ms": threshold.Undecided,
		"event_gap:p(95)<21ms":             threshold.Passed,
		"itl{step=a}:avg<19ms":             threshold.Failed,
		"tpot:med<11ms":                    threshold.Passed,
		"per_token:med<9ms":                threshold.Failed,
		"stream{step=a}:max<71ms":          threshold.Passed,
		"stream:max<71ms":                  threshold.Failed,
		"events:count==200":                threshold.Passed,
		"events:rate>201/s":                threshold.Failed,
		"events{step=a}:count==100":        threshold.Passed,
		"goodput:rate>=0.95":               threshold.Passed,
		"goodput:rate>95%":                 threshold.Failed,
		"goodput{step=b}:rate==1":          threshold.Passed,
		"goodput{step=a}:count==45":        threshold.Passed,
		"goodput{step=plain}:rate>0":       threshold.Undecided,
	}
	for text := range want {
		parsed, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, parsed)
	}
	section := report.Section{Asked: 100, Length: time.Second, Workers: []*record.Snapshot{in.Workers[0].Total}}
	r := report.Build(in)
	for i, got := range r.Thresholds {
		if got.Result != want[got.Threshold] {
			t.Errorf("%s: %s (%s), want %s", got.Threshold, got.Result, got.Text, want[got.Threshold])
		}
		if part := section.Judge(in.Thresholds[i]); part.Result != got.Result || part.Text != got.Text {
			t.Errorf("%s: a section says %s (%s), the report %s (%s)", got.Threshold, part.Result, part.Text, got.Result, got.Text)
		}
	}
}

// TestStreamsOfLateDropsAreBounds asserts that requests that were dropped late count as slower in what counts from when a request was
// due, and in nothing else.
func TestStreamsOfLateDropsAreBounds(t *testing.T) {
	rec := answers(rand.New(rand.NewPCG(4, 2)), 100)
	plain := report.Build(phased("w", rec))
	rec.LateDropped(100)
	in := phased("w", rec)
	in.Workers[0].Leased, in.Budget.Issued = 200, 200
	r := report.Build(in)
	if r.Streams.FirstEvent.P50 != plain.Streams.FirstEvent.Max || r.Streams.Stream.P50 != plain.Streams.Stream.Max {
		t.Errorf("with half of the requests dropped: %+v, without: %+v", r.Streams, plain.Streams)
	}
	if r.Streams.FirstEventService != plain.Streams.FirstEventService || r.Streams.EventGap != plain.Streams.EventGap {
		t.Errorf("what counts from sending changed: %+v, want %+v", r.Streams, plain.Streams)
	}
	for text, want := range map[string]string{"first_event:p(60)<1ms": threshold.Failed, "first_event:p(60)<1h": threshold.Undecided, "first_event_service:p(60)<1h": threshold.Passed} {
		parsed, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		section := report.Section{Asked: 200, Length: time.Second, Workers: []*record.Snapshot{in.Workers[0].Total}}
		if got := section.Judge(parsed); got.Result != want {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
}

// TestStreamsInJSON asserts the names of the members.
func TestStreamsInJSON(t *testing.T) {
	data, err := json.Marshal(report.Build(phased("w", answers(rand.New(rand.NewPCG(9, 9)), 100))))
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		Streams map[string]any `json:"streams"`
		Goodput map[string]any `json:"goodput"`
	}
	var doc struct {
		part
		Steps []part `json:"steps"`
	}
	if err := json.Unmarshal(data, &doc); err != nil || len(doc.Steps) != 2 {
		t.Fatalf("%v: %s", err, data)
	}
	for i, p := range append(doc.Steps, doc.part) {
		for _, name := range []string{"answers", "events", "events_per_s", "first_event_ns", "first_event_service_ns", "event_gap_ns", "stream_ns", "events_per_answer"} {
			if p.Streams[name] == nil {
				t.Errorf("%d: streams has no %s", i, name)
			}
		}
		tokens, _ := p.Streams["tokens"].(map[string]any)
		for _, name := range []string{"in", "out", "out_per_s", "usages", "per_token_ns"} {
			if tokens[name] == nil {
				t.Errorf("%d: tokens has no %s", i, name)
			}
		}
		for _, name := range []string{"judged", "good", "per_s", "share"} {
			if p.Goodput[name] == nil {
				t.Errorf("%d: goodput has no %s", i, name)
			}
		}
	}
}

// streamedSeconds returns a run of ten seconds with 20 answers each. In second 6 the first event is late, in second 7 a gap is long,
// and in second 8 half of the answers miss their goals.
func streamedSeconds() report.Input {
	total, series := record.NewSnapshot("w", "1"), &record.Series{}
	for second := range int64(10) {
		rec := record.NewRecorder()
		for i := range int64(20) {
			first, gap := int64(50_000_000), int64(20_000_000)
			if second == 6 {
				first = 400_000_000
			}
			if second == 7 {
				gap = 300_000_000
			}
			rec.Sent()
			rec.Gap(0, gap)
			rec.Done(record.Finished{Sent: 1_000, Done: first + gap, Judged: true, Good: second != 8 || i < 10,
				Stream: &record.Stream{First: first, Last: first + gap, Events: 2, TokensOut: 2, PerToken: gap}})
		}
		in := record.NewSnapshot("w", "1")
		in.Record(rec)
		total.Record(rec)
		series.Add(second*1_000_000+500_000, in)
	}
	total.Final = true
	return report.Input{
		Run: "x", StartedAt: time.Unix(1_790_000_000, 0), Duration: 10 * time.Second, Budget: report.Budget{Issued: 200},
		Workers: []report.WorkerInput{{ID: "w", Incarnation: "1", State: "left", Gone: true, Leased: 200, Total: total, Series: series.Points()}},
		AskedBy: func(from, to int64) int64 { return (to - from) / 50_000 },
	}
}

// TestWindowsOfStreams asserts that each window of a run is judged by its own answers in pieces and goals, also after a warm-up, and
// that such windows stop a run.
func TestWindowsOfStreams(t *testing.T) {
	const passed, failed, undecided = threshold.Passed, threshold.Failed, threshold.Undecided
	for _, c := range []struct {
		text          string
		result, after string // after a warm-up of nine seconds
	}{
		{"first_event:p(95)<100ms over 1s", failed, passed},
		{"first_event:p(80)<100ms over 10s", passed, undecided},
		{"first_event:p(50)<100ms over 3s", passed, undecided},
		{"ttft:p(95)<450ms over 1s", passed, passed},
		{"first_event_service:max<100ms over 1s", failed, passed},
		{"event_gap:p(95)<25ms over 1s", failed, passed},
		{"event_gap:p(50)<25ms over 2s", passed, undecided},
		{"stream:p(95)<100ms over 1s", failed, passed},
		{"per_token:avg<30ms over 1s", failed, passed},
		{"events:rate>39/s over 1s", passed, passed},
		{"events:rate>41/s over 1s", failed, failed},
		{"goodput:rate>=95% over 1s", failed, passed},
		{"goodput:rate>=75% over 2s", passed, undecided},
		{"goodput:count>=20", passed, passed},
		{"first_event:p(95)<100ms", failed, passed},
		{"event_gap:max<100ms", failed, passed},
		{"goodput:rate==1", failed, passed},
	} {
		parsed, err := threshold.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		in := streamedSeconds()
		in.Thresholds = []threshold.Threshold{parsed}
		if got := report.Build(in).Thresholds[0]; got.Result != c.result {
			t.Errorf("%s: %s (%s), want %s", c.text, got.Result, got.Text, c.result)
		}
		if in.Warmup = 9 * time.Second; report.Build(in).Thresholds[0].Result != c.after {
			t.Errorf("%s after a warm-up: %+v, want %s", c.text, report.Build(in).Thresholds[0], c.after)
		}
	}
	in := streamedSeconds()
	for text, end := range map[string]int64{
		"first_event:p(95)<100ms over 1s abort after 1": 7, "itl:p(95)<25ms over 1s abort after 1": 8, "goodput:rate>=95% over 1s abort after 1": 9,
		"stream:p(99)<100ms over 1s abort after 2": 8, "event_gap:max<20ms over 1s abort after 11": 99,
	} {
		parsed, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for second := int64(1); second <= 10; second++ {
			stretch := threshold.Stretch{End: second, Width: 1, Points: in.Workers[0].Series, Asked: in.AskedBy}
			if aborts := parsed.Aborts(stretch); aborts != (second == end) {
				t.Errorf("%s at second %d: %v", text, second, aborts)
			}
		}
	}
}
