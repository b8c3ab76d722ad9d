package spec

import (
	"fmt"
	"math/big"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// steps returns the mean number of requests of a slot. The weight w of a flow with n steps gives
//
//	Σ w·n / Σ w
//
// over all flows; 1 without flows. The flows need not be valid yet, as Mix demands.
func steps(t targets.Spec) *big.Rat {
	var requests, slots int64
	for _, f := range t.Flows {
		weight := max(1, f.Weight)
		requests, slots = requests+weight*int64(len(f.Steps)), slots+weight
	}
	if slots == 0 {
		return big.NewRat(1, 1)
	}
	return big.NewRat(requests, slots)
}

// FlowRate returns the rate of slots that sends so many requests per second: the rate divided by the mean number of
// steps. It is exact. An error says that it would not be.
func FlowRate(t targets.Spec, requests pacer.Rate) (pacer.Rate, error) {
	mean := steps(t)
	r := big.NewRat(requests.Num, max(1, requests.Den))
	r.Quo(r, mean)
	flows, err := pacer.ParseRate(r.Num().String() + "/" + r.Denom().String() + "s")
	if err != nil {
		return requests, fmt.Errorf("%s requests/s are not an exact rate of flows, which have %s steps each on average; give a rounder rate",
			requests, mean.RatString())
	}
	return flows, nil
}

// RequestRate is the inverse of FlowRate: requests per second of so many slots per second.
func RequestRate(t targets.Spec, flows pacer.Rate) pacer.Rate {
	r := big.NewRat(flows.Num, max(1, flows.Den))
	r.Mul(r, steps(t)) // at most 100 · 10^8, over 10^6 · 10^8
	return pacer.Rate{Num: r.Num().Int64(), Den: r.Denom().Int64()}
}
