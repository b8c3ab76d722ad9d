package arrivals

import (
	"fmt"
	"sync"
	"time"
)

// Bounds of Options.Capacity and Options.ServiceTime, and of the number of waiting requests. Within them no time
// overflows, and a queue takes at most 8 MB.
const (
	MaxCapacity    = 1_000_000
	MaxServiceTime = time.Hour
	QueueLimit     = 1 << 16
)

// A queue is c servers in parallel that share one queue, first come, first
// served. Each request keeps one server busy for the same time D. Request k
// arrives at a(k), begins at s(k) and is done at d(k):
//
//	s(k) = max(a(k), d(k−c))
//	d(k) = s(k) + D
//
// So it remembers only the last c values of d, uses no timer, and has a capacity of exactly c/D. With Poisson arrivals
// it is the M/D/c queue.
//
// A request that finds QueueLimit others waiting is refused: a wait of w means that c·w/D others are ahead. A client
// that gives up leaves its request in the queue, as with a server that does not notice.
//
// It is safe for concurrent use; nil serves at once.
type queue struct {
	service int64 // D, in ns
	longest int64 // the longest wait, in ns

	mu   sync.Mutex
	done []int64 // d of the last c requests, in ns since the server began, a ring
	next int     // index of d(k−c), which d(k) replaces
}

// newQueue returns nil if the capacity is not limited.
func newQueue(capacity int, service time.Duration) *queue {
	if capacity == 0 {
		return nil
	}
	return &queue{
		service: int64(service),
		longest: max(int64(service), QueueLimit*int64(service)/int64(capacity)),
		done:    make([]int64, capacity),
	}
}

// enter adds a request that arrived at, in ns since the server began, and returns when it will be done; false if the
// queue is full.
func (q *queue) enter(at int64) (done int64, ok bool) {
	if q == nil {
		return at, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	start := max(at, q.done[q.next])
	if start-at > q.longest {
		return at, false
	}
	done = start + q.service
	q.done[q.next] = done
	q.next = (q.next + 1) % len(q.done)
	return done, true
}

// checkQueue returns an error if the options of a queue are invalid.
func (o *Options) checkQueue() error {
	switch {
	case o.Capacity < 0 || o.Capacity > MaxCapacity:
		return fmt.Errorf("capacity %d is not between 0 and %d", o.Capacity, MaxCapacity)
	case o.Capacity > 0 && (o.ServiceTime <= 0 || o.ServiceTime > MaxServiceTime):
		return fmt.Errorf("service time %v is not above 0 and at most %v", o.ServiceTime, MaxServiceTime)
	}
	return nil
}
