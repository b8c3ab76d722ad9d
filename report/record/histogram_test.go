package record_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/reporttest"
)

// equal fails the test unless a and b hold the same counts in the same buckets, and agree on every quantile.
func equal(t *testing.T, what string, a, b *record.Histogram) {
	t.Helper()
	type bucket struct{ value, count int64 }
	var x, y []bucket
	for value, count := range a.Buckets() {
		x = append(x, bucket{value, count})
	}
	for value, count := range b.Buckets() {
		y = append(y, bucket{value, count})
	}
	if len(x) != len(y) || a.Count() != b.Count() {
		t.Fatalf("%s: %d values in %d buckets, want %d in %d", what, a.Count(), len(x), b.Count(), len(y))
	}
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("%s: bucket %d is %v, want %v", what, i, x[i], y[i])
		}
	}
	for i := range 1_001 {
		q := float64(i) / 1_000
		if a.Quantile(q) != b.Quantile(q) {
			t.Fatalf("%s: quantile %v is %d, want %d", what, q, a.Quantile(q), b.Quantile(q))
		}
	}
}

func TestHistogramRange(t *testing.T) {
	for _, step := range []struct {
		ns       int64
		recorded bool
		low      int64 // of Min
	}{
		{-5, true, 0},
		{0, true, 0},
		{1_000, true, 512},
		{record.HighestNS, true, 3_598_000_000_000},
		{record.HighestNS + 1, false, 0},
		{math.MaxInt64, false, 0},
	} {
		h := record.NewHistogram()
		if got := h.Record(step.ns); got != step.recorded {
			t.Errorf("Record(%d) = %t, want %t", step.ns, got, step.recorded)
		}
		if got := h.Count() == 1; got != step.recorded {
			t.Errorf("Record(%d) left %d values", step.ns, h.Count())
		}
		if h.Min() < step.low || h.Min() > max(step.ns, 0) {
			t.Errorf("Record(%d): min %d", step.ns, h.Min())
		}
	}
}

func TestHistogramPrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, ns := range reporttest.Durations(rng, 10_000) {
		h := record.NewHistogram()
		if !h.Record(ns) || ns < 1_000_000 {
			continue // below 1 ms the unit of 512 ns is coarser than 3 digits
		}
		if off := math.Abs(float64(h.Max()-ns)) / float64(ns); off > 0.001 {
			t.Errorf("%d ns is reported as %d: off by %.4f", ns, h.Max(), off)
		}
	}
}

// The buckets of a series are unions of the full ones, so a snapshot loses nothing that the series would have kept.
func TestSeriesLayoutNests(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	full, direct := record.NewHistogram(), &record.Histogram{Digits: record.SeriesDigits}
	for _, ns := range reporttest.Durations(rng, 50_000) {
		full.Record(ns)
		direct.Record(ns)
	}
	viaFull := &record.Histogram{Digits: record.SeriesDigits}
	viaFull.Merge(full)
	equal(t, "series layout", viaFull, direct)
}

func TestDistributionIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 1_000 {
		h := record.NewHistogram()
		for _, ns := range reporttest.Durations(rng, 1+n%50) {
			h.Record(ns)
		}
		d := h.Distribution(rng.Float64())
		chain := []int64{d.Min, d.P50, d.P90, d.P95, d.P99, d.P999, d.P9999, d.Max}
		for i := range chain[1:] {
			if chain[i] > chain[i+1] {
				t.Fatalf("not monotone: %+v", d)
			}
		}
		if d.Mean < d.Min || d.Mean > d.Max {
			t.Fatalf("mean outside min…max: %+v", d)
		}
	}
	if d := record.NewHistogram().Distribution(1); d != (record.Distribution{}) {
		t.Errorf("empty histogram: %+v, want zeros", d)
	}
}

// TestDistributionOfWhatIsKept: quantiles are those of all values, even if the largest are missing.
func TestDistributionOfWhatIsKept(t *testing.T) {
	all, some := record.NewHistogram(), record.NewHistogram()
	for n := int64(1); n <= 10_000; n++ {
		all.Record(n * 1_000)
		if n <= 9_064 {
			some.Record(n * 1_000)
		}
	}
	want, got := all.Distribution(1), some.Distribution(0.9064)
	if got.Min != want.Min || got.P50 != want.P50 || got.P90 != want.P90 {
		t.Errorf("%+v, want %+v up to p90", got, want)
	}
	if most := some.Max(); got.P95 != most || got.P99 != most || got.P9999 != most || got.Max != most {
		t.Errorf("%+v, want %d from p95 on", got, most)
	}
	if d := some.Distribution(0); d.P50 != some.Max() {
		t.Errorf("all were dropped, but these: p50 %d", d.P50)
	}
}

func TestHistogramText(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	h := record.NewHistogram()
	for _, ns := range reporttest.Durations(rng, 50_000) {
		h.Record(ns)
	}
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back record.Histogram
	if err := back.UnmarshalText(text); err != nil {
		t.Fatal(err)
	}
	equal(t, "decoded", &back, h)
	if text, err := record.NewHistogram().MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("empty histogram encodes as %q, %v", text, err)
	}
	if err := back.UnmarshalText(nil); err != nil || back.Count() != 0 {
		t.Errorf("empty text: %d values, %v", back.Count(), err)
	}
}

// Before compression our encoder writes the same bytes as the library.
func TestHistogramTextEqualsLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := range 400 {
		if testing.Short() && n%3 != 0 {
			continue
		}
		h := &record.Histogram{Digits: []int{record.FullDigits, record.SeriesDigits}[n%2]}
		for _, ns := range reporttest.Durations(rng, 1+n*n/10) {
			h.Record(ns)
		}
		if n%7 == 0 {
			h.Record(record.HighestNS)
			_ = h.Storage().RecordValues(1_000, record.MaxCount-h.Count()) // the longest number
		}
		ours, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := h.Storage().EncodeV2()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := inflated(t, ours), inflated(t, theirs); !bytes.Equal(a, b) {
			t.Fatalf("%d values: %d bytes %x, the library writes %d bytes %x", h.Count(), len(a), a, len(b), b)
		}
	}
}

// inflated returns the data in an encoded histogram, whose checksum must be right.
func inflated(t *testing.T, text []byte) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if cookie, n := binary.BigEndian.Uint32(raw), binary.BigEndian.Uint32(raw[4:]); cookie != 0x1c849314 || int(n) != len(raw)-8 {
		t.Fatalf("cookie %x, %d bytes of %d", cookie, n, len(raw)-8)
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// A worker encodes about ten histograms a second. Their garbage decides how often it collects.
func TestHistogramTextIsLean(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	h := record.NewHistogram()
	for range 20_000 {
		h.Record(int64(50e3 * math.Exp(rng.NormFloat64())))
	}
	const times = 100
	bytes := reporttest.Allocated(func() {
		for range times {
			if _, err := h.MarshalText(); err != nil {
				t.Fatal(err)
			}
		}
	})
	// 6 kB, and the compressor's buffers, about 300 kB, if the collector or the race detector took them. Without the
	// shared buffers it would be 800 kB.
	if bytes > times*200<<10 {
		t.Errorf("%d kB each", bytes>>10/times)
	}
}

// foreign encodes one value in a layout that may not be ours.
func foreign(lowest, highest int64, digits int) string {
	h := hdrhistogram.NewPacked(lowest, highest, digits)
	_ = h.RecordValue(lowest)
	text, _ := h.EncodeV2()
	return string(text)
}

// forged encodes a header with our layout and the payload given.
func forged(payload []byte, declared int32, ratio float64) string {
	var raw bytes.Buffer
	for _, v := range []any{
		hdrhistogram.V2EncodingCookieBase | 0x10, declared, int32(0), int32(record.FullDigits),
		int64(record.LowestNS), int64(record.HighestNS), ratio, payload,
	} {
		_ = binary.Write(&raw, binary.BigEndian, v)
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(raw.Bytes())
	_ = z.Close()
	var out bytes.Buffer
	_ = binary.Write(&out, binary.BigEndian, hdrhistogram.V2CompressedEncodingCookieBase|0x10)
	_ = binary.Write(&out, binary.BigEndian, int32(packed.Len()))
	out.Write(packed.Bytes())
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// hostile are texts that must be refused, by what is wrong with them.
func hostile() map[string]string {
	bomb := make([]byte, 8<<20)
	return map[string]string{
		"not base64":         "!!!!",
		"too short":          "AAAA",
		"no zlib":            base64.StdEncoding.EncodeToString(make([]byte, 100)),
		"gigabytes":          foreign(1, math.MaxInt64, 5),
		"other digits":       foreign(record.LowestNS, record.HighestNS, 4),
		"other lowest":       foreign(1, record.HighestNS, record.FullDigits),
		"other highest":      foreign(record.LowestNS, 2*record.HighestNS, record.FullDigits),
		"scaled":             forged([]byte{2}, 1, 2),
		"not a number":       forged([]byte{2}, 1, math.NaN()),
		"compressed bomb":    forged(bomb, int32(len(bomb)), 1),
		"undeclared bomb":    forged(bomb, 1, 1),
		"negative length":    forged([]byte{2}, -1, 1),
		"run of zeros":       forged([]byte{0xff, 0xff, 0xff, 0x7f}, 4, 1),
		"endless zeros":      forged([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 9, 1),
		"count beyond 2^53":  forged([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 9, 1),
		"counts that add up": forged(bytes.Repeat([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f}, 9), 81, 1),
		"cut varint":         forged([]byte{0xff}, 1, 1),
		"too long":           strings.Repeat("A", record.MaxHistogramText+1),
	}
}

func TestHistogramTextHostile(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var h record.Histogram
			var err error
			bytes := reporttest.Allocated(func() { err = h.UnmarshalText([]byte(text)) })
			if err == nil {
				t.Errorf("accepted: %d values", h.Count())
			}
			if bytes > 2<<20 {
				t.Errorf("allocated %d bytes to refuse", bytes)
			}
		})
	}
	if err := new(record.Histogram).UnmarshalText([]byte(forged([]byte{2}, 1, 1))); err != nil {
		t.Errorf("the forger does not even forge a good one: %v", err)
	}
}
