package preview_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/input/preview"
	"github.com/loadctl/loadctl/pacer"
)

func of(t *testing.T, s spec.Spec) preview.Preview {
	t.Helper()
	p, err := preview.Of(s)
	if err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	return p
}

func text(t *testing.T, p preview.Preview) string {
	t.Helper()
	var b strings.Builder
	if err := p.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFigures(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name                  string
		s                     spec.Spec
		peak, mean            float64
		requests              int64
		length, period, shown time.Duration
	}{
		{"one rate", spec.Spec{QPS: pacer.PerSecond(5), Duration: time.Minute}, 5, 5, 300, time.Minute, 0, time.Minute},
		{"one rate without end", spec.Spec{QPS: pacer.Rate{Num: 1, Den: 3}}, 1. / 3, 1. / 3, none, 0, 0, time.Minute},
		{"stages", spec.Spec{Stages: []string{"10s:100", "0s:40", "5s:40"}}, 100, 700. / 15, 700, 15 * time.Second, 0, 15 * time.Second},
		{"a wave", spec.Spec{Profile: "sine:mean=100,amplitude=50,period=1m"}, 150, 100, none, 0, time.Minute, 2 * time.Minute},
		{"a part of a wave", spec.Spec{Profile: "spike:base=0,peak=50,every=1m,for=10s", Duration: 115 * time.Second}, 50, 750. / 115, 750, 115 * time.Second, time.Minute, 115 * time.Second},
		{"the end before the peak", spec.Spec{Profile: "spike:base=1,peak=50,every=1m,for=10s", Duration: 50 * time.Second}, 1, 1, 50, 50 * time.Second, time.Minute, 50 * time.Second},
		{"a duration beyond the end", spec.Spec{Profile: "steps:from=1,to=2,by=1,every=10s", Duration: time.Hour}, 2, 1.5, 30, 20 * time.Second, 0, 20 * time.Second},
		{"nothing", spec.Spec{Stages: []string{"10s:0"}}, 0, 0, 0, 10 * time.Second, 0, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := of(t, c.s)
			requests := int64(none)
			if p.Requests != nil {
				requests = *p.Requests
			}
			if math.Abs(p.Peak-c.peak) > 1e-9 || math.Abs(p.Mean-c.mean) > 1e-9 || requests != c.requests || p.Length != c.length || p.Period != c.period || p.Shown != c.shown {
				t.Errorf("%+v, requests %d", p, requests)
			}
			area := 0.0
			for i, at := range p.Points {
				end := p.Shown
				if i+1 < len(p.Points) {
					end = p.Points[i+1].At
				}
				area += at.Mean * (end - at.At).Seconds()
				if at.Mean < 0 || at.Mean > at.Peak+1e-9 || at.Peak > c.peak+1e-9 {
					t.Errorf("point %d: %+v", i, at)
				}
			}
			turn := c.shown
			if c.length == 0 && c.period > 0 {
				turn = 2 * c.period
			}
			if want := c.mean * turn.Seconds(); math.Abs(area-want) > 1e-6*want {
				t.Errorf("the points have %v requests, want %v", area, want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for reason, s := range map[string]spec.Spec{
		"a closed loop has no rate to show": {Max: true},
		"unknown; write one of":             {Profile: "zigzag"},
		"profile: it has no length":         {Stages: []string{"0s:5"}},
	} {
		if p, err := preview.Of(s); err == nil || !strings.Contains(err.Error(), reason) || p.Points != nil {
			t.Errorf("%+v: %+v, %v", s, p, err)
		}
	}
}

func TestText(t *testing.T) {
	const want = `peak      300/s
mean      150/s
requests  450
length    3s

300 │                     ░████████████████████░
    │                     ░████████████████████░
    │                     ▆████████████████████▂
    │                     ██████████████████████
    │                     ██████████████████████
150 │                     ██████████████████████
    │▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃██████████████████████
    │███████████████████████████████████████████
    │███████████████████████████████████████████▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅
    │████████████████████████████████████████████████████████████████
  0 └────────────────────────────────────────────────────────────────
     0                               1.5s                          3s
`
	p := of(t, spec.Spec{Stages: []string{"0s:100", "1s:100", "0s:300", "1s:300", "0s:50", "1s:50"}})
	if got := text(t, p); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	for s, line := range map[*spec.Spec]string{
		{QPS: pacer.PerSecond(5)}:                                                     "length    until stopped; the plot shows 1m",
		{QPS: pacer.Rate{Num: 5, Den: 1}}:                                             "requests  without end",
		{Profile: "sine:mean=100,amplitude=50,period=1m"}:                             "requests  6000 every 1m",
		{Profile: "sine:mean=100,amplitude=50,period=5m"}:                             "length    until stopped, repeats every 5m; the plot shows 10m",
		{Profile: "sine:mean=100,amplitude=50,period=5m", Duration: 90 * time.Second}: "length    1m30s, repeats every 5m",
		{Stages: []string{"0s:1000000", "1s:1000000", "0s:1", "63s:1"}}:               "        │█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁",
		{Stages: []string{"0s:0", "32s:0", "0s:7", "1s:7", "0s:0", "31s:0"}}:          "    │                                █",
		{Stages: []string{"10s:0"}}:                                                   "0 └────────────────────────────────────────────────────────────────",
	} {
		if got := text(t, of(t, *s)); !strings.Contains(got, line+"\n") {
			t.Errorf("%+v: no line %q in\n%s", *s, line, got)
		}
	}
}

// TestTextFits: whatever the schedule is, the plot has at most 80 columns and 12 lines.
func TestTextFits(t *testing.T) {
	for _, s := range []spec.Spec{
		{QPS: pacer.PerSecond(100_000_000), Duration: spec.MaxDuration},
		{QPS: pacer.Rate{Num: 1, Den: 1_000_000}},
		{QPS: pacer.Rate{Num: 99_999_999_900_001, Den: 1_000_000}, Duration: 1_234_567_891},
		{Stages: []string{"1ms:1"}},
		{Stages: []string{"1us:1"}},
		{Stages: []string{"10s:0"}},
		{Profile: "sine:mean=33333333.333333,amplitude=0.000001,period=7777777777777ns"},
		{Profile: "sine:mean=100,amplitude=99,period=20000d"},
		{Profile: "spike:base=1/3s,peak=1/2s,every=1d,for=77777777ns"},
	} {
		p := of(t, s)
		lines := strings.Split(strings.TrimSuffix(text(t, p), "\n"), "\n")
		if len(lines) != 5+12 {
			t.Errorf("%+v: %d lines", s, len(lines))
		}
		for _, line := range lines[5:] {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%+v: %d columns: %s", s, n, line)
			}
		}
	}
}
