package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

const (
	seatedRate    = 100                    // a run of a closed loop with a concurrency has one request in flight in place of so many a second
	seatedLatency = 700 * time.Millisecond // longer than it takes to give up a range if nothing is in flight
)

// seatedSoon is how long after an event all is as it should be: a worker that leaves has had its answers, and those that stay
// have its seats.
const seatedSoon = 3 * time.Second

// allowed is how many requests may be in flight from a time on.
type allowed struct {
	at time.Duration
	n  int64
}

// seatedPieces is the plan that has a rate's number of requests in flight.
func seatedPieces(rate int64) []pacer.Piece {
	return []pacer.Piece{{R0: rate / seatedRate, R1: rate / seatedRate, Den: 1_000_000}}
}

// allow notes that n requests may be in flight from t on, µs of the Redis clock, whatever was to come then.
func (p *pair) allow(t, n int64) {
	at := p.since() + time.Duration(t-p.redis()-2)*time.Microsecond // clocks count µs, as in audit
	p.allowed = slices.DeleteFunc(p.allowed, func(a allowed) bool { return a.at >= at })
	p.allowed = append(p.allowed, allowed{at, n})
}

// most returns the highest number that was in force in the time before t.
func (p *pair) most(t, before time.Duration) (n int64) {
	for i, a := range p.allowed {
		if a.at <= t && (i+1 == len(p.allowed) || p.allowed[i+1].at >= t-before) {
			n = max(n, a.n)
		}
	}
	return n
}

// edge is a time at which requests begin or end.
type edge struct {
	at time.Duration
	n  int64
}

// edges returns when requests begin and end, in order. Those of a process that others take for dead do not count.
func (p *pair) edges() (all []edge) {
	for _, x := range p.sends {
		end := x.end
		if x.by.crashed > 0 { // the system closes its connections
			end = max(x.at, min(end, int64(x.by.crashed)))
		}
		if !x.by.ousted {
			all = append(all, edge{time.Duration(x.at), 1}, edge{time.Duration(end), -1})
		}
	}
	slices.SortFunc(all, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
	return all
}

// checkSeats asserts that no more requests are in flight than the concurrency. If nothing fails, as many are in flight soon after
// the last event.
func (p *pair) checkSeats(harm bool, last time.Duration) {
	// Requests in flight when the number falls end first. A worker that misses messages learns it when it calls next, or when its
	// lease ends.
	before := seatedLatency + 50*time.Millisecond
	if harm {
		before += time.Duration(p.plan.Hold)*time.Microsecond + 2*faultTime
	}
	n, ready := int64(0), last+seatedSoon
	all := p.edges()
	for i, e := range all {
		if n += e.n; n > p.most(e.at, before) {
			p.t.Errorf("%d requests are in flight at %v, at most %d may be", n, e.at, p.most(e.at, before))
			return
		}
		settled := i+1 < len(all) && all[i+1].at > e.at && e.at > ready && e.at < last+pairAfter
		if settled && !harm && n != p.most(e.at, 0) {
			p.t.Errorf("%d requests are in flight at %v, it should be %d", n, e.at, p.most(e.at, 0))
			return
		}
	}
}
