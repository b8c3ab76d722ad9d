package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// stream makes an answer one in pieces, of a language model, with goals.
func (v virtual) stream(rng *rand.Rand, rec *record.Recorder, f *record.Finished) {
	if v.events == 0 {
		return
	}
	around := func(d time.Duration) int64 { return int64(float64(d) * math.Exp(v.spread*rng.NormFloat64())) }
	s := &record.Stream{First: around(v.first), Events: v.events, TokensOut: v.events}
	s.Last = s.First
	for range v.events - 1 {
		gap := around(v.gap)
		s.Last += gap
		rec.Gap(0, gap)
	}
	s.PerToken = (s.Last - s.First) / max(1, v.events-1)
	f.Done, f.Stream, f.Judged, f.Good = s.Last, s, true, s.First < int64(120*time.Millisecond)
}

// feed is a server of streams.
func feed() virtual {
	return virtual{seconds: 60, rate: 40, spread: 0.1, events: 10, first: 100 * time.Millisecond, gap: 20 * time.Millisecond}
}

// differing returns the figures whose intervals exclude 0.
func differingFigures(r Result) (all []string) {
	for _, row := range r.Rows {
		if row.Difference.Differs() {
			all = append(all, row.Name)
		}
	}
	return all
}

// TestCompareStreams asserts that servers that differ in one thing differ in the figures of that thing, with the difference that is
// known, and that equal servers do not differ.
func TestCompareStreams(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*virtual)
		differ []string           // these and no others of first_event, event_gap, per_token and goodput
		by     map[string]float64 // known differences
	}{
		{"same", func(*virtual) {}, nil, nil},
		{"first", func(v *virtual) { v.first = 150 * time.Millisecond }, []string{"first_event:avg", "first_event:p(50)", "first_event:p(90)", "first_event:p(99)", "goodput:rate"},
			map[string]float64{"first_event:avg": 0.5, "first_event:p(50)": 0.5}},
		{"gap", func(v *virtual) { v.gap = 25 * time.Millisecond }, []string{"event_gap:avg", "event_gap:p(50)", "event_gap:p(90)", "event_gap:p(99)", "per_token:avg", "per_token:p(50)", "per_token:p(90)", "per_token:p(99)"},
			map[string]float64{"event_gap:p(50)": 0.25, "event_gap:p(99)": 0.25, "per_token:avg": 0.25}},
		{"events", func(v *virtual) { v.events = 12 }, nil, map[string]float64{"events:rate": 0.2, "tokens:rate": 0.2, "stream:avg": 4. / 28}},
	} {
		rng := rand.New(rand.NewPCG(7, 41))
		other := feed()
		c.change(&other)
		r := Compare(feed().side(rng, "a", 1, 0), other.side(rng, "b", 1, 1))
		var differ []string
		for _, name := range differingFigures(r) {
			switch of, _, _ := strings.Cut(name, ":"); of {
			case "first_event", "event_gap", "per_token", "goodput":
				differ = append(differ, name)
			case "stream", "latency", "events", "tokens":
				if c.name == "same" {
					t.Errorf("the same: %s differs", name)
				}
			default:
				t.Errorf("%s: %s differs", c.name, name)
			}
		}
		if strings.Join(differ, " ") != strings.Join(c.differ, " ") {
			t.Errorf("%s: %v differ, want %v", c.name, differ, c.differ)
		}
		for name, by := range c.by {
			if got := row(t, r, name); got.Difference == nil || got.Difference.Low > by || got.Difference.High < by || math.Abs(got.Change()-by) > 0.05 {
				t.Errorf("%s: %s: %+v, want %v", c.name, name, got, by)
			}
		}
	}
}

// TestCompareSameStreamsOften asserts that of 100 comparisons of equal servers at most 10 see a difference: 5 are expected at most.
func TestCompareSameStreamsOften(t *testing.T) {
	n, wrong := 100, 0
	if testing.Short() {
		n = 20
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 42))
		v := feed()
		v.seconds, v.rate = 40, 30
		if found := differingFigures(Compare(v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1))); len(found) > 0 {
			t.Logf("seed %d: %v", seed, found)
			wrong++
		}
	}
	if wrong > max(2, n/10) {
		t.Errorf("%d of %d comparisons of equal servers see a difference", wrong, n)
	}
}

// TestStreamsWithoutIntervals asserts that a figure says why it has no interval, and which comparisons have it.
func TestStreamsWithoutIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plain := virtual{seconds: 60, rate: 40, median: 100 * time.Millisecond, spread: 0.1}.side(rng, "plain", 1, 0)
	stream, bare, old := feed().side(rng, "stream", 1, 1), feed().side(rng, "bare", 1, 1), feed().side(rng, "old", 1, 1)
	bare.Runs[0].Histograms = nil
	for i := range old.Runs[0].Histograms.Series {
		p := &old.Runs[0].Histograms.Series[i]
		p.Streams, p.Judged, p.Good = nil, 0, 0
	}
	if n := len(Compare(plain, plain).Rows); n != 8 {
		t.Errorf("%d rows without streams", n)
	}
	if n := len(Compare(stream, stream).Rows); n != len(figures()) {
		t.Errorf("%d rows with streams, want %d", n, len(figures()))
	}
	for _, c := range []struct {
		side Side
		why  map[string]string
	}{
		{plain, map[string]string{"first_event:p(50)": "no answer came in pieces", "per_token:avg": "no answer is of a language model", "goodput:rate": "no answer had goals", "events:rate": "no answer came in pieces", "latency:p(50)": ""}},
		{bare, map[string]string{"event_gap:p(50)": "JSON has no histograms", "goodput:rate": "JSON has no histograms", "events:rate": "JSON has no histograms"}},
		{old, map[string]string{"event_gap:p(50)": "the series of this older report does not have it", "goodput:rate": "the series of this older report does not have it", "events:rate": "the series of this older report does not have it", "latency:avg": ""}},
	} {
		r := Compare(c.side, stream)
		for name, why := range c.why {
			if got := row(t, r, name); why == "" && got.Why != "" || !strings.HasPrefix(got.Why, why) {
				t.Errorf("%s: %s: %q, want %q", c.side.Name, name, got.Why, why)
			}
		}
	}
}

// TestRulesOnStreams asserts that rules have the names of thresholds too, and what a rule says of runs that do not have its figure.
func TestRulesOnStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	slow := feed()
	slow.first = 150 * time.Millisecond
	differ := Compare(feed().side(rng, "a", 1, 0), slow.side(rng, "b", 1, 1))
	v := virtual{seconds: 60, rate: 40, median: 100 * time.Millisecond, spread: 0.1}
	plain := Compare(v.side(rng, "a", 1, 0), v.side(rng, "b", 1, 1))
	for _, c := range []struct {
		of     Result
		rule   string
		result string
		fails  bool
		says   string
	}{
		{differ, "first_event:p(50)>+20%", Met, true, "met, the difference is +"},
		{differ, "ttft:med>+20%", Met, true, ""},
		{differ, "ttft:p(99)>+90%", NotMet, false, ""},
		{differ, "itl:p(50)>+10%", NotMet, false, ""},
		{differ, "tpot:avg>+10%", NotMet, false, ""},
		{differ, "goodput:rate<-20%", Met, true, ""},
		{differ, "tokens:rate<-5%", NotMet, false, ""},
		{plain, "ttft:p(50)>+20%", Undecided, true, "there is no interval: no answer came in pieces"},
		{plain, "goodput:rate<-5%", Undecided, true, "there is no interval: no answer had goals"},
		{plain, "latency:p(50)>+20%", NotMet, false, ""},
	} {
		rule, err := ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := rule.Judge(c.of); got.Result != c.result || got.Fails() != c.fails || !strings.Contains(got.String(), c.says) {
			t.Errorf("%s: %s, want %s %v %q", c.rule, got, c.result, c.fails, c.says)
		}
	}
	for _, text := range []string{"first_event:p(99.9)>1%", "ttft>1%", "first-event:avg>1%", "events:count>1%", "goodput:p(50)>1%"} {
		if _, err := ParseRule(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestStreamsInAllFormats asserts that each format shows the figures and the percentiles of answers in pieces, and none of them
// where there were none.
func TestStreamsInAllFormats(t *testing.T) {
	all := comparisons()
	for name, want := range map[string]map[string]string{
		"streams": {"text": "\nfirst event          base ○", "markdown": "| event gap |", "html": `<section id="event_gap"`, "json": `"per_token_ns": {`},
		"one":     {},
	} {
		for _, format := range []string{"text", "markdown", "html", "json"} {
			text := strings.ReplaceAll(written(t, all[name], format), `\_`, "_")
			if !strings.Contains(text, want[format]) {
				t.Errorf("%s has no %q", format, want[format])
			}
			for _, figure := range []string{"first_event:p(99)", "event_gap:avg", "stream:p(50)", "per_token:p(90)", "events:rate", "tokens:rate", "goodput:rate"} {
				if strings.Contains(text, figure) != (name == "streams") {
					t.Errorf("%s of %s: %s", format, name, figure)
				}
			}
		}
	}
}

// TestStreamsOfOneSide asserts that a figure that only one side has is absent on the other, and not 0.
func TestStreamsOfOneSide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	plain := virtual{seconds: 60, rate: 40, median: 100 * time.Millisecond, spread: 0.1}.side(rng, "plain", 2, 0)
	r := Compare(plain, feed().side(rng, "stream", 2, 1))
	for _, name := range []string{"event_gap:avg", "per_token:p(50)", "events:rate", "tokens:rate", "goodput:rate"} {
		of := row(t, r, name)
		text, err := of.MarshalJSON()
		if !math.IsNaN(of.Base) || !(of.Other > 0) || of.Difference != nil || err != nil || !json.Valid(text) ||
			strings.Contains(string(text), `"base"`) || strings.Contains(string(text), `"difference"`) || !strings.Contains(string(text), `"other":`) {
			t.Errorf("%+v, %s, %v", of, text, err)
		}
	}
	for _, line := range r.rows() {
		if line.Name == "tokens:rate" && (line.Cells[0].Text != missing || line.Cells[2].Text != missing) {
			t.Errorf("%+v", line)
		}
	}
}
