package lease

// Period is how often a worker of so many calls, µs, where promises last for hold, µs. Four calls come in a promise, but none sooner than 0.5 s after another:
//
//	p = 10 ms · members, at least 0.5 s, at most max(1 s, members / 4,000 s)
func Period(members, hold int64) int64 {
	return max(500_000, min(10_000*members, max(1_000_000, 250*members), hold/4))
}
