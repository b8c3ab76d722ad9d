package pacer_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		in       string
		num, den int64
	}{
		{"0", 0, 1},
		{"500", 500, 1},
		{"007", 7, 1},
		{"2.5k", 2500, 1},
		{"0.1k", 100, 1},
		{"1M", 1_000_000, 1},
		{"100M", 100_000_000, 1},
		{"100000000", 100_000_000, 1},
		{"0.2", 1, 5},
		{"0.1", 1, 10},
		{".5", 1, 2},
		{"5.", 5, 1},
		{"0.000001", 1, 1_000_000},
		{"99999999.999999", 99_999_999_999_999, 1_000_000},
		{"30/1m", 1, 2},
		{"30/1d", 1, 2880},
		{"1/1d12h", 1, 129_600},
		{"500/s", 500, 1},
		{"2.5k/s", 2500, 1},
		{"30/m", 1, 2},
		{"1/h", 1, 3600},
		{"30/d", 1, 2880},
		{"1/ms", 1000, 1},
		{"0/s", 0, 1},
		{"1/3s", 1, 3},
		{"1k/1m", 50, 3},
		{"1/1m30s", 1, 90},
		{"1.5/1h30m", 1, 3600},
		{"1/1000000s", 1, 1_000_000},
		{"1/100ms", 10, 1},
		{"1/1us", 1_000_000, 1},
		{"1/1µs", 1_000_000, 1},
		{"0/1h", 0, 1},
		{"0.0000001k", 1, 10_000},
	} {
		got, err := pacer.ParseRate(c.in)
		if want := (pacer.Rate{Num: c.num, Den: c.den}); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %+v, %v; want %+v", c.in, got, err, want)
		}
	}
}

func TestParseRateRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "-1", "-0", "+1", "NaN", "nan", "Inf", "-Inf", "1e9", "1e30", "1E3", "0x10", "0b1", "1_000", "1,000", "1 000",
		" 500", "500 ", "500\n", "500\x00", "max", "unlimited", "500rps", "k", "M", "1K", "1m", "1G", "1kk", "1kM", ".", "..", "1.2.3", "1..5",
		"/", "10/", "/1m", "10/0", "10/0s", "10/-1s", "10/1", "10/x", "10/S", "10/sec", "10/ s", "10/s ", "10/ss", "10/s1", "10/d1", "10/s/s", "10/0d", "10/1.5d", "10/-1d", "10/1d1d", "10/1m/1m", "10/ 1m", "1/2/3", "10/9223372037s9223372037s", "10/NaN",
		"100000001", "100.000001M", "100000000.1", "1/1ns", "1000000000000000000000000000", strings.Repeat("9", 10_000), "0." + strings.Repeat("0", 30),
		"0.0000001", "0.1234567", "1/1000001s", "1/0.3333333s",
		"٣", "５００", "½", "１k", "500\u00a0", "∞", "\xff\xfe", "5\u200b0",
	} {
		got, err := pacer.ParseRate(in)
		if err == nil {
			t.Errorf("ParseRate(%.40q) = %+v, want an error", in, got)
			continue
		}
		if got != (pacer.Rate{}) {
			t.Errorf("ParseRate(%.40q) = %+v beside its error", in, got)
		}
		if s := err.Error(); !strings.HasPrefix(s, `rate "`) || strings.ContainsAny(s, "\n\x00") || len(s) > 300 {
			t.Errorf("ParseRate(%.40q): the message is not one short line: %q", in, s)
		}
	}
}

func TestRateString(t *testing.T) {
	for _, c := range []struct {
		rate  pacer.Rate
		want  string
		float float64
	}{
		{pacer.Rate{}, "0", 0},
		{pacer.PerSecond(0), "0", 0},
		{pacer.PerSecond(500), "500", 500},
		{pacer.PerSecond(100_000_000), "100000000", 1e8},
		{pacer.Rate{Num: 1, Den: 2}, "1/2s", 0.5},
		{pacer.Rate{Num: 99_999_999_999_999, Den: 1_000_000}, "99999999999999/1000000s", 99999999.999999},
	} {
		if got := c.rate.String(); got != c.want {
			t.Errorf("%+v: String() = %q, want %q", c.rate, got, c.want)
		}
		if got := c.rate.Float(); got != c.float {
			t.Errorf("%+v: Float() = %v, want %v", c.rate, got, c.float)
		}
	}
}

func TestRateInJSON(t *testing.T) {
	type spec struct{ QPS pacer.Rate }
	for _, c := range []struct {
		text string
		want pacer.Rate
		back string
	}{
		{`{"QPS":"2.5k"}`, pacer.PerSecond(2500), `{"QPS":"2500"}`},
		{`{"QPS":"30/1m"}`, pacer.Rate{Num: 1, Den: 2}, `{"QPS":"1/2s"}`},
	} {
		var s spec
		if err := json.Unmarshal([]byte(c.text), &s); err != nil || s.QPS != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, s.QPS, err, c.want)
		}
		if b, err := json.Marshal(s); err != nil || string(b) != c.back {
			t.Errorf("%s comes back as %s, %v; want %s", c.text, b, err, c.back)
		}
	}
	s := spec{QPS: pacer.PerSecond(7)}
	if err := json.Unmarshal([]byte(`{"QPS":"-1"}`), &s); err == nil || s.QPS != pacer.PerSecond(7) {
		t.Errorf("a bad rate: %+v, %v; want an error and the old value", s.QPS, err)
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"500", "2.5k", "1M", "0.2", "30/1m", "1/1000000s", "1/1h1m1s1ms1us1ns", "1e9", "-1", "", "max", "٣/1m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := pacer.ParseRate(s)
		if err != nil {
			if r != (pacer.Rate{}) {
				t.Fatalf("%q: %+v beside %v", s, r, err)
			}
			return
		}
		got := big.NewRat(r.Num, r.Den)
		if want := exactRate(t, s); got.Cmp(want) != 0 || got.Denom().Int64() != r.Den {
			t.Fatalf("%q is %v, got %+v", s, want, r)
		}
		if r.Num < 0 || r.Den > 1_000_000 || got.Cmp(big.NewRat(100_000_000, 1)) > 0 {
			t.Fatalf("%q: %+v is out of range", s, r)
		}
		if back, err := pacer.ParseRate(r.String()); err != nil || back != r {
			t.Fatalf("%q: %+v reads back from %q as %+v, %v", s, r, r.String(), back, err)
		}
	})
}

// exactRate reads a rate that ParseRate accepted, in another way.
func exactRate(t *testing.T, s string) *big.Rat {
	t.Helper()
	count, per, counted := strings.Cut(s, "/")
	scale := int64(1)
	if c, ok := strings.CutSuffix(count, "k"); ok {
		count, scale = c, 1_000
	} else if c, ok := strings.CutSuffix(count, "M"); ok {
		count, scale = c, 1_000_000
	}
	r, ok := new(big.Rat).SetString(count)
	if !ok {
		t.Fatalf("%q was taken for a rate", s)
	}
	r.Mul(r, big.NewRat(scale, 1))
	if !counted {
		return r
	}
	d, err := pacer.ParseDuration(per)
	if err != nil {
		t.Fatalf("%q was taken for a rate: %v", s, err)
	}
	return r.Mul(r, big.NewRat(int64(time.Second), int64(d)))
}

// TestRateText: the text contains the unit once.
func TestRateText(t *testing.T) {
	for want, rate := range map[string]pacer.Rate{"600 per second": pacer.PerSecond(600), "1/2s": {Num: 1, Den: 2}, "108.9 per second": {Num: 1089, Den: 10},
		"518.748 per second": {Num: 129687, Den: 250}, "7/3s": {Num: 7, Den: 3}, "1.005 per second": {Num: 201, Den: 200}, "20001/2000s": {Num: 20001, Den: 2000}} {
		if got := rate.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
