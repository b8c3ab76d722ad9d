package samples

import (
	"math"
	"slices"
	"sync"
)

// A Collector chooses the samples of one shard of a worker. One goroutine calls Worth and Add; any may call Set.
type Collector struct {
	salt   uint64
	limits Limits
	seen   []*stepSeen // by index of the step; equal names share one

	mu      sync.Mutex
	set     Set
	enough  int // samples, until some are forgotten
	bytes   int // of all samples
	changes int64
}

// stepSeen is what Worth needs to know of a step. It outlives samples that Limits have pushed out: else their successors
// would cost time again and again.
type stepSeen struct {
	slow   bottom[int64]  // latencies, negated
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
	k := &Collector{limits: l, set: Set{Closed: closed}}
	if closed {
		k.salt = salt(worker)
	}
	if len(steps) == 0 {
		steps = []string{""}
	}
	known := map[string]*stepSeen{}
	for _, name := range steps {
		if known[name] == nil {
			known[name] = &stepSeen{slow: bottom[int64]{most: slowest}, good: bottom[uint64]{most: randoms}, failed: map[string]*classSeen{}}
		}
		k.seen = append(k.seen, known[name])
	}
	return k
}

// Worth reports whether a request is one to keep. latency is in ns. It takes no lock and allocates nothing.
func (k *Collector) Worth(step int, class string, ordinal uint64, latency int64) bool {
	seen := k.seen[step]
	if seen.slow.admits(-latency) {
		return true
	}
	if class == "" {
		return seen.good.admits(key(ordinal, k.salt))
	}
	c := seen.failed[class]
	return c == nil || c.firsts < firsts || c.random.admits(key(ordinal, k.salt))
}

// Holds returns the latency in ns from which on a good request is worth keeping; 0 if it is worth that in any case.
func (k *Collector) Holds(step int, ordinal uint64) int64 {
	slow := &k.seen[step].slow
	if k.Worth(step, "", ordinal, math.MinInt64+1) {
		return 0
	}
	return 1 - slow.values[slow.most-1]
}

// Add keeps a sample of the step with this index, and forgets those that are less worth.
func (k *Collector) Add(step int, s Sample) {
	k.note(k.seen[step], &s)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.set.Samples = append(k.set.Samples, s)
	k.bytes += s.size()
	if len(k.set.Samples) > k.enough || k.limits.Bytes > 0 && k.bytes > k.limits.Bytes*5/4 {
		k.tidy()
	}
}

// tidy forgets what is not kept. That takes as long as many requests, so it waits until there is much to forget.
func (k *Collector) tidy() {
	k.set = k.set.Within(k.limits)
	k.enough, k.bytes = 2*len(k.set.Samples)+tidied, 0
	for i := range k.set.Samples {
		k.bytes += k.set.Samples[i].size()
	}
}

// tidied is how many samples may come, at least, until some are forgotten.
const tidied = 32

// note notes what the next requests have to surpass.
func (k *Collector) note(seen *stepSeen, s *Sample) {
	seen.slow.add(-s.Latency)
	if s.Class == "" {
		seen.good.add(key(s.Ordinal, k.salt))
		return
	}
	c := seen.failed[s.Class]
	if c == nil {
		c = &classSeen{random: bottom[uint64]{most: randoms}}
		seen.failed[s.Class] = c
	}
	c.firsts++
	c.random.add(key(s.Ordinal, k.salt))
}

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
func (k *Collector) Set() (Set, int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tidy()
	return k.set, k.changes
}
