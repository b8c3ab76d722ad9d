package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// FuzzState: whatever Redis holds, reading it returns an error or a state, and never panics.
func FuzzState(f *testing.F) {
	for _, qps := range []int64{0, 100} { // as a run is that has begun
		spec := constant(qps)
		spec.Duration = time.Second
		plan, err := spec.Plan()
		if err != nil {
			f.Fatal(err)
		}
		first := lease.Law{Law: pacer.Law{ID: 1, T0: 1_700_000_000_000_000, R0: qps, R1: qps, Den: 1, Dur: 1_000_000, K: qps},
			Plan: &lease.Plan{Pieces: plan.Pieces}, Piece: 1, End: 1_700_000_001_000_000, ClockEpoch: 1}
		laws, _ := lease.PackLaws([]lease.Law{first})
		core := make([]int64, 22)
		core[4], core[6], core[7], core[9] = 1, first.T0, 1, 10_000_000 // clock epoch, started, n, hold
		held := numbers(0, 1<<24, 1, 0, 1, 0)
		f.Add(numbers(core...), laws, first.Plan.String(), "w", stored(presentMember, "inc", held), held+"w/inc", held, 1.0, "1700000000500000")
	}
	f.Add("", "1:2:3", "0:0;1:2:3", "w/x", "a b c d e", "x", "y", 1e300, "-1")
	f.Add(strings.Repeat("x", 22*8), strings.Repeat("x", 21*8), "0:1;1:1:1:1", "", strings.Repeat("x", 11*8), strings.Repeat("x", 48), strings.Repeat("\xff", 48), -1.0, "1")
	f.Fuzz(func(t *testing.T, core, laws, plan, worker, record, log, loose string, score float64, began string) {
		text := stateText{
			budget: map[string]string{"uid": "u", "core": core, "plan/0": plan, "began": began}, workers: map[string]string{worker: record},
			laws: []string{laws}, due: []redis.Z{{Score: score, Member: worker}}, unowned: []redis.Z{{Score: score, Member: loose}}, log: []string{log},
			now: time.UnixMicro(1_700_000_001_000_000),
		}
		asked := constant(100)
		s, err := (&Run{Name: "x", UID: "u", Spec: asked}).parse(text, readAll)
		if err != nil {
			if !errors.Is(err, spec.ErrBroken) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		s.AskedBy(0, 1_000_000)
		s.waitsFor(asked)
		s.Peak()
		if s.Elapsed() < 0 || s.rateNow().Den == 0 {
			t.Fatalf("%+v", s)
		}
	})
}
