package rights

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// A share is how many requests at a host the slots of a run make on average: requests / slots. Of a flow with conditions and
// loops it is the most that they may make.
type share struct {
	host            string
	requests, slots int64
}

// sharesOf returns the shares of a run at the hosts that it sends to, by name. A host in a URL counts, and so does another one
// that --connect-to puts in its place. A Unix socket has no budget, and redirects are not counted. Where each request has a
// slot, any of them may go to any host: which steps are ready decides.
func sharesOf(s spec.Spec) (all []share) {
	_, slots := s.Target.MeanSteps()
	requests := map[string]int64{}
	steps := s.Target.Steps()
	count := func(times []int64, weight int64) {
		for i, n := range times {
			for _, host := range hosts(steps[i]) {
				requests[host] += weight * n
			}
		}
		steps = steps[len(times):]
	}
	for _, f := range s.Target.Flows {
		count(f.Times(), max(1, f.Weight))
	}
	count(slices.Repeat([]int64{1}, len(steps)), 1) // without flows
	for _, host := range slices.Sorted(maps.Keys(requests)) {
		if s.Target.SlotEach() {
			requests[host] = slots
		}
		all = append(all, share{host, requests[host], slots})
	}
	return all
}

// hosts returns those of one step.
func hosts(one targets.Spec) (all []string) {
	named := one
	named.ConnectTo = nil
	for _, host := range append(one.Hosts(), named.Hosts()...) {
		if name := endpoint.Host(host); !strings.HasPrefix(host, "unix:") && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// need returns what a run reserves at the host for a peak of slots per 1,000,000 s: its requests there, and what its limiter
// may let pass in a second above them.
func (h share) need(s spec.Spec, burst, peak int64) int64 {
	if peak == 0 {
		return 0
	}
	slots := float64(peak)
	if s.HasLimiter() {
		steps := s.Target.StepsPerFlow()
		slots += s.Surge(slots/micro*steps, burst) / steps * micro
	}
	return int64(min(float64(reserve.Endless), math.Ceil(slots*float64(h.requests)/float64(h.slots))))
}

const micro = 1_000_000

// allow returns the highest peak that fits a right, slots per 1,000,000 s.
func (h share) allow(s spec.Spec, burst, right int64) int64 {
	if right >= reserve.Endless {
		return mostRate
	}
	return int64(sort.Search(int(mostRate), func(peak int) bool { return h.need(s, burst, int64(peak)+1) > right }))
}

// mostRate is the highest rate of a run, slots per 1,000,000 s.
const mostRate = 100_000_000 * lease.Unscaled
