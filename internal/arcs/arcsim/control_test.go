package arcsim

import (
	"os"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/arcs"
)

// Each rule of the protocol is needed: without it slots are sent twice in some seeds, and with it in none of them.
func TestRulesAreNeeded(t *testing.T) {
	n := setting(t, "LOADCTL_SEEDS", 10)
	for _, c := range []struct {
		name, kind string
		without    arcs.Without
	}{
		{"quarantine", "storm", arcs.Without{Quarantine: true}},
		{"stored", "storm", arcs.Without{Stored: true}},
		{"age", "relapse", arcs.Without{Age: true}},
		{"word", "relapse", arcs.Without{Word: true}},
		{"names", "relapse", arcs.Without{Names: true}},
		{"complete", "relapse", arcs.Without{Complete: true}},
		{"seq", "copies", arcs.Without{Seq: true}},
		{"reclaim", "copies", arcs.Without{Reclaim: true}},
		{"owned", "storm", arcs.Without{Owned: true}},
		{"promise", "storm", arcs.Without{Promise: true}},
		{"list-p", "short", arcs.Without{ListP: true}},
		{"agree", "churn", arcs.Without{Agree: true}},
		{"back", "churn", arcs.Without{Back: true}},
		{"fixed", "churn", arcs.Without{Fixed: true}},
		{"due", "storm", arcs.Without{Due: true}},
		{"era", "eras", arcs.Without{Era: true}},
		{"new-era", "eras", arcs.Without{NewEra: true}},
	} {
		if only := os.Getenv("LOADCTL_RULE"); only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		if k := os.Getenv("LOADCTL_KIND"); k != "" {
			c.kind = k
		}
		t.Run(c.name, func(t *testing.T) {
			first, bad, slots, seed := uint64(setting(t, "LOADCTL_SEED", 1)), 0, 0, uint64(0)
			for s := first; s < first+uint64(n); s++ {
				r := Run(Draw(c.kind, s, size(s, setting(t, "LOADCTL_WORKERS", 0))), c.without)
				if r.Twice+r.Contested > 0 {
					if bad++; seed == 0 {
						seed = s
					}
				}
				slots += r.Twice
			}
			t.Logf("%d of %d seeds of %s, %d slots twice, first seed %d", bad, n, c.kind, slots, seed)
			if bad == 0 {
				t.Errorf("without the rule nothing is sent twice")
			}
		})
	}
}
