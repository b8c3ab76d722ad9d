package ui

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/member/membertest"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// TestPageKeepsWorkers: a rate above the --max-qps of a worker is refused as a conflict, unless it is forced.
func TestPageKeepsWorkers(t *testing.T) {
	t.Parallel()
	s := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: time.Second, MinWorkers: 1, PermitFor: spec.MaxPermitFor}
	r, _, err := run.Create(t.Context(), redistest.Start(t).Client(), "x", s, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	membertest.Join(t, r, "w", pacer.PerSecond(800))
	if _, err := setRate(t.Context(), r, nil, order{Rate: "900"}); !errors.Is(err, orders.ErrLeave) || status(err) != http.StatusConflict {
		t.Errorf("%v", err)
	}
	for _, o := range []order{{Rate: "800"}, {Rate: "900", Force: true}} {
		if done, err := setRate(t.Context(), r, nil, o); err != nil || !done.(run.Change).Changed {
			t.Errorf("%+v: %+v, %v", o, done, err)
		}
	}
}
