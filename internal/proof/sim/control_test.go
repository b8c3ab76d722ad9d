package sim

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// A rule, and a seed that shows what it prevents.
type rule struct {
	name, kind string
	seed       uint64
	workers    int
	without    model.Without
	broken     Broken
	other      bool // nothing is sent twice, but another promise is broken
}

func rules() []rule {
	return []rule{
		{"quarantine", "storm", 1, 5, model.Without{Quarantine: true}, Broken{}, false},
		{"stored", "storm", 3, 5, model.Without{Stored: true}, Broken{}, false},
		{"age", "relapse", 1, 5, model.Without{Age: true}, Broken{}, false},
		{"seq", "copies", 421, 5, model.Without{Seq: true}, Broken{}, false},
		{"reclaim", "copies", 601, 8, model.Without{Reclaim: true}, Broken{}, false},
		{"owned", "storm", 10, 5, model.Without{Owned: true}, Broken{}, false},
		{"lease", "storm", 10, 5, model.Without{Lease: true}, Broken{}, false},
		{"list-p", "short", 521, 5, model.Without{}, Broken{ListP: true}, false},
		{"agree", "churn", 8, 5, model.Without{}, Broken{Agree: true}, false},
		{"back", "churn", 7, 5, model.Without{}, Broken{Back: true}, false},
		{"fixed", "churn", 1, 5, model.Without{}, Broken{Fixed: true}, false},
		{"due", "storm", 10, 5, model.Without{}, Broken{Due: true}, false},
		{"again", "rates", 4, 5, model.Without{}, Broken{Again: true}, false},
		{"past", "deserted", 32, 6, model.Without{Past: true}, Broken{}, true},
		{"command", "lost-late", 15, 10, model.Without{Command: true}, Broken{}, true},
		{"new-era", "eras", 182, 5, model.Without{NewClockEpoch: true}, Broken{}, false},
		{"rights", "rights", 14, 5, model.Without{Rights: true}, Broken{}, true},
	}
}

// Each rule of the protocol is needed: without it a seed sends slots twice, or breaks another promise. With it that seed
// breaks none.
// LOADCTL_SEEDS is the number of seeds to play without each rule. LOADCTL_RULE names one rule.
func TestRulesAreNeeded(t *testing.T) {
	n := setting(t, "LOADCTL_SEEDS", 1)
	for _, c := range rules() {
		if only := os.Getenv("LOADCTL_RULE"); only != "" && only != c.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			first, workers := c.seed, setting(t, "LOADCTL_WORKERS", c.workers)
			if n > 1 {
				first = 1
			}
			bad, slots, seed := 0, 0, uint64(0)
			for s := first; s < first+uint64(n); s++ {
				r := Run(Draw(c.kind, s, size(s, workers)), c.without, c.broken)
				twice := r.Twice + int(r.Twofold)
				if twice > 0 || c.other && r.Check() != nil {
					if bad++; seed == 0 {
						seed = s
					}
				}
				slots += twice
			}
			t.Logf("%d of %d seeds of %s, %d slots twice, first seed %d", bad, n, c.kind, slots, seed)
			if bad == 0 {
				t.Errorf("without the rule no promise is broken")
			}
			if err := Run(Draw(c.kind, c.seed, size(c.seed, c.workers)), model.Without{}, Broken{}).Check(); err != nil {
				t.Errorf("with the rule: %v", err)
			}
		})
	}
}
