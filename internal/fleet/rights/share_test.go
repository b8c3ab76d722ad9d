package rights

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/targets"
)

func flow(weight int64, urls ...string) targets.Flow {
	f := targets.Flow{Name: fmt.Sprint(urls, weight), Weight: weight}
	for i, url := range urls {
		f.Steps = append(f.Steps, targets.Step{Name: fmt.Sprint(i), URL: url})
	}
	return f
}

// TestSharesOf asserts how many requests of a slot go to each host, by the weights of the flows.
func TestSharesOf(t *testing.T) {
	for _, c := range []struct {
		target targets.Spec
		want   []share
	}{
		{targets.Spec{URL: "http://API.Example.com/"}, []share{{"api.example.com:80", 1, 1}}},
		{targets.Spec{URL: "https://[0:0::1]:8443/a"}, []share{{"[::1]:8443", 1, 1}}},
		{targets.Spec{URL: "tcp://a:9"}, []share{{"a:9", 1, 1}}},
		{targets.Spec{URL: "noop://"}, nil},
		{targets.Spec{URL: "http://a/", UnixSocket: "/run/x"}, nil},
		{targets.Spec{URL: "http://a/", ConnectTo: []string{"a:80:b:81"}}, []share{{"a:80", 1, 1}, {"b:81", 1, 1}}},
		{targets.Spec{Flows: []targets.Flow{flow(3, "http://a/", "http://a/x", "http://b/"), flow(1, "http://b/")}}, []share{{"a:80", 6, 4}, {"b:80", 4, 4}}},
		{targets.Spec{RateOf: targets.RateOfRequests, Flows: []targets.Flow{flow(3, "http://a/", "http://a/x", "http://b/"), flow(1, "http://b/")}}, []share{{"a:80", 1, 1}, {"b:80", 1, 1}}},
	} {
		if got := sharesOf(spec.Spec{Target: c.target}); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %v, want %v", c.target, got, c.want)
		}
	}
}

// TestAllow asserts that a right allows the highest peak that needs no more than it, whatever the limiter lets pass above.
func TestAllow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	specs := []spec.Spec{{}, {Limiter: "gcra", Burst: 7}, {Limiter: "token-bucket"}, {Limiter: "sliding-log", Window: 10 * time.Second}, {Limiter: "fixed-window"}}
	for range 2000 {
		s, h := specs[rng.IntN(len(specs))], share{"a:80", 1 + rng.Int64N(9), 1 + rng.Int64N(9)}
		right := rng.Int64N([]int64{10, 1_000_000, 100_000_000_000}[rng.IntN(3)])
		peak := h.allow(s, s.Burst, right)
		if n := h.need(s, s.Burst, peak); n > right {
			t.Fatalf("%+v of %+v: a right to %d allows %d, which needs %d", h, s, right, peak, n)
		}
		if n := h.need(s, s.Burst, peak+1); n <= right {
			t.Fatalf("%+v of %+v: a right to %d allows only %d, and %d needs %d", h, s, right, peak, peak+1, n)
		}
	}
	if got := (share{"a:80", 2, 1}).allow(spec.Spec{}, 0, reserve.Endless); got != mostRate {
		t.Errorf("a right without an end allows %d", got)
	}
	if got := (share{"a:80", 1, 1}).allow(spec.Spec{Limiter: "token-bucket", Debt: true}, 0, 100); got != 0 {
		t.Errorf("a limiter that lets any number pass is allowed %d", got)
	}
}
