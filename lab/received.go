//go:build linux

package main

import (
	"sync"
	"time"
)

// received records what the workers of a throng have received from Redis.
type received struct {
	mu       sync.Mutex
	have     map[int64]int // number of workers that have received each law, by its ID
	last     map[int64]time.Time
	answered map[int]bool // workers that were answered since forget
}

// law records that one more worker has received this law. A worker calls it once for each law.
func (r *received) law(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.have[id]++
	r.last[id] = time.Now()
}

// reply records that a worker was answered.
func (r *received) reply(worker int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered[worker] = true
}

// forget forgets which workers were answered.
func (r *received) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.answered)
}

// count returns how many workers were answered since forget.
func (r *received) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.answered)
}

// newest returns the newest law that any worker has received.
func (r *received) newest() (id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for have := range r.have {
		id = max(id, have)
	}
	return id
}

// after returns when the last of n workers received a law newer than id; false if fewer have.
func (r *received) after(id int64, n int) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for newer, have := range r.have {
		if newer > id && have >= n {
			return r.last[newer], true
		}
	}
	return time.Time{}, false
}
