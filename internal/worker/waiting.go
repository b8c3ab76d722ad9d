package worker

import "github.com/loadctl/loadctl/pacer"

// slot is one that is due and waits for a connection.
type slot struct {
	pacer.Slot       // Due in ns of the Redis clock
	local      int64 // the same, ns of the local clock
}

// waiting is a queue of slots, first in first out, in a ring of fixed size.
type waiting struct {
	ring    []slot
	head, n int
	refused int // of these, the first so many found no connection free
}

func newWaiting(size int) waiting { return waiting{ring: make([]slot, size)} }

// push adds a slot; there must be room.
func (w *waiting) push(s slot) {
	i := w.head + w.n
	if i >= len(w.ring) {
		i -= len(w.ring)
	}
	w.ring[i] = s
	w.n++
}

// first is the slot that has waited longest; there must be one.
func (w *waiting) first() *slot { return &w.ring[w.head] }

// refuse notes that there is no connection free. It returns for how many that is news.
func (w *waiting) refuse() int64 {
	news := w.n - w.refused
	w.refused = w.n
	return int64(news)
}

// pop forgets the first.
func (w *waiting) pop() {
	w.n--
	if w.refused > 0 {
		w.refused--
	}
	if w.head++; w.head == len(w.ring) {
		w.head = 0
	}
}

// opener is a Client that can tell why it refused a request.
type opener interface {
	// Opening tells whether the last Send was refused because as many connections are being opened as may be at once, and not because
	// all are busy. Whoever may call Send may call it.
	Opening() bool
}

// connector is a Client, or a Target, that can tell whether its requests go over connections; one that cannot is taken to have them.
type connector interface{ Connects() bool }

// Connects implements connector for the Target. Without connections there are only goroutines, and that none was free is not told as a
// lack of connections.
func (a *Adapter) Connects() bool {
	t, tells := a.target.(connector)
	return !tells || t.Connects()
}

// refused counts n more slots for which there is no connection.
func (s *shard) refused(n int64) {
	if n == 0 || !s.connects {
		return // nor is it asked again why: the reason is that of those that came before
	}
	if s.opens = s.opening != nil && s.opening(); s.opens {
		s.recorder.Opening(n)
	} else {
		s.recorder.Busy(n)
	}
}

// noRoom counts a slot that is dropped because as many as may be wait and are in flight. If some wait for a connection, then for the
// same reason as they do; else more could have been sent.
func (s *shard) noRoom() {
	switch {
	case !s.connects && s.waiting.refused > 0: // as in refused
	case s.waiting.refused == 0:
		s.recorder.NoRoom(1)
	case s.opens:
		s.recorder.Opening(1)
	default:
		s.recorder.Busy(1)
	}
}
