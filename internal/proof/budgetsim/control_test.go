package budgetsim

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// A rule, and a seed that shows what it prevents.
type rule struct {
	name    string
	seed    uint64
	without model.WithoutBudget
}

func rules() []rule {
	return []rule{
		{"lease-ends", 252, model.WithoutBudget{LeaseEnds: true}},
		{"law", 3, model.WithoutBudget{Law: true}},
		{"lowers", 13, model.WithoutBudget{Lowers: true}},
		{"settled", 3, model.WithoutBudget{Settled: true}},
		{"version", 179, model.WithoutBudget{Version: true}},
		{"anchor", 304, model.WithoutBudget{Anchor: true}},
		{"identity", 6745, model.WithoutBudget{Identity: true}},
		{"verify", 2557, model.WithoutBudget{Verify: true}},
		{"quiet", 2, model.WithoutBudget{Quiet: true}},
		{"claim", 391, model.WithoutBudget{Claim: true}},
		{"newest", 1893, model.WithoutBudget{Newest: true}},
		{"late", 6580, model.WithoutBudget{Late: true}},
		{"prolong", 304, model.WithoutBudget{Prolong: true}},
		{"capped", 28799, model.WithoutBudget{Capped: true}},
		{"carry", 13, model.WithoutBudget{Carry: true}},
		{"apart", 3733, model.WithoutBudget{Apart: true}},
	}
}

// TestRulesOfBudgetsAreNeeded asserts that without each rule a seed breaks the budget.
// LOADCTL_SEEDS is the number of seeds to play without each rule. LOADCTL_RULE names one rule.
func TestRulesOfBudgetsAreNeeded(t *testing.T) {
	n := setting(t, "LOADCTL_SEEDS", 1)
	for _, c := range rules() {
		if only := os.Getenv("LOADCTL_RULE"); only != "" && only != c.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			first := c.seed
			if n > 1 {
				first = 1
			}
			bad, seed := 0, uint64(0)
			for s := first; s < first+uint64(n); s++ {
				if Run(Draw(s), c.without).Check() != nil {
					if bad++; seed == 0 {
						seed = s
					}
				}
			}
			t.Logf("%d of %d seeds, first seed %d", bad, n, seed)
			if bad == 0 {
				t.Errorf("without the rule no promise is broken")
			}
		})
	}
}
