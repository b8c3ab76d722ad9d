package worker

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// line is a queue of slots in the order of their due times. Most are added in that order. The zero value is empty.
type line struct {
	slots []pacer.Slot
	head  int
}

func (l *line) len() int { return len(l.slots) - l.head }

// at returns the i-th slot.
func (l *line) at(i int) *pacer.Slot { return &l.slots[l.head+i] }

// push adds a slot after those that are due no later.
func (l *line) push(x pacer.Slot) {
	if l.head > len(l.slots)/2 {
		l.slots = slices.Delete(l.slots, 0, l.head)
		l.head = 0
	}
	i := len(l.slots)
	for i > l.head && l.slots[i-1].Due > x.Due {
		i--
	}
	l.slots = slices.Insert(l.slots, i, x)
}

// pop removes the first slot.
func (l *line) pop() pacer.Slot {
	x := l.slots[l.head]
	if l.head++; l.head == len(l.slots) {
		l.slots, l.head = l.slots[:0], 0
	}
	return x
}

// filter removes the slots for which keep is false, and returns how many these were.
func (l *line) filter(keep func(*pacer.Slot) bool) int64 {
	n := l.len()
	l.slots = append(l.slots[:0], l.slots[l.head:]...)
	l.head = 0
	l.slots = slices.DeleteFunc(l.slots, func(x pacer.Slot) bool { return !keep(&x) })
	return int64(n - len(l.slots))
}

// delivery is what a granter gives a shard: slots to send, and how many other slots were not granted, recalled or
// beyond a cut.
type delivery struct {
	slots                       []pacer.Slot
	ungranted, recalled, beyond int64
}

func (d *delivery) empty() bool { return len(d.slots) == 0 && d.ungranted+d.recalled+d.beyond == 0 }

// granted is what a shard of a limited run was given.
type granted struct {
	posted atomic.Bool
	mu     sync.Mutex
	mail   delivery
	spare  []pacer.Slot // the shard's: the slice taken last, to be filled next

	line line // the shard's
}

// post hands over a delivery. Any goroutine may call it.
func (g *granted) post(d delivery) {
	g.mu.Lock()
	m := &g.mail
	m.slots = append(m.slots, d.slots...)
	m.ungranted, m.recalled, m.beyond = m.ungranted+d.ungranted, m.recalled+d.recalled, m.beyond+d.beyond
	g.mu.Unlock()
	g.posted.Store(true)
}

// take returns what was posted since the last call. Its slots are valid until the next call.
func (g *granted) take() delivery {
	if !g.posted.Swap(false) {
		return delivery{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.mail
	g.mail, g.spare = delivery{slots: g.spare[:0]}, taken.slots
	return taken
}

// maxGrantLead is longer than the time between any grant and the slot's due time, ns.
const maxGrantLead = int64(2 * time.Second)

// accept takes what was granted.
func (s *shard) accept() {
	d := s.granted.take()
	if d.empty() {
		return
	}
	for _, x := range d.slots {
		s.granted.line.push(x)
	}
	s.recorder.Ungranted(d.ungranted)
	s.recorder.Recalled(d.recalled)
	s.recorder.Beyond(d.beyond)
	s.rested = 0 // s.next is about what was held before
}
