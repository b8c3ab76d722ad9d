package lease

// Period is how often a worker of so many calls, µs, where promises last for hold, µs. Four calls come in a promise, but none sooner than 0.5 s after another:
//
//	p = 10 ms · members, at least 0.5 s, at most max(1 s, members / 4,000 s)
func Period(members, hold int64) int64 {
	return max(500_000, min(10_000*members, max(1_000_000, 250*members), hold/4))
}

// Soon is how often a worker calls that waits for more pieces, µs: a fifth of a period apart, but of so many members no more than 2,000 in a second.
// When there is more it is told to call, but that message may be lost.
//
//	max(0.1 s, p/5, members / 2,000 s), at most p
func Soon(members, hold int64) int64 {
	p := Period(members, hold)
	return min(p, max(100_000, p/5, 500*members))
}
