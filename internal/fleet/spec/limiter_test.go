package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLimiterSpecs: the scripts get the settings of the spec. An impossible setting is refused with a line that says
// what to do.
func TestLimiterSpecs(t *testing.T) {
	burst := func(n int64) func(*Spec) { return func(s *Spec) { s.Burst = n } }
	window := func(d time.Duration) func(*Spec) { return func(s *Spec) { s.Window = d } }
	together := func(s *Spec) { s.Together = true }
	for _, c := range []struct {
		rate, limiter string
		set           func(*Spec)
		config, text  string
		says          string // what is wrong with it
	}{
		{rate: "500"},
		{rate: "500", limiter: "gcra"},
		{rate: "500", limiter: "gcra", set: burst(7), config: "7:0:0:0:0", text: "gcra, burst 7"},
		{rate: "500", limiter: "token-bucket", config: "0:0:0:0:0", text: "token-bucket, burst 250"},
		{rate: "0.2", limiter: "token-bucket", set: together, config: "0:0:0:0:1", text: "token-bucket, burst 1, not spread"},
		{rate: "500", limiter: "token-bucket", set: func(s *Spec) { s.Debt, s.Burst = true, 3 }, config: "3:0:1:0:0", text: "token-bucket, burst 3, debt"},
		{rate: "500", limiter: "leaky-bucket", set: burst(50), config: "50:0:0:1:0", text: "leaky-bucket, burst 50"},
		{rate: "500", limiter: "fixed-window", config: "0:1000000:0:0:0", text: "fixed-window, window 1s"},
		{rate: "30/1m", limiter: "fixed-window", set: window(time.Minute), config: "0:60000000:0:0:0", text: "fixed-window, window 1m0s"},
		{rate: "500", limiter: "fixed-window", set: func(s *Spec) { s.ExpireNX, s.Together = true, true }, config: "0:1000000:1:0:1", text: "fixed-window, window 1s, expire nx, not spread"},
		{rate: "500", limiter: "sliding-window", set: window(2 * time.Millisecond), config: "0:2000:10:0:0", text: "sliding-window, window 2ms"},
		{rate: "500", limiter: "sliding-log", config: "0:1000000:0:0:0", text: "sliding-log, window 1s"},
		{rate: "500", limiter: "sliding-list", config: "0:1000000:0:0:0", text: "sliding-list, window 1s"},

		{rate: "500", limiter: "bucket", says: `--limiter "bucket": write one of fixed-window, sliding-log, `},
		{rate: "500", set: window(time.Second), says: "--window: the slots of a run, gcra without a burst, have no such thing; leave --window out, or take another --limiter"},
		{rate: "500", set: together, says: "--spread=false: the slots of a run, gcra without a burst, have no such thing"},
		{rate: "500", set: func(s *Spec) { s.Debt = true }, says: "--debt: the slots of a run"},
		{rate: "500", set: func(s *Spec) { s.ExpireNX = true }, says: "--expire: the slots of a run"},
		{rate: "500", limiter: "gcra", set: burst(-1), says: "--burst: give a number from 1 to 1000000000"},
		{rate: "500", limiter: "token-bucket", set: burst(1_000_000_001), says: "--burst: give a number from 1 to 1000000000"},
		{rate: "500", limiter: "fixed-window", set: burst(3), says: "--burst and --limiter fixed-window: it counts in windows; give --window, or take token-bucket"},
		{rate: "500", limiter: "gcra", set: func(s *Spec) { s.Burst, s.Window = 3, time.Second }, says: "--window and --burst: a burst needs no window; leave --window out, or take fixed-window"},
		{rate: "500", limiter: "leaky-bucket", set: together, says: "--spread=false and --limiter leaky-bucket: it lets out one after the other; leave --spread out"},
		{rate: "500", limiter: "sliding-log", set: func(s *Spec) { s.ExpireNX = true }, says: "--expire nx and --limiter sliding-log: only fixed-window has it; leave --expire out"},
		{rate: "500", limiter: "leaky-bucket", set: func(s *Spec) { s.Debt = true }, says: "--debt and --limiter leaky-bucket: only token-bucket has it; leave --debt out"},
		{rate: "0", limiter: "token-bucket", set: func(s *Spec) { s.Max = true }, says: "--limiter token-bucket and --qps max: without a rate there is nothing to limit; give a rate, or"},
		{rate: "5", limiter: "token-bucket", set: func(s *Spec) { s.Stages = []string{"1s:5"} }, says: "--limiter token-bucket and --stage or --profile: a limiter has one rate, which loadctl set-rate changes"},
		{rate: "0", limiter: "gcra", set: func(s *Spec) { s.Burst, s.Profile = 3, "sine:mean=5,amplitude=1,period=1s" }, says: "--burst and --stage or --profile: a limiter has one rate, which loadctl set-rate changes; give --qps alone, or leave --burst out"},
		{rate: "0", limiter: "gcra", set: func(s *Spec) { s.Max, s.Burst = true, 4 }, says: "--burst and --qps max: without a rate there is nothing to limit; give a rate, or leave --burst out"},
		{rate: "33.3", limiter: "fixed-window", says: "--limiter fixed-window: 33.3 requests per second are no whole number in a window of 1s; give 33 or 34, or another --window, such as 10s"},
		{rate: "3/10s", limiter: "fixed-window", says: "--limiter fixed-window: 0.3 requests per second are no whole number in a window of 1s; give 1, or another --window, such as 10s"},
		{rate: "1/3s", limiter: "fixed-window", set: window(7 * time.Second), says: "--limiter fixed-window: 1/3s requests per second are no whole number in a window of 7s; give 2/7s or 3/7s, or another --window, such as 3s"},
		{rate: "500", limiter: "fixed-window", set: window(time.Millisecond), says: "--limiter fixed-window: 500 requests per second are no whole number in a window of 1ms; give 1000, or another --window, such as 1s"},
		{rate: "100M", limiter: "fixed-window", set: window(time.Hour), says: "--limiter fixed-window: 100000000 requests per second are more than 1000000000 in a window of 1h0m0s; give a lower rate, or another --window, such as 1s"},
		{rate: "500", limiter: "fixed-window", set: window(367 * 24 * time.Hour), says: "--window 8808h0m0s: give a time from 1µs to 366 days, in whole µs, such as 1s"},
		{rate: "500", limiter: "fixed-window", set: window(time.Nanosecond), says: "--window 1ns: give a time from 1µs"},
		{rate: "12345678.123457", limiter: "gcra", set: burst(5), says: "--burst: a burst of 5 at 12345678.123457 requests per second cannot be counted exactly; give a smaller burst"},
		{rate: "0.999983", limiter: "leaky-bucket", set: burst(5000), says: "--limiter leaky-bucket: a burst of 5000 at"},
	} {
		s := limited(c.rate, c.limiter, c.set)
		name := fmt.Sprintf("%s at %s, %q", c.limiter, c.rate, c.says+c.config)
		err := s.Validate()
		if c.says != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		config := ""
		if s.HasLimiter() {
			config = s.LimiterConfig()
		}
		if config != c.config || s.LimiterText(s.QPS, s.Burst) != c.text {
			t.Errorf("%s: %s, %q", name, config, s.LimiterText(s.QPS, s.Burst))
		}
	}
}

// TestNarrow: a warning comes for a burst or window that may be used up before a worker asks again. It names one
// that is enough, and for that one there is no warning.
func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		rate, limiter string
		burst         int64
		window        time.Duration
		debt          bool
		says          string
	}{
		{rate: "500"},
		{rate: "500", limiter: "token-bucket"},
		{rate: "500", limiter: "token-bucket", burst: 5},
		{rate: "500", limiter: "gcra", burst: 4,
			says: "some of 500/s may be lost: workers ask at most every 5ms, and a burst of 4 may be used up before; a burst of 5 is enough"},
		{rate: "501", limiter: "leaky-bucket", burst: 5, says: "a burst of 6 is enough"},
		{rate: "100", limiter: "token-bucket", burst: 1},
		{rate: "100.5", limiter: "token-bucket", burst: 1, says: "some of 100.5/s may be lost: workers ask at most every 5ms, and a burst of 1 may be used up before; a burst of 2"},
		{rate: "0", limiter: "token-bucket", burst: 1},
		{rate: "500", limiter: "token-bucket", burst: 1, debt: true},
		{rate: "500", limiter: "fixed-window"},
		{rate: "500", limiter: "fixed-window", window: 20 * time.Millisecond},
		{rate: "500", limiter: "fixed-window", window: 10 * time.Millisecond,
			says: "some of 500/s may be lost: workers ask at most every 5ms, and a window of 10ms may be used up before; a window of 20ms is enough"},
		{rate: "300", limiter: "sliding-log", window: 10 * time.Millisecond, says: "a window of 20ms is enough"},
		{rate: "125", limiter: "sliding-log", window: 16 * time.Millisecond, says: "a window of 24ms is enough"},
	} {
		s := limited(c.rate, c.limiter, func(s *Spec) { s.Burst, s.Window, s.Debt = c.burst, c.window, c.debt })
		got := s.Warning(s.QPS, s.Burst)
		if !strings.HasSuffix(got, c.says) && !strings.HasPrefix(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestLimiterIsLeftOut: for a run without a limiter nothing about limiters is stored. With gcra and no burst it is
// the same run.
func TestLimiterIsLeftOut(t *testing.T) {
	text, err := json.Marshal(constant(100))
	for _, name := range []string{"limiter", "burst", "window", "together", "expire", "debt"} {
		if err != nil || strings.Contains(string(text), name) {
			t.Errorf("%s, %v", text, err)
		}
	}
	if diff := constant(100).Diff(limited("100", "gcra", nil)); len(diff) > 0 {
		t.Error(diff)
	}
	if _, err := Parse("x", stored(`"limiter":"of tomorrow"}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("a limiter that is not known: %v", err)
	}
}
