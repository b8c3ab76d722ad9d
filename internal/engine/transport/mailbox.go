package transport

import (
	"sync"
	"sync/atomic"
)

// A mailbox holds what goroutines report, until the loop takes it. T is all reports together; its zero value is none.
type mailbox[T any] struct {
	mu      sync.Mutex
	reports T
	some    atomic.Bool // spares the loop the lock
}

// put adds to the reports, under the lock. Any goroutine may call it. It does not wake the loop.
func (m *mailbox[T]) put(add func(*T)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.reports)
	m.some.Store(true)
}

// Take returns what was reported since the last call.
func (m *mailbox[T]) Take() (all T) {
	if !m.some.Load() {
		return all
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all, m.reports = m.reports, all
	m.some.Store(false)
	return all
}
