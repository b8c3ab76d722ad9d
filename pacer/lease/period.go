package lease

// Period returns the time between two calls of a worker, µs. hold is how long leases last, µs. There are four calls
// in a lease, but at least 0.5 s between two:
//
//	p = 10 ms · members, at least 0.5 s, at most max(1 s, members / 4,000 s)
func Period(members, hold int64) int64 {
	return max(500_000, min(10_000*members, max(1_000_000, 250*members), hold/4))
}

// Soon returns the time between two calls of a worker that waits for more ranges, µs. It is a fifth of a period, but
// all members together call at most 2,000 times a second. A message asks the worker to call when there is more, but
// that message may be lost.
//
//	max(0.1 s, p/5, members / 2,000 s), at most p
func Soon(members, hold int64) int64 {
	p := Period(members, hold)
	return min(p, max(100_000, p/5, 500*members))
}
