package sim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// setting reads LOADCTL_SEED (the first), LOADCTL_SEEDS (how many of each kind) or LOADCTL_WORKERS (0: 3 to 50, by
// the seed).
func setting(t *testing.T, name string, def int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// size returns the size of a seed's fleet.
func size(seed uint64, workers int) Size {
	if workers == 0 {
		workers = []int{3, 5, 6, 10, 20, 50}[seed%6]
	}
	return Size{Workers: workers, Length: 20 * time.Second}
}

// chosen returns the kinds to play: those of LOADCTL_KIND, or all.
func chosen() []string {
	if k := os.Getenv("LOADCTL_KIND"); k != "" {
		return strings.Split(k, ",")
	}
	return Kinds()
}

// TestSeeds plays each kind of fault. LOADCTL_TRACE=1 shows what happens in the first seed.
func TestSeeds(t *testing.T) {
	first, n, workers := setting(t, "LOADCTL_SEED", 1), setting(t, "LOADCTL_SEEDS", 3), setting(t, "LOADCTL_WORKERS", 0)
	t.Logf("%-12s %5s %6s %9s %7s %9s %9s %9s %9s %9s %9s %7s %8s", "fault", "seeds", "twice", "contested", "failed", "asked", "unsent", "overrun", "dedup", "repeated", "idle", "worst s", "took")
	for _, kind := range chosen() {
		var sum Result
		failed, worst, began := 0, 1.0, time.Now()
		for seed := uint64(first); seed < uint64(first+n); seed++ {
			p := Draw(kind, seed, size(seed, workers))
			if os.Getenv("LOADCTL_TRACE") != "" && seed == uint64(first) {
				p.Trace = func(at time.Duration, who, what string) { fmt.Println(at, who, what) }
				fmt.Printf("%+v\n", p)
			}
			r := Run(p, model.Without{}, Broken{})
			if err := r.Check(); err != nil {
				failed++
				if failed < 6 {
					t.Errorf("LOADCTL_SEED=%d LOADCTL_KIND=%s LOADCTL_SEEDS=1 LOADCTL_WORKERS=%d: %v", seed, kind, workers, err)
				}
			}
			sum.Twice, sum.Contested = sum.Twice+r.Twice, sum.Contested+r.Contested
			sum.Deduplicated, sum.Repeated = sum.Deduplicated+r.Deduplicated, sum.Repeated+r.Repeated
			sum.Asked, sum.Sent, sum.Overrun, sum.Idle = sum.Asked+r.Asked, sum.Sent+r.Sent, sum.Overrun+r.Overrun, sum.Idle+r.Idle
			worst = min(worst, r.Worst)
		}
		t.Logf("%-12s %5d %6d %9d %7d %9d %9d %9d %9d %9d %9d %6.1f%% %8s", kind, n, sum.Twice, sum.Contested, failed, sum.Asked, sum.Asked-sum.Sent, sum.Overrun, sum.Deduplicated, sum.Repeated, sum.Idle, 100*worst, time.Since(began).Round(time.Millisecond))
	}
}
