package worker

import (
	"sync"
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
)

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
