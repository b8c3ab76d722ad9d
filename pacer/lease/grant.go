package lease

// Grant is the answer of a run's limiter: permission to send some of the slots that a worker owns.
type Grant struct {
	Now   int64 // µs
	N     int64 // how many of the slots asked for are granted
	Retry int64 // in how many µs one more may be granted; 0 = all were
	Burst int64 // how many a rested limiter lets through at once
}

// Terms say how a run's limiter treats slots.
type Terms struct {
	Even     bool // granted slots leave at the pace of the schedule, and nothing is made up for
	Together bool // nothing is granted ahead of time, and granted slots leave together
	Strict   bool // nothing is sent without a grant, even while Redis is away
}
