//go:build linux

package main

import (
	"sync"
	"time"
)

// heard records what the workers of a throng have heard from Redis.
type heard struct {
	mu       sync.Mutex
	have     map[int64]int // number of workers that have heard of each law, by its ID
	last     map[int64]time.Time
	answered map[int]bool // workers that were answered since forget
}

// law records that one more worker has heard of this law. A worker calls it once for each law.
func (h *heard) law(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.have[id]++
	h.last[id] = time.Now()
}

// reply records that a worker was answered.
func (h *heard) reply(worker int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered[worker] = true
}

// forget forgets which workers were answered.
func (h *heard) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.answered)
}

// count returns how many workers were answered since forget.
func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.answered)
}

// newest returns the newest law that any worker has heard of.
func (h *heard) newest() (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for have := range h.have {
		id = max(id, have)
	}
	return id
}

// after returns when the last of n workers heard of a law newer than id; false if fewer have.
func (h *heard) after(id int64, n int) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for newer, have := range h.have {
		if newer > id && have >= n {
			return h.last[newer], true
		}
	}
	return time.Time{}, false
}
