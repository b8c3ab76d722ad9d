package worker

import (
	"sync"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
)

// held is a shard's part of the leased ranges that is not yet due. They overlap in time, at a rate change or
// where a frame was leased in several calls, and there are a few of them, so the next slot is found by looking at each.
type held struct {
	cursors []pacer.Cursor
}

// add takes a cursor over; one without slots is ignored.
func (h *held) add(c pacer.Cursor) {
	if c.Ok() {
		h.cursors = append(h.cursors, c)
	}
}

// next is the cursor that stands on the slot least due, or nil. It is valid until the next call of a method.
func (h *held) next() *pacer.Cursor {
	var least *pacer.Cursor
	for i := range h.cursors {
		if c := &h.cursors[i]; least == nil || c.Due() < least.Due() {
			least = c
		}
	}
	return least
}

// advance moves c, which next returned, to its next slot, and forgets it at its end.
func (h *held) advance(c *pacer.Cursor) {
	if c.Next(); c.Ok() {
		return
	}
	last := len(h.cursors) - 1
	*c = h.cursors[last]
	h.cursors = h.cursors[:last]
}

// mailbox hands ranges from the Leaser's goroutine to a shard's. The shard looks at the flag each turn and takes
// the lock only when something has come, some ten times a second.
type mailbox struct {
	posted atomic.Bool
	mu     sync.Mutex
	ranges []pacer.Range
	spare  []pacer.Range // the shard's: the slice taken last, to be filled next
}

func (m *mailbox) post(r pacer.Range) {
	m.mu.Lock()
	m.ranges = append(m.ranges, r)
	m.mu.Unlock()
	m.posted.Store(true)
}

// take returns what was posted since the last call. The slice is valid until the next one.
func (m *mailbox) take() []pacer.Range {
	if !m.posted.Swap(false) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.ranges
	m.ranges, m.spare = m.spare[:0], taken
	return taken
}
