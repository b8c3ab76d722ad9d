package limit

// Option is a choice that only some limiters have; the others refuse it.
type Option struct {
	name  string
	value int64
}

// Burst is how many permits may come at once, 1 to 10⁹: for token bucket and GCRA what an idle time can save up, for the leaky bucket how
// many may wait. Without it that is the limit's Count.
func Burst(n int64) Option { return Option{"Burst", n} }

// Debt lets who finds one token in a token bucket take any number of them at once; those who come next wait until they are paid back.
func Debt() Option { return Option{"Debt", 1} }

// Parts is into how many parts a sliding window is cut, 1 to 1000. More are more exact, and cost memory and time. Without it there are 10.
func Parts(m int64) Option { return Option{"Parts", m} }

// ExpireNX has a fixed window set its key's lifetime by each grant, with PEXPIRE NX, and not only by the first. It needs Redis 7.0. Both
// do the same.
func ExpireNX() Option { return Option{"ExpireNX", 1} }
