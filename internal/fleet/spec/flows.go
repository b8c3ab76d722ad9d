package spec

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// steps returns the mean number of requests of a slot.
func steps(t targets.Spec) *big.Rat {
	return big.NewRat(t.MeanSteps())
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

// flows returns a curve of slots for one of requests: all rates divided by the mean number of steps. A rate that is not
// exact is rounded down to a millionth of a slot per second, so that it stays below --max-qps.
func flows(t targets.Spec, p pacer.Profile) pacer.Profile {
	if !t.Walks() {
		return p
	}
	p.Segments = slices.Clone(p.Segments)
	for i := range p.Segments {
		p.Segments[i].From, p.Segments[i].To = NearFlowRate(t, p.Segments[i].From), NearFlowRate(t, p.Segments[i].To)
	}
	return p
}

// NearFlowRate is FlowRate, or a rate rounded down to a millionth of a slot per second if that is not exact.
func NearFlowRate(t targets.Spec, requests pacer.Rate) pacer.Rate {
	exact, err := FlowRate(t, requests)
	if err == nil {
		return exact
	}
	const den = 1_000_000
	r := big.NewRat(requests.Num, max(1, requests.Den))
	r.Mul(r.Quo(r, steps(t)), big.NewRat(den, 1))
	return pacer.Rate{Num: new(big.Int).Quo(r.Num(), r.Denom()).Int64(), Den: den}
}

// RequestRate is the inverse of FlowRate: requests per second of so many slots per second.
func RequestRate(t targets.Spec, flows pacer.Rate) pacer.Rate {
	r := big.NewRat(flows.Num, max(1, flows.Den))
	r.Mul(r, steps(t)) // at most 100 · 10^8, over 10^6 · 10^8
	return pacer.Rate{Num: r.Num().Int64(), Den: r.Denom().Int64()}
}

// requestsOf returns how many requests the first slots send.
func (s Spec) requestsOf(slots int64) int64 {
	if slots == 0 || !s.Target.Walks() {
		return slots
	}
	return s.Target.Mix().Requests(slots)
}
