package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/screen"
	"github.com/loadctl/loadctl/internal/fleet/member/membertest"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// TestScreenKeepsWorkers: the keys of the screen set no rate at which workers leave.
func TestScreenKeepsWorkers(t *testing.T) {
	s := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: time.Second, MinWorkers: 1, PermitFor: spec.MaxPermitFor}
	r, _, err := run.Create(t.Context(), redistest.Start(t).Client(), "x", s, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	membertest.Join(t, r, "w", pacer.PerSecond(800))
	if said, err := give(t.Context(), r, screen.Order{Command: "set-rate", Rate: "900"}); !errors.Is(err, orders.ErrLeave) {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := give(t.Context(), r, screen.Order{Command: "set-rate", Rate: "800"}); err != nil || said == "set-rate 800: nothing to change" {
		t.Errorf("%q, %v", said, err)
	}
}
