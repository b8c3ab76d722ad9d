//go:build !linux || portable

package sockets

import (
	"slices"
	"sync"
	"time"
)

// A Poller waits for events or a time. Its lock is that of its sockets too.
type Poller struct {
	mu     sync.Mutex
	ready  []*pipe // with events that no look has taken
	taken  []taken
	wakeup chan struct{} // has room for one: there is an event, or the loop is wanted
	timer  *time.Timer
}

// A taken event is one of the last look, of the socket of a conn.
type taken struct {
	index int32
	what  Event
}

// Open opens the poller.
func (p *Poller) Open() error {
	p.wakeup, p.timer = make(chan struct{}, 1), time.NewTimer(time.Hour)
	return nil
}

// post reports an event of a socket. The lock is held.
func (p *Poller) post(s *pipe, what Event) {
	if s.muted {
		return
	}
	if s.events == 0 {
		p.ready = append(p.ready, s)
	}
	s.events |= what
	p.interrupt()
}

// forget takes back the events of a socket. The lock is held.
func (p *Poller) forget(s *pipe) {
	s.muted, s.events = true, 0
	p.ready = slices.DeleteFunc(p.ready, func(other *pipe) bool { return other == s })
}

// Look takes the events that there are, and returns how many.
func (p *Poller) Look() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = p.taken[:0]
	for _, s := range p.ready {
		p.taken = append(p.taken, taken{s.index, s.events})
		s.events = 0
	}
	clear(p.ready)
	p.ready = p.ready[:0]
	return len(p.taken), nil
}

// Event returns the i-th event of the last look or wait, and the index of its socket.
func (p *Poller) Event(i int) (index int32, what Event) { return p.taken[i].index, p.taken[i].what }

// Wait waits for events for at most ns; it may return early without any.
func (p *Poller) Wait(ns int64) (int, error) {
	p.timer.Reset(time.Duration(ns))
	select {
	case <-p.wakeup: // may be for something that was taken already
	case <-p.timer.C:
	}
	return p.Look()
}

// interrupt ends a wait, or the next one. Any goroutine may call it, at any time.
func (p *Poller) interrupt() {
	select {
	case p.wakeup <- struct{}{}:
	default: // it is signaled already
	}
}

// Close closes the poller. It may still be interrupted.
func (p *Poller) Close() { p.timer.Stop() }
