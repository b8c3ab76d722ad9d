package pacer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func TestSpike(t *testing.T) {
	for _, c := range []struct {
		in, want string
		requests int64 // in one period
	}{
		{"base=100,peak=1k,every=5m,for=30s", "100→100 in 4m30s, 1000→1000 in 30s", 27_000 + 30_000},
		{"base=100,peak=1k,every=5m,for=30s,ramp=5s", "100→100 in 4m20s, 100→1000 in 5s, 1000→1000 in 30s, 1000→100 in 5s", 26_000 + 5500 + 30_000},
		{"peak=1M,base=0,for=1ms,every=1s", "0→0 in 999ms, 1000000→1000000 in 1ms", 1000},
		{"base=1/3s,peak=0.5,every=1d,for=1d,ramp=1ms", "", 0},
		{"base=0,peak=1,every=3ms,for=1ms", "0→0 in 2ms, 1→1 in 1ms", 1},
		{"base=1/3s,peak=1/2s,every=1h,for=12m,ramp=6m", "1/3s→1/3s in 36m0s, 1/3s→1/2s in 6m0s, 1/2s→1/2s in 12m0s, 1/2s→1/3s in 6m0s", 720 + 150 + 360 + 150},
	} {
		p, err := pacer.ParseProfile("spike:" + c.in)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: no error", c.in)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		checkPieces(t, p)
		var got []string
		for _, s := range p.Segments {
			got = append(got, fmt.Sprintf("%v→%v in %v", s.From, s.To, s.Length))
		}
		period := pacer.Profile{Segments: p.Segments}
		if s := strings.Join(got, ", "); s != c.want || !p.Loop {
			t.Errorf("%s: %s, want %s", c.in, s, c.want)
		}
		if n := count(period); n != c.requests {
			t.Errorf("%s: %d requests in a period, want %d", c.in, n, c.requests)
		}
	}
}

func TestSpikeRefuses(t *testing.T) {
	for in, reason := range map[string]string{
		"base=1,peak=1,every=1m,for=1s":                      "peak 1 is not above the base 1",
		"base=2,peak=1,every=1m,for=1s":                      "make it larger",
		"base=1,peak=2,every=1m,for=1m":                      "do not fit into every=1m0s; leave at least 1ms",
		"base=1,peak=2,every=1m,for=40s,ramp=10s":            "two ramps of 10s do not fit",
		"base=1,peak=2,every=2s,for=1s,ramp=499500001ns":     "do not fit",
		"base=1,peak=2,every=1m,for=1s,ramp=2562047h":        "do not fit",
		"base=1,peak=2,every=1m,for=2562047h,ramp=2562047h":  "do not fit",
		"base=1,peak=2,every=1m,for=1s,ramp=0s":              "ramp=0s: give a duration of at least 1ms",
		"base=1,peak=2,every=1m":                             "for=DURATION is missing",
		"base=1,peak=2,for=1s":                               "every=DURATION is missing",
		"base=1,every=1m,for=1s":                             "peak=RATE is missing",
		"peak=1,every=1m,for=1s":                             "base=RATE is missing",
		"base=1,peak=2,every=1m,for=1s,ramps=1s":             "ramps is not a setting",
		"base=1,peak=200M,every=1m,for=1s":                   "at most 100000000",
		"base=1,peak=NaN,every=1m,for=1s":                    "not a number",
		"base=-1,peak=2,every=1m,for=1s":                     "not negative",
		"base=1,peak=2,every=1m,for=999us":                   "at least 1ms",
		"base=1,peak=2,every=1m,for=1s," + "ramp=1s,ramp=1s": "each once",
	} {
		if p, err := pacer.ParseProfile("spike:" + in); err == nil || !strings.Contains(err.Error(), reason) || len(err.Error()) > 300 || p.Segments != nil {
			t.Errorf("%s: %v, %v; want an error with %q", in, p, err, reason)
		}
	}
	if _, err := pacer.Spike(pacer.PerSecond(1), pacer.PerSecond(2), 2*time.Second, time.Second, 499_500_000); err != nil {
		t.Errorf("ramps that just fit: %v", err)
	}
}

// count returns how many slots a profile with an end has.
func count(p pacer.Profile) (n int64) {
	for range p.Slots() {
		n++
	}
	return n
}
