package lease

// Period returns the time between two calls of a worker, µs. hold is how long leases last, µs. There are four calls
// in a lease, but at least 0.5 s between two:
//
//	p = 10 ms · members, at least 0.5 s, at most max(1 s, members / 4,000 s)
func Period(members, hold int64) int64 {
	return max(500_000, min(10_000*members, max(1_000_000, 250*members), hold/4))
}
