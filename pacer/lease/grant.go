package lease

// Grant is what the limiter of a run has granted: permission to send some of the slots that a worker owns.
type Grant struct {
	Now   int64 // µs
	N     int64 // so many of those that were asked for
	Retry int64 // in how many µs one more may be granted; 0 = all were
	Burst int64 // how many a rested limiter lets through at once
}

// Terms are how the limiter of a run treats slots.
type Terms struct {
	Even     bool // what it grants leaves at the pace of the schedule, and nothing is made up for
	Together bool // nothing is granted ahead of time, and what is granted leaves together
	Strict   bool // without a grant nothing is sent, also while Redis is away
}
