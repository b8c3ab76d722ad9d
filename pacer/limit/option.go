package limit

// Option is a choice. Burst, Debt, Parts and ExpireNX are of some limiters only: the others refuse them.
type Option struct {
	name  string
	value int64
	apply func(*Set) error // of the options that each set may have
}

// Burst is how many permits may come at once, 1 to 10⁹. For token bucket and GCRA it is what an idle time can save
// up. For the leaky bucket it is how many may wait. The default is the limit's Count.
func Burst(n int64) Option { return Option{name: "Burst", value: n} }

// Debt allows a caller that finds one token in a token bucket to take any number of them at once. The next callers
// wait until they are paid back.
func Debt() Option { return Option{name: "Debt", value: 1} }

// Parts is the number of parts of a sliding window, 1 to 1000. More parts are more exact, and cost memory and time.
// The default is 10.
func Parts(m int64) Option { return Option{name: "Parts", value: m} }

// ExpireNX makes a fixed window set its key's lifetime by each grant, with PEXPIRE NX, and not only by the first. It
// needs Redis 7.0. Both do the same.
func ExpireNX() Option { return Option{name: "ExpireNX", value: 1} }

// PerKey gives each key of a set a limit of its own, such as that of a user's plan. The function must be fast, safe for
// concurrent use, and the same in all processes. A Burst among the options does not count.
func PerKey(f func(key string) Limit) Option {
	return Option{name: "PerKey", apply: func(s *Set) error { s.rules[0].of = f; return nil }}
}
