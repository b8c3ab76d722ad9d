package limit

// Option is a choice that only some limiters have. The others refuse it.
type Option struct {
	name  string
	value int64
}

// Burst is how many permits may come at once, 1 to 10⁹. For token bucket and GCRA it is what an idle time can save
// up. For the leaky bucket it is how many may wait. The default is the limit's Count.
func Burst(n int64) Option { return Option{"Burst", n} }

// Debt allows a caller that finds one token in a token bucket to take any number of them at once. The next callers
// wait until they are paid back.
func Debt() Option { return Option{"Debt", 1} }

// Parts is the number of parts of a sliding window, 1 to 1000. More parts are more exact, and cost memory and time.
// The default is 10.
func Parts(m int64) Option { return Option{"Parts", m} }

// ExpireNX makes a fixed window set its key's lifetime by each grant, with PEXPIRE NX, and not only by the first. It
// needs Redis 7.0. Both do the same.
func ExpireNX() Option { return Option{"ExpireNX", 1} }
