package worker

import "github.com/loadctl/loadctl/pacer"

// slot is a slot that is due and waits for a connection.
type slot struct {
	pacer.Slot       // Due in ns of the Redis clock
	local      int64 // the same, ns of the local clock
}

// waiting is a queue of slots, first in first out, in a ring of fixed size.
type waiting struct {
	ring    []slot
	head, n int
	refused int // the first of these found no free connection
}

func newWaiting(size int) waiting { return waiting{ring: make([]slot, size)} }

// push adds a slot. There must be room.
func (w *waiting) push(s slot) {
	i := w.head + w.n
	if i >= len(w.ring) {
		i -= len(w.ring)
	}
	w.ring[i] = s
	w.n++
}

// first returns the slot that has waited longest. There must be one.
func (w *waiting) first() *slot { return &w.ring[w.head] }

// refuse notes that no connection is free. It returns for how many slots that is new.
func (w *waiting) refuse() int64 {
	news := w.n - w.refused
	w.refused = w.n
	return int64(news)
}

// pop removes the first slot.
func (w *waiting) pop() {
	w.n--
	if w.refused > 0 {
		w.refused--
	}
	if w.head++; w.head == len(w.ring) {
		w.head = 0
	}
}

// keep removes the slots that are not wanted.
func (w *waiting) keep(wanted func(*pacer.Slot) bool) {
	n, refused := w.n, w.refused
	w.n, w.refused = 0, 0
	for i := range n {
		s := w.ring[(w.head+i)%len(w.ring)]
		if !wanted(&s.Slot) {
			continue
		}
		if i < refused {
			w.refused++
		}
		w.push(s)
	}
}

// refused counts n more slots for which there is no connection.
func (s *shard) refused(n int64) {
	if n == 0 || !s.connects {
		return // the reason is known from those before
	}
	if s.opens = s.opening != nil && s.opening(); s.opens {
		s.recorder.Opening(n)
	} else {
		s.recorder.Busy(n)
	}
}

// noRoom counts a slot that is dropped because as many slots as allowed wait or are in flight. If some wait for a
// connection, the reason is the same as theirs. Else more could have been sent.
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
