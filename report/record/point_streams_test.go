package record_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report/record"
)

// streamedSeconds returns the points of a worker with answers in pieces in this many seconds. In some only gaps occur, and in some
// nothing.
func streamedSeconds(rng *rand.Rand, seconds int64) *record.Series {
	var s record.Series
	for at := range seconds {
		in := record.NewSnapshot("w", "1")
		switch rng.IntN(4) {
		case 0:
		case 1:
			rec := record.NewRecorder()
			rec.Gap(0, rng.Int64N(40*ms))
			in.Record(rec)
		default:
			in.Record(streamed(rng, 1+rng.IntN(20)))
		}
		s.Add(at*1_000_000+500_000, in)
	}
	return &s
}

// equalStreamed compares all of two series.
func equalStreamed(t *testing.T, what string, a, b []record.Point) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%s: %d points, want %d", what, len(a), len(b))
	}
	for i := range b {
		equalPoints(t, a[i], b[i])
		if a[i].Judged != b[i].Judged || a[i].Good != b[i].Good || (a[i].Streams == nil) != (b[i].Streams == nil) {
			t.Fatalf("%s: point %d: %+v, want %+v", what, b[i].Index, a[i], b[i])
		}
		equalStreams(t, what, a[i].Streamed(), b[i].Streamed())
	}
}

// TestStreamsOverTime asserts that points with answers in pieces survive their text and the pages of a merged series, that wider
// points hold the sums, and that two workers have what one worker has.
func TestStreamsOverTime(t *testing.T) {
	for _, seconds := range []int64{5, 40, 1500} {
		rng := rand.New(rand.NewPCG(uint64(seconds), 41))
		one, other := streamedSeconds(rng, seconds).Points(), streamedSeconds(rng, seconds).Points()
		pages := map[string][]byte{}
		var read []record.Point
		for _, p := range append(one, other...) {
			addTo(pages, p)
			text, err := p.MarshalText()
			if err != nil || bytes.ContainsAny(text, " \n") {
				t.Fatalf("%s: %v", text, err)
			}
			var again record.Point
			if err := again.UnmarshalText(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			read = append(read, again)
		}
		var columns record.Columns
		for name, page := range pages {
			if err := columns.Read(name, page); err != nil {
				t.Fatal(err)
			}
		}
		want := record.MergeSeries(one, other)
		equalStreamed(t, "texts", record.MergeSeries(read), want)
		equalStreamed(t, "pages", record.MergeSeries(columns.Points()), want)
		names := map[string]bool{}
		for _, name := range record.Pages(0, seconds, want[0].Width, "latency", "first_event", "first_event_service", "event_gap", "stream", "per_token", "goodput") {
			names[name] = true
		}
		for name := range pages {
			if !names[name] && !strings.Contains(name, ":e:") {
				t.Errorf("Pages leaves out %s", name)
			}
		}
	}
}

// TestStreamsOfWiderPoints asserts that a series whose points were joined has the sums of its seconds.
func TestStreamsOfWiderPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 41))
	var series record.Series
	sum := record.NewSnapshot("w", "1")
	for second := range int64(2100) {
		in := record.NewSnapshot("w", "1")
		in.Record(streamed(rng, 3))
		series.Add(second*1_000_000+500_000, in)
		sum.Merge(in)
	}
	total := record.NewPoint(0, 1)
	points := series.Points()
	for i := range points {
		total.Add(&points[i])
	}
	got := total.Streamed()
	if series.Width() != 4 || total.Judged != sum.Counts.Judged || total.Good != sum.Counts.Good || got.Answers != sum.Streams.Answers || got.Events != sum.Streams.Events ||
		got.TokensIn != sum.Streams.TokensIn || got.TokensOut != sum.Streams.TokensOut || got.Usages != sum.Streams.Usages {
		t.Errorf("width %d: %+v, want %+v %+v", series.Width(), got, sum.Streams, sum.Counts)
	}
	if got.Gap.Count() != sum.Streams.Gap.Count() || got.FirstEvent.Count() != sum.Streams.FirstEvent.Count() || got.PerToken.Count() != sum.Streams.PerToken.Count() {
		t.Errorf("%d gaps, want %d", got.Gap.Count(), sum.Streams.Gap.Count())
	}
}

// TestPointsWithoutStreamsAreAsBefore asserts that a point of a run without answers in pieces and goals has the text and the pages
// that programs knew before.
func TestPointsWithoutStreamsAreAsBefore(t *testing.T) {
	p := record.NewPoint(7, 2)
	p.Sent, p.Completed = 3, 2
	p.Latency.Record(5 * ms)
	text, err := p.MarshalText()
	if err != nil || !strings.HasPrefix(string(text), "2,2,7,3,2,0,,") {
		t.Errorf("%s: %v", text, err)
	}
	if all := p.Increments(); len(all) != 2 || all[0].Page != ":2:7" {
		t.Errorf("%+v", all)
	}
	p.Judged, p.Good = 2, 1
	text, err = p.MarshalText()
	var again record.Point
	if err != nil || again.UnmarshalText(text) != nil || again.Streams != nil || again.Judged != 2 || again.Good != 1 {
		t.Errorf("%s: %v, %+v", text, err, again)
	}
}

// TestPointRefusesStreams asserts that damaged answers in pieces are refused, and that the point stays as it was.
func TestPointRefusesStreams(t *testing.T) {
	for text, want := range map[string]string{
		"3,1,0,0,0,0,":                                     "7 fields",
		"3,1,0,0,0,0,,,":                                   "0 fields of streams",
		"3,1,0,0,0,0,,0;0;0;0;0;0;0;;;;;;,":                "",
		"3,1,0,0,0,0,,0;0;0;0;0;0;0;;;;;;;,":               "13 fields of streams",
		"3,1,0,0,0,0,,0;0;0;0;0;0;0;;;;;;x,":               "12 fields of streams",
		"3,1,0,0,0,0,,a;0;0;0;0;0;0;;;;;;,":                "field 1 of streams",
		"3,1,0,0,0,0,,1;2;0;0;0;0;0;;;;;;,":                "2 of 1 answers",
		"3,1,0,0,0,0,,0;0;-1;0;0;0;0;;;;;;,":               "out of range",
		"3,1,0,0,0,0,,0;0;9007199254740993;0;0;0;0;;;;;;,": "out of range",
		"3,1,0,0,0,0,,0;0;1;1;0;0;0;!;;;;;,":               "histogram",
	} {
		p := record.Point{Index: 77}
		err := p.UnmarshalText([]byte(text))
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%q: %v, want %q", text, err, want)
		case want != "" && p.Index != 77:
			t.Errorf("%q: changed at an error: %v", text, err)
		case want != "" && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{":1:0:s", ":1:0:g:x", ":1:0:g", ":1:0:z:1", ":1:0:f:34", ":1:0:g:-1"} {
		var c record.Columns
		if err := c.Read(name, bytes.Repeat([]byte{1}, 8*record.CounterBytes)); err == nil {
			t.Errorf("page %q was read", name)
		}
	}
}
