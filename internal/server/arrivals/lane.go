package arrivals

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Sizes of the chunks that hold arrival times. The first is small, because a test may open thousands of connections;
// the largest bounds unused memory.
const (
	firstChunk = 64
	lastChunk  = 16 << 10
)

// A lane holds the records of one connection. Each connection has its own, so nobody else wants the lock when it
// records. When a connection ends, the next one continues its lane. So there are as many lanes as there were
// connections at the same time, however many came and went. With a Site a connection has a lane for each route that it
// has used.
type lane struct {
	route  int     // its index in the Site
	others []*lane // of the same connection, for routes 1, 2, …; nil if there was no request
	mu     sync.Mutex
	chunks [][]int64 // ns since the server began, ascending; all but the last are full
	taken  int64     // number of records no longer in chunks
	paths  map[string]*int64
}

// record notes one arrival, counts it in total, and returns total. Both happen under the lock, so total is always the
// sum over the lanes, even during Reset. A nil path is not counted by path.
func (l *lane) record(at int64, path []byte, total *atomic.Int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		size := firstChunk
		if last >= 0 {
			size = min(4*cap(l.chunks[last]), lastChunk)
		}
		// Chunks instead of one growing slice: nothing is copied, so no request waits for the copy of a million others.
		l.chunks = append(l.chunks, make([]int64, 0, size))
		last++
	}
	l.chunks[last] = append(l.chunks[last], at)
	if path != nil {
		l.addPath(path)
	}
	return total.Add(1)
}

// addPath counts one arrival under its path. The caller holds the lock.
func (l *lane) addPath(path []byte) {
	n := l.paths[string(path)] // this conversion does not allocate
	if n == nil {
		n = new(int64)
		if l.paths == nil {
			l.paths = make(map[string]*int64)
		}
		l.paths[string(path)] = n
	}
	*n++
}

// appendTimes appends every arrival, moved by offset ns. They are in order of arrival, even if several connections used
// the lane.
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

// take appends the arrivals up to a time, in ns since the server began, and forgets them. It keeps the last chunk for
// further arrivals, so a lane that is emptied often enough never allocates.
func (l *lane) take(to []int64, until int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := 0 // chunks taken completely
	for i, chunk := range l.chunks {
		n, _ := slices.BinarySearch(chunk, until+1)
		to = append(to, chunk[:n]...)
		l.taken += int64(n)
		if n < len(chunk) || i == len(l.chunks)-1 {
			l.chunks[i] = append(chunk[:0], chunk[n:]...)
			break
		}
		whole++
	}
	l.chunks = slices.Delete(l.chunks, 0, whole)
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

// reset forgets everything and subtracts it from total. The chunks go to the garbage collector: a test that resets has
// finished measuring.
func (l *lane) reset(total *atomic.Int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, chunk := range l.chunks {
		total.Add(-int64(len(chunk)))
	}
	total.Add(-l.taken)
	l.chunks, l.taken, l.paths = nil, 0, nil
}
