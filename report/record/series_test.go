package record_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// totals adds up a series.
func totals(all []record.Point) (sent, ended, latencies int64) {
	for _, p := range all {
		sent += p.Sent
		ended += p.Completed + p.Failed
		latencies += p.Latency.Count()
	}
	return sent, ended, latencies
}

func TestSeriesWidths(t *testing.T) {
	var s record.Series
	const second = 1_000_000
	for _, step := range []struct {
		atUS   int64
		index  int64
		width  int64
		points int
	}{
		{-5 * second, 0, 1, 1},
		{0, 0, 1, 1},
		{999_999, 0, 1, 1},
		{second, 1, 1, 2},
		{1_023 * second, 1_023, 1, 3},
		{1_024 * second, 512, 2, 3},      // doubled: {0,1}, {1023}, {1024}
		{4_096 * second, 512, 8, 3},      // {0…}, {1023 → 127, 1024 → 128} …
		{3 * second, 512, 8, 3},          // late, into the newest
		{math.MaxInt64, 536, 1 << 34, 2}, // no time is too far
	} {
		s.Add(step.atUS, reporttest.Interval(10, 5_000_000))
		all := s.Points()
		found := slices.ContainsFunc(all, func(p record.Point) bool { return p.Index == step.index })
		if s.Width() != step.width || !found {
			t.Errorf("at %d: width %d, indexes %v; want width %d with index %d",
				step.atUS, s.Width(), indexes(all), step.width, step.index)
		}
	}
	if sent, ended, latencies := totals(s.Points()); sent != 90 || ended != 90 || latencies != 90 {
		t.Errorf("sent %d, ended %d, latencies %d; want 90 each", sent, ended, latencies)
	}
}

func indexes(all []record.Point) []int64 {
	var out []int64
	for _, p := range all {
		out = append(out, p.Index)
	}
	return out
}

func TestSeriesIgnoresEmptyIntervals(t *testing.T) {
	var s record.Series
	s.Add(1e12, record.NewSnapshot("w", "i"))
	if s.Width() != 1 || len(s.Points()) != 0 {
		t.Errorf("an idle worker has width %d and %d points", s.Width(), len(s.Points()))
	}
}

// A store that adds each closed point once, and keeps the open ones, has the same series, even if it forgets the last
// update, and while widths double.
func TestSeriesSince(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(6, seed))
		var s record.Series
		type store struct {
			pages  map[string][]byte
			open   []record.Point
			second int64
		}
		at := store{pages: map[string][]byte{}}
		var older store
		for second := range int64(3_000) {
			if rng.IntN(50) > 0 {
				s.Add(second*1e6+500_000, reporttest.Interval(1+rng.Int64N(3), 1+rng.Int64N(1e9)))
			}
			switch rng.IntN(9) {
			case 0: // nothing is published
			case 1:
				older = store{maps.Clone(at.pages), slices.Clone(at.open), at.second}
			case 2:
				if older.pages != nil && older.second > at.second-400 {
					at = store{maps.Clone(older.pages), slices.Clone(older.open), older.second}
				}
			default:
				whole, open, next := s.Since(at.second)
				if len(open) > 2 {
					t.Fatalf("%d points are open", len(open))
				}
				for _, p := range whole {
					addTo(at.pages, p)
				}
				at.open, at.second = open, next
			}
		}
		whole, open, _ := s.Since(at.second)
		for _, p := range whole {
			addTo(at.pages, p)
		}
		var c record.Columns
		for name, page := range at.pages {
			if err := c.Read(name, page); err != nil {
				t.Fatal(err)
			}
		}
		got, want := record.MergeSeries(c.Points(), open), s.Points()
		if len(got) != len(want) || len(got) > record.MaxPoints {
			t.Fatalf("seed %d: %d points stored, the series has %d", seed, len(got), len(want))
		}
		for i := range got {
			equalPoints(t, got[i], want[i])
		}
	}
}

// addTo adds a point to pages as lua/snapshot.lua does.
func addTo(pages map[string][]byte, p record.Point) {
	for _, add := range p.Increments() {
		page := pages[add.Page]
		for i := 0; i < len(add.Add); i += record.EntryBytes {
			at := int(add.Add[i]) * record.CounterBytes
			page = append(page, make([]byte, max(0, at+record.CounterBytes-len(page)))...)
			var carry int
			for j := range record.CounterBytes {
				carry += int(page[at+j]) + int(add.Add[i+1+j])
				page[at+j], carry = byte(carry), carry>>8
			}
		}
		pages[add.Page] = page
	}
}

// Every bucket has its page and counter, and survives a round trip.
func TestBucketsOfPages(t *testing.T) {
	for _, digits := range []int{record.SeriesDigits, record.FullDigits} {
		h := record.Histogram{Digits: digits}
		last := int64(-1)
		for i := 0; h.Value(i) <= record.HighestNS; i++ {
			v := h.Value(i)
			if v <= last || h.Index(v) != i {
				t.Fatalf("bucket %d begins at %d, after %d, and that is in bucket %d", i, v, last, h.Index(v))
			}
			last = v
			if digits == record.SeriesDigits && i >= record.Buckets {
				t.Fatalf("there is a bucket %d", i)
			}
		}
	}
}

func FuzzColumns(f *testing.F) {
	f.Add(":1:0", []byte{1, 0, 0, 0, 0})
	f.Add(":2:1023:12", make([]byte, 640))
	f.Add(":1:7:32", []byte{255, 255, 255, 255, 255, 1, 0, 0, 0, 0})
	f.Add(":1:7:e:time+out", []byte{7, 0, 0, 0, 0})
	f.Add(":1:7:s", []byte{7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})
	f.Add(":1:7:g:3", []byte{7, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, name string, page []byte) {
		var c record.Columns
		if c.Read(name, page) != nil {
			return
		}
		p := c.Points()
		if len(p) != 1 || p[0].Index < 0 || p[0].Index >= record.MaxPoints || p[0].Width < 1 || p[0].Latency.Count() < 0 || p[0].Failed < 0 {
			t.Fatalf("%q: %+v", name, p)
		}
		pages := map[string][]byte{}
		addTo(pages, p[0])
		var again record.Columns
		for name, page := range pages {
			if err := again.Read(name, page); err != nil {
				t.Fatal(err)
			}
		}
		equalPoints(t, again.Points()[0], p[0])
	})
}

func equalPoints(t *testing.T, a, b record.Point) {
	t.Helper()
	if a.Index != b.Index || a.Width != b.Width || a.Sent != b.Sent || a.Completed != b.Completed || a.Failed != b.Failed {
		t.Fatalf("point %+v, want %+v", a, b)
	}
	if !maps.Equal(maps.Collect(a.Latency.Buckets()), maps.Collect(b.Latency.Buckets())) {
		t.Fatalf("point %d: other buckets", a.Index)
	}
}

// Merging the series of workers equals the series of one worker that saw everything.
func TestMergeSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var one record.Series
	workers := make([]record.Series, 5)
	for second := range int64(3_000) {
		for i := range workers {
			if second > int64(i+1)*500 { // they leave at different times, so widths differ
				continue
			}
			in := reporttest.Interval(1, 1+rng.Int64N(1e10))
			workers[i].Add(second*1e6, in)
			one.Add(second*1e6, in)
		}
	}
	var all [][]record.Point
	for i := range workers {
		all = append(all, workers[i].Points())
	}
	merged := record.MergeSeries(all...)
	want := one.Points()
	if len(merged) != len(want) {
		t.Fatalf("%d points, want %d", len(merged), len(want))
	}
	for i := range want {
		equalPoints(t, merged[i], want[i])
	}
	if len(record.MergeSeries()) != 0 || len(record.MergeSeries(nil, nil)) != 0 {
		t.Error("merging nothing gives points")
	}
}

func TestPointRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"4,a,b", "version 4 is newer"},
		{"", "field 1"},
		{"1", "1 fields"},
		{"0,1,0,0,0,0,", "no valid version"},
		{"1,1,0,0,0,0", "6 fields"},
		{"1,3,0,0,0,0,", "width 3"},
		{"1,0,0,0,0,0,", "width 0"},
		{"1,2199023255552,0,0,0,0,", "width"},
		{"1,1,1024,0,0,0,", "index 1024"},
		{"1,1,-1,0,0,0,", "out of range"},
		{"1,1,0,9007199254740993,0,0,", "out of range"},
		{"1,1,0,99999999999999999999,0,0,", "field 4"},
		{"2,1,0,0,0,0,", "7 fields"},
		{"2,1,0,2,0,2,timeout=1;status=2,", "\"2\" errors of class \"status\", of 2 that failed"},
		{"2,1,0,2,0,2,status=1;status=1,", "error class \"status\""},
		{"2,1,0,2,0,2,status=0,", "\"0\" errors"},
		{"2,1,0,2,0,2,status=-1,", "\"-1\" errors"},
		{"2,1,0,2,0,2,status,", "\"\" errors"},
		{"2,1,0,2,0,2,%zz=1,", "error class"},
		{"2,1,0,2,0,2," + strings.Repeat("x", record.MaxClassBytes+1) + "=1,", "error class"},
		{"2,1,0,99,0,99," + strings.Repeat(";", record.MaxClasses+1) + ",", "66 error classes"},
		{"1,1,0,0,0,0," + foreign(record.LowestNS, record.HighestNS, record.FullDigits), "layout"},
	} {
		p := record.Point{Index: 77}
		err := p.UnmarshalText([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
		if p.Index != 77 {
			t.Errorf("%q: changed at an error", c.text)
		}
	}
}

func FuzzPointUnmarshal(f *testing.F) {
	var s record.Series
	s.Add(0, reporttest.Interval(5, 3_000_000))
	s.Add(2_000e6, reporttest.Interval(5, 7_000_000))
	for _, p := range s.Points() {
		text, err := p.MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)-9])
	}
	f.Add([]byte("1,1,0,0,0,0,"))
	f.Add([]byte("1,1,0,9,4,5,"))
	f.Add([]byte("2,1,0,9,4,5,status=2;a%3Bb=1;=1,"))
	f.Add([]byte("3,1,0,0,0,0,,"))
	f.Add([]byte("1,1,0,0,0,0," + foreign(1, math.MaxInt64, 5)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p record.Point
		if p.UnmarshalText(text) != nil {
			return
		}
		again, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back record.Point
		if err := back.UnmarshalText(again); err != nil {
			t.Fatalf("what was accepted is refused once written again: %v", err)
		}
		if back.Index != p.Index || back.Width != p.Width || back.Latency.Count() != p.Latency.Count() || !maps.Equal(back.Errors, p.Errors) {
			t.Fatalf("changed by a round trip: %+v, then %+v", p, back)
		}
		report.Build(report.Input{Workers: []report.WorkerInput{{Series: record.MergeSeries([]record.Point{p}, []record.Point{back})}}})
	})
}

// TestWidthAt: WidthAt agrees with a series.
func TestWidthAt(t *testing.T) {
	part := record.NewSnapshot("w", "a")
	part.Counts.Sent = 1
	var s record.Series
	for _, second := range []int64{0, 1, 1022, 1023, 1024, 2047, 2048, 100_000, 1 << 30} {
		s.Add(second*1_000_000, part)
		if got := record.WidthAt(second); got != s.Width() {
			t.Errorf("at %d s %d, want %d", second, got, s.Width())
		}
	}
}
