package arrivals

import (
	"sync"
	"sync/atomic"
)

// Sizes of the chunks arrival times are kept in. The first is small because a
// test may open thousands of connections; the largest bounds what is allocated
// but not used.
const (
	firstChunk = 64
	lastChunk  = 16 << 10
)

// A lane is what one connection recorded. Each connection has its own, so that
// recording takes a lock nobody else wants; when a connection ends, the next
// one goes on with its lane. So there are as many lanes as there ever were
// connections at the same time, however many came and went.
type lane struct {
	mu     sync.Mutex
	chunks [][]int64 // ns since the server began; all but the last are full
	paths  map[string]*int64
}

// record notes one arrival and counts it in total. Both happen under the lock,
// so total is always the sum over the lanes, also while Reset runs.
func (l *lane) record(at int64, path []byte, total *atomic.Int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		size := firstChunk
		if last >= 0 {
			size = min(4*cap(l.chunks[last]), lastChunk)
		}
		// Chunks instead of one growing slice: nothing is ever copied, so no
		// request waits for the copy of a million others.
		l.chunks = append(l.chunks, make([]int64, 0, size))
		last++
	}
	l.chunks[last] = append(l.chunks[last], at)
	n := l.paths[string(path)] // this conversion does not allocate
	if n == nil {
		n = new(int64)
		if l.paths == nil {
			l.paths = make(map[string]*int64)
		}
		l.paths[string(path)] = n
	}
	*n++
	total.Add(1)
}

// appendTimes appends every arrival, moved by offset ns. The order is that of
// arrival, also across the connections that used the lane.
func (l *lane) appendTimes(to []int64, offset int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, chunk := range l.chunks {
		for _, at := range chunk {
			to = append(to, at+offset)
		}
	}
	return to
}

// addPaths adds the counts per path to sum.
func (l *lane) addPaths(sum map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, n := range l.paths {
		sum[path] += *n
	}
}

// reset forgets everything, and takes it off total. The chunks go to the
// collector: a test that resets has measured, and is not in a hurry.
func (l *lane) reset(total *atomic.Int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, chunk := range l.chunks {
		total.Add(-int64(len(chunk)))
	}
	l.chunks, l.paths = nil, nil
}
