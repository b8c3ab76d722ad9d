package spec

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// mixOf returns flows with so many steps each: weight, steps, weight, steps, …
func mixOf(numbers ...int64) (t targets.Spec) {
	for i := 0; i < len(numbers); i += 2 {
		t.Flows = append(t.Flows, targets.Flow{Weight: numbers[i], Steps: make([]targets.Step, numbers[i+1])})
	}
	return t
}

func TestFlowRate(t *testing.T) {
	for _, c := range []struct {
		mix      targets.Spec
		requests pacer.Rate
		want     string
	}{
		{targets.Spec{URL: "noop://"}, pacer.PerSecond(500), "500"},
		{mixOf(1, 1, 9, 1), pacer.Rate{Num: 7, Den: 3}, "7/3s"},
		{mixOf(1, 3, 9, 1), pacer.PerSecond(480), "400"},
		{mixOf(0, 3, 0, 1), pacer.PerSecond(5), "5/2s"}, // a weight of 0 is 1
		{mixOf(1, 3), pacer.PerSecond(100), "100/3s"},
		{mixOf(1, 3), pacer.PerSecond(0), "0"},
	} {
		got, err := FlowRate(c.mix, c.requests)
		if err != nil || got.String() != c.want {
			t.Errorf("%v of %+v: %v, %v, want %s", c.requests, c.mix, got, err, c.want)
		}
	}
	if _, err := FlowRate(mixOf(9999, 100, 10000, 99), pacer.Rate{Num: 1, Den: 999_983}); err == nil || !strings.Contains(err.Error(), "give a rounder rate") {
		t.Error(err)
	}
}

// TestRequestRate: from flows per second the requests per second come back exactly.
func TestRequestRate(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	exact := 0
	for range 2000 {
		mix := mixOf(1+r.Int64N(20), 1+r.Int64N(9), 1+r.Int64N(20), 1+r.Int64N(9))
		text := []string{"480", "1", "2.5k", "0.3", "30/m", "100M"}[r.IntN(6)]
		requests, err := pacer.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		flows, err := FlowRate(mix, requests)
		if err != nil {
			continue
		}
		exact++
		if back := RequestRate(mix, flows); back != requests {
			t.Fatalf("%+v: %v is %v flows, and back %v", mix, requests, flows, back)
		}
	}
	if exact < 1900 {
		t.Errorf("only %d rates are exact", exact)
	}
}

// TestRoundedFlowRates: a rate that is rounded is not above the one that was asked for, which --max-qps may be.
func TestRoundedFlowRates(t *testing.T) {
	mix, rounded := mixOf(9999, 100, 10000, 99), 0
	for n := range int64(50) {
		asked := pacer.Rate{Num: 1_000_000 + n, Den: 999_983}
		if _, err := FlowRate(mix, asked); err != nil {
			rounded++
		}
		if got := RequestRate(mix, NearFlowRate(mix, asked)).Float(); got > asked.Float() || got < asked.Float()-1e-3 {
			t.Errorf("%v: %v requests/s", asked, got)
		}
	}
	if rounded < 40 {
		t.Errorf("only %d rates are rounded", rounded)
	}
}
