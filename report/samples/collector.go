package samples

import (
	"math"
	"slices"
	"sync"
)

// A Collector keeps the samples of a worker. Any goroutine may use it.
type Collector struct {
	steps  []string // names by index
	salt   uint64
	limits Limits

	mu      sync.Mutex
	set     Set
	enough  int // samples, until some are forgotten
	bytes   int // of all samples
	changes int64
}

// A Chooser says which requests of one shard of a worker are worth keeping, and gives them to its Collector. It is for one
// goroutine.
type Chooser struct {
	to     *Collector
	traced func(ordinal uint64) bool // the endpoint is asked to record its trace; nil = of none
	seen   []*stepSeen               // by index of the step; equal names share one
}

// stepSeen is what Worth needs to know of a step. It outlives samples that Limits have pushed out: else their successors
// would cost time again and again.
type stepSeen struct {
	slow   bottom[int64]  // latencies, negated
	traced bottom[int64]  // the same of requests whose traces are recorded
	good   bottom[uint64] // keys
	failed map[string]*classSeen
}

// classSeen is what Worth needs to know of a class of failures.
type classSeen struct {
	firsts int
	random bottom[uint64] // keys
}

// NewCollector returns an empty Collector of a worker whose workload has steps with these names; none for one request. closed says
// that it is a closed loop.
func NewCollector(worker string, steps []string, closed bool, l Limits) *Collector {
	c := &Collector{steps: steps, limits: l, set: Set{Closed: closed}}
	if len(steps) == 0 {
		c.steps = []string{""}
	}
	if closed {
		c.salt = salt(worker)
	}
	return c
}

// Chooser returns a Chooser for one more shard. traced says of which requests the endpoint is asked to record the traces; nil =
// of none.
func (c *Collector) Chooser(traced func(ordinal uint64) bool) *Chooser {
	k, known := &Chooser{to: c, traced: traced}, map[string]*stepSeen{}
	for _, name := range c.steps {
		if known[name] == nil {
			known[name] = &stepSeen{slow: bottom[int64]{most: slowest}, traced: bottom[int64]{most: mostTraced}, good: bottom[uint64]{most: randoms}, failed: map[string]*classSeen{}}
		}
		k.seen = append(k.seen, known[name])
	}
	return k
}

// Worth reports whether a request is one to keep. latency is in ns. It takes no lock and allocates nothing.
func (k *Chooser) Worth(step int, class string, ordinal uint64, latency int64) bool {
	seen := k.seen[step]
	if seen.slow.admits(-latency) || k.traced != nil && seen.traced.admits(-latency) && k.traced(ordinal) {
		return true
	}
	if class == "" {
		return seen.good.admits(key(ordinal, k.to.salt))
	}
	c := seen.failed[class]
	if c == nil {
		return len(seen.failed) < mostClasses
	}
	return c.firsts < firsts || c.random.admits(key(ordinal, k.to.salt))
}

// Holds returns the latency in ns from which on a good request is worth keeping; 0 if it is worth that in any case.
func (k *Chooser) Holds(step int, ordinal uint64) int64 {
	if k.Worth(step, "", ordinal, math.MinInt64+1) {
		return 0
	}
	seen := k.seen[step]
	from := 1 - seen.slow.values[slowest-1]
	if k.traced != nil && k.traced(ordinal) {
		from = min(from, 1-seen.traced.values[mostTraced-1])
	}
	return from
}

// Add keeps a sample of the step with this index, and forgets those that are less worth.
func (k *Chooser) Add(step int, s Sample) {
	k.note(k.seen[step], &s)
	k.to.add(s)
}

// add keeps a sample.
func (c *Collector) add(s Sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.set.Samples = append(c.set.Samples, s)
	c.bytes += s.size()
	if len(c.set.Samples) > c.enough || c.limits.Bytes > 0 && c.bytes > c.limits.Bytes*5/4 {
		c.tidy()
	}
}

// tidy forgets what is not kept. That takes as long as many requests, so it waits until there is much to forget.
func (c *Collector) tidy() {
	c.set = c.set.Within(c.limits)
	c.enough, c.bytes = 2*len(c.set.Samples)+tidied, 0
	for i := range c.set.Samples {
		c.bytes += c.set.Samples[i].size()
	}
}

// tidied is how many samples may come, at least, until some are forgotten.
const tidied = 32

// note notes what the next requests have to surpass.
func (k *Chooser) note(seen *stepSeen, s *Sample) {
	seen.slow.add(-s.Latency)
	if s.Traced {
		seen.traced.add(-s.Latency)
	}
	if s.Class == "" {
		seen.good.add(key(s.Ordinal, k.to.salt))
		return
	}
	c := seen.failed[s.Class]
	if c == nil {
		c = &classSeen{random: bottom[uint64]{most: randoms}}
		seen.failed[s.Class] = c
	}
	c.firsts++
	c.random.add(key(s.Ordinal, k.to.salt))
}

// mostClasses bounds the classes of failures of a step: servers choose some of their names.
const mostClasses = 64

// A bottom holds the smallest of all values, in order.
type bottom[T int64 | uint64] struct {
	most   int
	values []T
}

// admits reports whether a value would be among them.
func (b *bottom[T]) admits(v T) bool { return len(b.values) < b.most || v < b.values[b.most-1] }

func (b *bottom[T]) add(v T) {
	if !b.admits(v) {
		return
	}
	i, _ := slices.BinarySearch(b.values, v)
	b.values = slices.Insert(b.values, i, v)[:min(len(b.values)+1, b.most)]
}

// Set returns what is kept, and how often it has changed. The samples must not be changed.
func (c *Collector) Set() (Set, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
	return c.set, c.changes
}
