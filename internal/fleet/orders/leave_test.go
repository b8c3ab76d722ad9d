package orders_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/member/membertest"
	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// created is a run at 100/s that a test has to itself.
func created(t *testing.T, client rdb.Client, change func(*spec.Spec)) *run.Run {
	t.Helper()
	s := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(100), MaxLag: time.Second, MinWorkers: 1, PermitFor: spec.MaxPermitFor}
	change(&s)
	r, _, err := run.Create(t.Context(), client, "x", s, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// says checks the error of a change: "" = all workers stay.
func says(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (!errors.Is(err, orders.ErrLeave) || !strings.HasPrefix(err.Error(), want)) {
		t.Errorf("%v, want %q", err, want)
	}
}

// at is StayAt for a rate.
func at(t *testing.T, r *run.Run, rate string) error {
	t.Helper()
	order, err := orders.ParseRate(rate, "")
	if err != nil {
		t.Fatal(err)
	}
	return orders.StayAt(t.Context(), r, order)
}

// TestStayAt: the error names those that would leave, and nobody else. What counts is the rate of the whole cluster.
func TestStayAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		r := created(t, client, func(*spec.Spec) {})
		says(t, at(t, r, "1M"), "") // there is nobody
		low := membertest.Join(t, r, "low", pacer.PerSecond(800))
		membertest.Join(t, r, "any", pacer.Rate{})
		membertest.Join(t, r, "high", pacer.PerSecond(900))
		says(t, at(t, r, "800"), "")
		says(t, at(t, r, "800.5"), "set-rate x: low (--max-qps 800) would leave the run, because it would ask for 800.5/s; ")
		says(t, at(t, r, "1k"), "set-rate x: high (--max-qps 900), low (--max-qps 800) would leave the run, because it would ask for 1000/s; ")
		low.Leave()
		low.Halt(time.Now().UnixMicro())
		if _, err := r.Leases(client).Renew(t.Context(), low.Call()); err != nil {
			t.Fatal(err)
		}
		says(t, at(t, r, "850"), "")
		for i := range 12 {
			membertest.Join(t, r, fmt.Sprintf("w%02d", i), pacer.PerSecond(500))
		}
		err := at(t, r, "850")
		says(t, err, "set-rate x: w00 (--max-qps 500), w01 ")
		if err == nil || !strings.Contains(err.Error(), "w09 (--max-qps 500) and 2 more would leave") || !strings.HasSuffix(err.Error(), "; keep to --max-qps, or go on without them: loadctl set-rate --force") {
			t.Error(err)
		}
		if _, err := r.Abort(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		says(t, at(t, r, "850"), "") // nobody leaves a run that is over
	})
}

// TestStayWith: what a limiter may let pass in a second counts, as workers count it.
func TestStayWith(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		r := created(t, client, func(s *spec.Spec) { s.Limiter, s.Burst = "token-bucket", 50 })
		membertest.Join(t, r, "w", pacer.PerSecond(200))
		says(t, at(t, r, "150"), "")
		says(t, at(t, r, "151"), "set-rate x: w (--max-qps 200) would leave the run, because it would ask for 151/s, and its limiter may let 50 more pass in a second; ")
		says(t, orders.StayWith(t.Context(), r, 100), "")
		says(t, orders.StayWith(t.Context(), r, 101), "set-burst x: w (--max-qps 200) would leave the run, because it would ask for 100/s, and its limiter may let 101 more pass in a second; ")
	})
}
