package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/model"
)

// Each rule of the protocol is needed: without it the simulation sees what the rule prevents, and with it, in the same seeds, it does not.
func TestRulesAreNeeded(t *testing.T) {
	overshoot := func(r Result) float64 { return max(0, slices.Max(r.Over)) }
	for _, c := range []struct {
		name    string
		without model.Without
		kind    string
		wrong   func(Result) float64
		least   float64 // what the worst of the seeds shows
	}{
		{"identity", model.Without{Identity: true}, "failover", func(r Result) float64 { return float64(r.Duplicates) }, 50},
		{"seq", model.Without{Seq: true}, "loss", func(r Result) float64 { return float64(r.Audit.Lost) }, 50}, // granted again to the same call
		{"ack", model.Without{Ack: true}, "mix", overshoot, 20},
		{"barrier", model.Without{Barrier: true}, "cut-calls", overshoot, 20},
		{"thinning", model.Without{Thinning: true}, "cut-calls", overshoot, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			var with, without float64
			for seed := uint64(1); seed <= 8; seed++ {
				p := Draw(c.kind, seed, Size{Workers: 6, Length: 12 * time.Second})
				r := run(t, p)
				with = max(with, c.wrong(r))
				p.Options.Without = c.without
				r = run(t, p)
				without = max(without, c.wrong(r))
			}
			t.Logf("with the rule %.2f, without %.2f", with, without)
			if with > tolerance {
				t.Errorf("with the rule: %.2f", with)
			}
			if without < c.least {
				t.Errorf("without the rule: %.2f, at least %.0f should be seen", without, c.least)
			}
		})
	}
}
