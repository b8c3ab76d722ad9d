package budgetsim

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/model"
)

// setting reads a number from the environment.
func setting(t *testing.T, name string, def int) int {
	t.Helper()
	if v := os.Getenv(name); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return def
}

// TestBudgetsHold: whatever fails, all runs together never may send more than the budget. LOADCTL_SEED is the first seed,
// LOADCTL_SEEDS how many; LOADCTL_TRACE=1 shows what happens.
func TestBudgetsHold(t *testing.T) {
	first, n := setting(t, "LOADCTL_SEED", 1), setting(t, "LOADCTL_SEEDS", 100)
	bad, most, sent := 0, int64(0), int64(0)
	for seed := uint64(first); seed < uint64(first+n); seed++ {
		p := Draw(seed)
		if os.Getenv("LOADCTL_TRACE") != "" {
			p.Trace = func(at time.Duration, who, what string) { fmt.Println(at, who, what) }
		}
		r := Run(p, model.WithoutBudget{})
		if err := r.Check(); err != nil {
			if bad++; bad < 6 {
				t.Errorf("LOADCTL_SEED=%d: %v", seed, err)
			}
		}
		most = max(most, r.Most)
		sent += r.Sent
	}
	if part := sent / int64(n); part == 0 {
		t.Errorf("nothing was sent")
	}
	t.Logf("%d of %d seeds break the budget; fullest look %d ‰", bad, n, most)
}

// TestNewcomerObeys: a run that is created at an emptied ledger, and is cut off from it right before it knows all again,
// obeys the budget that another run has brought back when its right is over.
func TestNewcomerObeys(t *testing.T) {
	const emptied = 50 * second
	known := emptied + reserve.TTL + reserve.Margin
	p := Plan{Seed: 1, Length: 150 * second, Slow: ms, LedgerFaults: []fault{{at: emptied, kind: "empty"}}}
	p.Runs = []RunPlan{{Rate: 90 * second, Workers: []WorkerPlan{{}}}, {Rate: 50 * second, Workers: []WorkerPlan{{CutLedger: []span{{known - second/2, p.Length}}}}}}
	p.Orders = []Order{{at: 0, kind: "set", rate: 100 * second}, {at: second, kind: "create"}, {at: emptied + ms, kind: "create", run: 1}}
	made := false
	p.Trace = func(_ time.Duration, who, what string) {
		made = made || who == "run 1" && strings.HasPrefix(what, "is made")
	}
	if err := Run(p, model.WithoutBudget{}).Check(); err != nil || !made {
		t.Errorf("made: %v, %v", made, err)
	}
}

// TestRightsAreKept asserts that a run never loses its right while nothing fails, and while the ledger is away for 14 s.
func TestRightsAreKept(t *testing.T) {
	for _, outage := range []int64{0, 14 * second} {
		for seed := uint64(1); seed <= 50; seed++ {
			if r := Run(Draw(seed).Calm(outage), model.WithoutBudget{}); r.Idle > 0 || r.Check() != nil || r.Sent == 0 {
				t.Errorf("seed %d, outages of %d s: workers were without a lease in %d looks, %v", seed, outage/second, r.Idle, r.Check())
			}
		}
	}
	idle := int64(0)
	for seed := uint64(1); seed <= 50; seed++ {
		idle += Run(Draw(seed).Calm(25*second), model.WithoutBudget{}).Idle
	}
	if idle == 0 {
		t.Error("outages of 25 s are longer than a right lasts, and no worker was without a lease: nothing is compared")
	}
}
