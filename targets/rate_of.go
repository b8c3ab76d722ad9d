package targets

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/targets/rows"
)

// What a slot is permission for, if flows have several steps.
const (
	RateOfFlows    = "flows"    // to begin a flow, whose later steps need none
	RateOfRequests = "requests" // for one request: the next step of a flow that waits, or the first one of another flow
)

// RatesOf returns what a slot may be permission for.
func RatesOf() []string { return []string{RateOfFlows, RateOfRequests} }

// SlotEach reports whether each request has a slot, also the later steps of flows.
func (s Spec) SlotEach() bool { return s.RateOf == RateOfRequests && s.Walks() }

// checkRateOf checks what a slot is permission for, and that each row that is used once gets a flow.
func (s Spec) checkRateOf() error {
	switch {
	case s.RateOf == "" || s.RateOf == RateOfFlows:
		return nil
	case s.RateOf != RateOfRequests:
		return fmt.Errorf("rate of %.20q: write one of %s", s.RateOf, strings.Join(RatesOf(), ", "))
	case !s.SlotEach():
		return nil
	}
	for _, d := range s.Data {
		if d.Pick == rows.Once {
			return fmt.Errorf("data: %s has pick=once, and with the rate of requests it is not known before which slots begin flows; take the rate of flows, or another pick, such as shuffle", d.Name)
		}
	}
	return nil
}
