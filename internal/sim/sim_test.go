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

func run(t *testing.T, p Plan) (r Result) {
	synctest.Test(t, func(*testing.T) { r = Run(p) })
	return r
}

// number is an environment variable's, or def.
func setting(t *testing.T, name string, def int) int {
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

func TestSeeds(t *testing.T) {
	first, seeds, workers := setting(t, "LOADCTL_SEED", 1), 40, 6
	if os.Getenv("LOADCTL_SIM") == "full" {
		seeds, workers = 1000, 50
	}
	seeds, workers = setting(t, "LOADCTL_SEEDS", seeds), setting(t, "LOADCTL_WORKERS", workers)
	kinds := Kinds()
	if k := os.Getenv("LOADCTL_KIND"); k != "" {
		kinds = []string{k}
	}
	var mu sync.Mutex
	var all []Result
	t.Run("", func(t *testing.T) {
		lanes := runtime.GOMAXPROCS(0)
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := first + lane; seed < first+seeds; seed += lanes {
					r := run(t, Draw(kinds[seed%len(kinds)], uint64(seed), Size{Workers: workers, Length: 20 * time.Second, Rate: int64(setting(t, "LOADCTL_RATE", 0))}))
					mu.Lock()
					all = append(all, r)
					mu.Unlock()
				}
			})
		}
	})
	slices.SortFunc(all, func(a, b Result) int { return int(a.Seed) - int(b.Seed) })
	t.Logf("%d workers\n%s", workers, Table(all))
	for _, r := range all {
		if worst := slices.Min(append(r.Faulty, 1)); os.Getenv("LOADCTL_WORST") != "" && worst < 0.88 {
			p := Draw(r.Kind, r.Seed, Size{Workers: workers, Length: 20 * time.Second})
			t.Logf("seed %d net %v rare %v down %v frozen %v tfb %v faulty %.3f", r.Seed, p.Net.Hi, p.Net.Rare, p.Down, p.Frozen, p.Options.PermitFor, r.Faulty)
		}
		if r.Broken() || r.Duplicates > 0 || len(r.Errors) > 0 {
			t.Errorf("%s%v %d: early %d/%v overrun %d/%.1f over the bound %.2f at %v, excess %.2f, %d twice, %v, worst %s", r.Kind, r.Of, r.Seed, r.Early, r.EarlyFor.Round(time.Millisecond), r.Overrun, r.OverrunOver, r.Over, r.At, r.Excess, r.Duplicates, r.Errors, percent(slices.Min(append(r.Faulty, r.Healthy...))))
		}
	}
}

func TestTrace(t *testing.T) {
	seed := uint64(setting(t, "LOADCTL_SEED", 1))
	p := Draw(os.Getenv("LOADCTL_KIND"), seed, Size{Workers: setting(t, "LOADCTL_WORKERS", 6), Length: 20 * time.Second, Rate: int64(setting(t, "LOADCTL_RATE", 0))})
	from, to := time.Duration(setting(t, "FROM", 0))*time.Millisecond, time.Duration(setting(t, "TO", 0))*time.Millisecond
	p.Trace = func(at time.Duration, who, what string) {
		if at >= from && at < to {
			fmt.Println(at.Round(time.Microsecond), who, what)
		}
	}
	fmt.Printf("rate %d permit %d net %+v down %v frozen %v fail %v steps %v commands %v\n", p.Rate, p.Options.PermitFor, p.Net, p.Down, p.Frozen, p.Failover, p.Steps, p.Commands)
	for _, m := range p.Members {
		fmt.Printf("%+v\n", m)
	}
	r := run(t, p)
	fmt.Printf("%+v\n", r)
}
