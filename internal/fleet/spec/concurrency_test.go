package spec

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// TestConcurrencySpec: a closed loop with a concurrency has it as the rate of its pieces, and what needs a rate is refused.
func TestConcurrencySpec(t *testing.T) {
	eight := closed(3 * time.Second)
	eight.Concurrency = 8
	staged := closed(0)
	staged.Stages = []string{"1s:c=2", "2s:c=64"}
	for _, c := range []struct {
		spec         Spec
		pieces, asks string
		numbers      string
		flags        string
	}{
		{eight, "8:8:1000000:3000000", "c=8", "[8]", "--concurrency 8 --duration 3s"},
		{staged, "2:2:1000000:1000000;64:64:1000000:2000000", "max", "[2 64]", "--stage 1s:c=2 --stage 2s:c=64"},
	} {
		p, err := c.spec.Plan()
		if got := pacer.JoinPieces(p.Pieces); err != nil || c.spec.Validate() != nil || got != c.pieces || p.Span != 3*time.Second {
			t.Errorf("%s: %s, %+v, %v %v", c.asks, got, p, err, c.spec.Validate())
		}
		if !c.spec.Seated() || c.spec.Asks() != c.asks || c.spec.Length() != 3*time.Second || !math.IsInf(c.spec.Peak(), 1) {
			t.Errorf("%+v: asks %s, length %v, peak %v", c.spec, c.spec.Asks(), c.spec.Length(), c.spec.Peak())
		}
		if got := fmt.Sprint(c.spec.Concurrencies()); got != c.numbers {
			t.Errorf("%s: numbers %s, want %s", c.asks, got, c.numbers)
		}
		if line := c.spec.Setting().Line(); line != c.flags {
			t.Errorf("flags %q, want %q", line, c.flags)
		}
		text, err := c.spec.Encode()
		if s, e := Parse("x", text); err != nil || e != nil || len(s.Diff(c.spec)) > 0 {
			t.Errorf("%s, %v %v", text, err, e)
		}
	}
	for says, change := range map[string]func(*Spec){
		"--concurrency and --stage: ":                                  func(s *Spec) { s.Stages = []string{"1s:c=8"} },
		"--concurrency and --profile: ":                                func(s *Spec) { s.Profile = "steps:from=1,to=5,by=1,every=1s" },
		"--concurrency and --requests: ":                               func(s *Spec) { s.Requests = 5 },
		"--concurrency and --arrivals: ":                               func(s *Spec) { s.Arrivals = "poisson" },
		"--concurrency and a rate: ":                                   func(s *Spec) { s.QPS = pacer.PerSecond(5) },
		"--concurrency: give a number from 1 to 1000000":               func(s *Spec) { s.Concurrency = 1_000_001 },
		"--concurrency: only a closed loop has one":                    func(s *Spec) { s.Max = false },
		"--stage: one has a rate, another one a concurrency; ":         func(s *Spec) { s.Concurrency, s.Stages = 0, []string{"1s:c=8", "1s:9"} },
		"stage 1s:c=8: a concurrency makes the run a closed loop; ":    func(s *Spec) { s.Concurrency, s.Max, s.Stages = 0, false, []string{"1s:c=8"} },
		`--threshold "lag:p(99)<1s" and --concurrency: without a rate`: func(s *Spec) { s.Thresholds = []string{"lag:p(99)<1s"} },
	} {
		s := eight
		s.Duration = 0
		change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if all := closed(time.Second).Concurrencies(); all != nil {
		t.Errorf("numbers of a run without any: %v", all)
	}
	if lines := eight.Diff(closed(3 * time.Second)); len(lines) != 1 || lines[0] != "qps: c=8 there, max here" {
		t.Errorf("%q", lines)
	}
}
