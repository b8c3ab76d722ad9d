package sim

import (
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/model"
)

// A rule, and a seed that shows what it prevents.
type rule struct {
	name, kind string
	seed       uint64
	workers    int
	without    model.Without
	broken     Broken
}

func rules() []rule {
	return []rule{
		{"quarantine", "storm", 1, 5, model.Without{Quarantine: true}, Broken{}},
		{"stored", "storm", 3, 5, model.Without{Stored: true}, Broken{}},
		{"age", "relapse", 1, 5, model.Without{Age: true}, Broken{}},
		{"seq", "copies", 114, 5, model.Without{Seq: true}, Broken{}},
		{"reclaim", "copies", 601, 8, model.Without{Reclaim: true}, Broken{}},
		{"owned", "storm", 10, 5, model.Without{Owned: true}, Broken{}},
		{"promise", "storm", 10, 5, model.Without{Promise: true}, Broken{}},
		{"list-p", "short", 136, 5, model.Without{}, Broken{ListP: true}},
		{"agree", "churn", 8, 5, model.Without{}, Broken{Agree: true}},
		{"back", "churn", 7, 5, model.Without{}, Broken{Back: true}},
		{"fixed", "churn", 1, 5, model.Without{}, Broken{Fixed: true}},
		{"due", "storm", 10, 5, model.Without{}, Broken{Due: true}},
		{"again", "rates", 4, 5, model.Without{}, Broken{Again: true}},
		{"past", "deserted", 32, 6, model.Without{Past: true}, Broken{}},
		{"command", "lost-late", 15, 10, model.Without{Command: true}, Broken{}},
		{"new-era", "eras", 78, 5, model.Without{NewEra: true}, Broken{}},
	}
}

// Each rule of the protocol is needed: without it a seed breaks a promise, most of them by sending a slot twice. With it
// that seed breaks none.
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
				if r.Check() != nil {
					if bad++; seed == 0 {
						seed = s
					}
				}
				slots += r.Twice + int(r.Twofold)
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
