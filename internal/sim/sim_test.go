package sim

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The environment: LOADCTL_SIM=full runs 1,000 seeds with 50 workers, day a day; LOADCTL_SEED is the first seed, and LOADCTL_SEEDS,
// LOADCTL_WORKERS, LOADCTL_RATE and LOADCTL_KIND are for whoever looks for a cause. LOADCTL_TRACE=1 tells what happens in the first seed.
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

func run(t *testing.T, p Plan) (r Result) {
	synctest.Test(t, func(*testing.T) { r = Run(p) })
	return r
}

// seeds runs n seeds from first on, the kinds in turns, on all cores.
func seeds(t *testing.T, kinds []string, first, n int, size Size, change func(*Plan)) []Result {
	t.Helper()
	var mu sync.Mutex
	var all []Result
	t.Run("seeds", func(t *testing.T) {
		for lane := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := first + lane; seed < first+n; seed += runtime.GOMAXPROCS(0) {
					p := Draw(kinds[seed%len(kinds)], uint64(seed), size)
					change(&p)
					r := run(t, p)
					mu.Lock()
					all = append(all, r)
					mu.Unlock()
				}
			})
		}
	})
	slices.SortFunc(all, func(a, b Result) int { return int(a.Seed) - int(b.Seed) })
	return all
}

// TestSeeds is `make sim`.
func TestSeeds(t *testing.T) {
	n, size := 42, Size{Workers: 6, Length: 20 * time.Second}
	if os.Getenv("LOADCTL_SIM") == "full" {
		n, size.Workers = 1000, 50
	}
	first := setting(t, "LOADCTL_SEED", 1)
	n, size.Workers = setting(t, "LOADCTL_SEEDS", n), setting(t, "LOADCTL_WORKERS", size.Workers)
	size.Rate = int64(setting(t, "LOADCTL_RATE", 0))
	kinds := Kinds()
	if k := os.Getenv("LOADCTL_KIND"); k != "" {
		kinds = []string{k}
	}
	all := seeds(t, kinds, first, n, size, func(p *Plan) {
		if os.Getenv("LOADCTL_TRACE") != "" && p.Seed == uint64(first) {
			p.Trace = func(at time.Duration, who, what string) { fmt.Println(at.Round(time.Microsecond), who, what) }
			fmt.Printf("%+v\n", *p)
		}
	})
	t.Logf("%d workers\n%s", size.Workers, Table(all))
	for _, r := range all {
		if err := r.Check(); err != nil {
			t.Errorf("LOADCTL_SEED=%d LOADCTL_KIND=%s LOADCTL_SEEDS=1 LOADCTL_WORKERS=%d: %v", r.Seed, r.Kind, size.Workers, err)
		}
	}
}

// The same seed gives the same sends, to the ns.
func TestReproducible(t *testing.T) {
	for i, kind := range Kinds() {
		size := Size{Workers: 5, Length: 8 * time.Second}
		first := run(t, Draw(kind, uint64(i), size))
		if again := run(t, Draw(kind, uint64(i), size)); again.Hash != first.Hash || again.Sent != first.Sent {
			t.Errorf("%s: %d sends, and then %d", kind, first.Sent, again.Sent)
		}
	}
}

// A day of virtual time, 24 hours with LOADCTL_SIM=day: clocks that run apart do so by seconds.
func TestDay(t *testing.T) {
	length := 2 * time.Minute
	if os.Getenv("LOADCTL_SIM") == "day" {
		length = 24 * time.Hour
	}
	r := run(t, Draw("day", uint64(setting(t, "LOADCTL_SEED", 1)), Size{Workers: 8, Length: length, Rate: 20}))
	t.Logf("asked %d, sent %d, on permits %d, skipped %d, yielded %d, late %d; excess %.2f, above the bound %.2f; in healthy seconds %s",
		r.Audit.Asked, r.Sent, r.PermitSent, r.Audit.Skipped, r.Audit.Yielded, r.Audit.LateDropped, r.Excess, r.Over, percent(r.Share))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}
