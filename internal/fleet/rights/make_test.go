package rights

import (
	"context"
	"errors"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// TestAnotherProcessIsQuicker asserts that a creator joins the run that another process makes while the creator asks the
// ledger, whatever the ledger answers. It gives back what it got.
func TestAnotherProcessIsQuicker(t *testing.T) {
	t.Parallel()
	for answer, refusal := range map[string]error{"granted": nil, "refused": errors.New("there is no room")} {
		t.Run(answer, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, client rdb.Client) {
				asked := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
				var other *run.Run
				released := 0
				reserve := func(ctx context.Context, _ *run.Run) (right reservation, err error) {
					if other, _, err = run.Create(ctx, client, "x", asked, run.Options{}); err != nil {
						t.Error(err)
					}
					right.release = func() { released++ }
					return right, refusal
				}
				r, created, err := run.Create(t.Context(), client, "x", asked, run.Options{Make: reserving(reserve)})
				if err != nil || created || r.UID != other.UID {
					t.Errorf("%+v, created %v, error %v", r, created, err)
				}
				if want := map[bool]int{true: 1}[refusal == nil]; released != want {
					t.Errorf("the right is given back %d times, want %d", released, want)
				}
			})
		})
	}
}
