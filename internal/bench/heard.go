//go:build linux

package main

import (
	"sync"
	"time"
)

// heard is what all workers have been told.
type heard struct {
	mu       sync.Mutex
	have     map[int64]int // workers by newest law
	last     map[int64]time.Time
	answered map[int]bool // workers, since forget
}

// law notes that a worker has this law, which it had not before.
func (h *heard) law(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.have[id]++
	h.last[id] = time.Now()
}

// reply notes that a worker was answered.
func (h *heard) reply(worker int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered[worker] = true
}

// forget begins to count anew who was answered.
func (h *heard) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.answered)
}

// count is how many workers were answered since forget.
func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.answered)
}

// newest is the highest law that some worker has.
func (h *heard) newest() (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for have := range h.have {
		id = max(id, have)
	}
	return id
}

// after is at what time the last of n workers heard of a law that is newer than another one.
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
