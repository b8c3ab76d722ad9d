package targets

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A threePool has the connections of HTTP/3 of one target, or of all steps of a workload. What pool does with connections
// that carry one request, it does with those that carry several: there are max places, at most dials connections are
// dialled at the same time, and the one used last is taken first. It is safe for concurrent use.
type threePool struct {
	max     int // places; 0 = no limit
	dials   int // at the same time; 0 = no limit
	streams int // requests at a time on a connection
	dialer  *threeDialer

	mu       sync.Mutex
	closed   bool
	places   int             // in use
	dialling int             // of these, being dialled
	ready    []*threeSession // with room for another request, the longest unused first
	waiting  []*threeWaiter  // the longest waiting first
}

// A threeWaiter is a request that waits for a session with an endpoint.
type threeWaiter struct {
	to   endpoint
	turn chan *lane // nil sent = a place to dial; closed = there are no more connections
}

// newThreePool returns an empty pool.
func newThreePool(s Spec, local Local, secure *dialer) *threePool {
	return &threePool{max: local.MaxConnections, dials: dialsAtOnce, streams: s.streams(), dialer: newThreeDialer(s, secure)}
}

// take returns a lane of a connection to an endpoint, reused or new. If all are busy, it waits for one until deadline.
func (p *threePool) take(ctx context.Context, deadline time.Time, to endpoint) (l *lane, reused bool, err error) {
	l, over, err := p.acquire(ctx, deadline, to)
	for _, s := range over {
		s.close()
	}
	if l != nil || err != nil {
		return l, l != nil, err
	}
	l, err = p.open(ctx, deadline, to)
	return l, false, err
}

// acquire returns a lane, or nil if it took a place to dial. The caller closes the sessions that are over.
func (p *threePool) acquire(ctx context.Context, deadline time.Time, to endpoint) (l *lane, over []*threeSession, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, nil, errClosed
	}
	for i, s := range slices.Backward(p.ready) {
		if !s.usable() {
			p.ready = slices.Delete(p.ready, i, i+1)
			if s.dead = true; s.active == 0 {
				p.places--
				over = append(over, s)
			}
			continue
		}
		if s.to == to {
			l = p.enter(s)
			break
		}
	}
	if l == nil && !p.place() {
		s := p.evict(to)
		if s == nil {
			w := &threeWaiter{to, make(chan *lane, 1)}
			p.waiting = append(p.waiting, w)
			p.mu.Unlock()
			l, err = p.wait(ctx, deadline, w)
			return l, over, err
		}
		over = append(over, s)
	}
	p.admit()
	p.mu.Unlock()
	return l, over, nil
}

// enter begins a request on a session that has room. The lock is held.
func (p *threePool) enter(s *threeSession) *lane {
	if s.active++; s.active == p.streams {
		if i := slices.Index(p.ready, s); i >= 0 {
			p.ready = slices.Delete(p.ready, i, i+1)
		}
	}
	return s.lane()
}

// evict turns the place of an idle session that leads elsewhere into one to dial in; nil if there is none, or if the
// maximum is being dialled. The lock is held.
func (p *threePool) evict(to endpoint) *threeSession {
	if p.max == 0 || p.places < p.max || p.dialsMost() {
		return nil
	}
	i := slices.IndexFunc(p.ready, func(s *threeSession) bool { return s.active == 0 && s.to != to })
	if i < 0 {
		return nil
	}
	s := p.ready[i]
	p.ready = slices.Delete(p.ready, i, i+1)
	p.dialling++
	return s
}

// open dials in a place that the caller holds, and begins a request.
func (p *threePool) open(ctx context.Context, deadline time.Time, to endpoint) (*lane, error) {
	s, err := p.dialer.dial(ctx, deadline, to)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialling--
	if err != nil {
		p.places--
		p.admit()
		if p.closed && p.places == 0 {
			p.dialer.close()
		}
		return nil, err
	}
	p.ready = append(p.ready, s)
	l := p.enter(s)
	p.serve(s)
	p.admit()
	return l, nil
}

// serve gives the room of a session to waiting requests. The lock is held.
func (p *threePool) serve(s *threeSession) {
	for i := 0; i < len(p.waiting) && s.active < p.streams; {
		if p.waiting[i].to != s.to {
			i++
			continue
		}
		p.waiting[i].turn <- p.enter(s) // the channel has room for one
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
}

// fill adds a new connection to an endpoint. It reports false if there is no place, or dialling fails.
func (p *threePool) fill(ctx context.Context, deadline time.Time, to endpoint) bool {
	p.mu.Lock()
	got := p.place()
	p.mu.Unlock()
	if !got {
		return false
	}
	l, err := p.open(ctx, deadline, to)
	if err == nil {
		p.give(l, true)
	}
	return err == nil
}

// give ends a request on a connection, to keep it or to use it no more. Every lane that take returned must come back here
// exactly once.
func (p *threePool) give(l *lane, keep bool) {
	s := l.session
	var over []*threeSession
	p.mu.Lock()
	s.active--
	s.free = append(s.free, l)
	s.idleSince = time.Now()
	if s.dead = s.dead || !keep || p.closed || !s.usable(); s.dead {
		if i := slices.Index(p.ready, s); i >= 0 {
			p.ready = slices.Delete(p.ready, i, i+1)
		}
		if s.active == 0 {
			p.places--
			over = append(over, s)
		}
	} else {
		if s.active == p.streams-1 {
			p.ready = append(p.ready, s)
		}
		p.serve(s)
		// Each give removes one old session, so no goroutine is needed for that.
		if old := p.ready; len(old) > 0 && old[0].active == 0 && s.idleSince.Sub(old[0].idleSince) > idleLimit {
			over, p.ready = append(over, old[0]), slices.Delete(old, 0, 1)
			p.places--
		}
		if s.active == 0 && len(p.waiting) > 0 { // for another endpoint
			if evicted := p.evict(p.waiting[0].to); evicted != nil {
				over = append(over, evicted)
				p.hand()
			}
		}
	}
	p.admit()
	last := p.closed && p.places == 0
	p.mu.Unlock()
	for _, s := range over {
		s.close()
	}
	if last {
		p.dialer.close()
	}
}

// place takes a place to dial, if there is one. The lock is held.
func (p *threePool) place() bool {
	if p.closed || p.max > 0 && p.places >= p.max || p.dialsMost() {
		return false
	}
	p.places++
	p.dialling++
	return true
}

// dialsMost reports whether the maximum is being dialled. The lock is held.
func (p *threePool) dialsMost() bool { return p.dials > 0 && p.dialling >= p.dials }

// opening reports whether waiting requests wait for dialling.
func (p *threePool) opening() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialsMost() || p.max > 0 && p.dialling >= p.max
}

// admit gives free places to waiting requests. The lock is held.
func (p *threePool) admit() {
	for len(p.waiting) > 0 && p.place() {
		p.hand()
	}
}

// hand passes a place to dial to the longest waiting request. The lock is held.
func (p *threePool) hand() {
	p.waiting[0].turn <- nil // the channel has room for one
	p.waiting = slices.Delete(p.waiting, 0, 1)
}

// wait waits for the turn. A turn that comes as the wait ends is passed on, so no place is lost.
func (p *threePool) wait(ctx context.Context, deadline time.Time, w *threeWaiter) (*lane, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var err error
	select {
	case l, ok := <-w.turn:
		if !ok {
			return nil, errClosed
		}
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = context.DeadlineExceeded
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		return nil, err
	}
	if l, ok := <-w.turn; l != nil {
		p.give(l, true)
	} else if ok {
		p.mu.Lock()
		p.places--
		p.dialling--
		p.admit()
		p.mu.Unlock()
	}
	return nil, err
}

// close closes the idle sessions and ends all waits. Others are closed when their last request ends.
func (p *threePool) close() {
	p.mu.Lock()
	var over []*threeSession
	for _, s := range p.ready {
		if s.active == 0 {
			over = append(over, s)
			p.places--
		}
	}
	p.closed, p.ready = true, nil
	for _, w := range p.waiting {
		close(w.turn)
	}
	p.waiting = nil
	last := p.places == 0
	p.mu.Unlock()
	for _, s := range over {
		s.close()
	}
	if last {
		p.dialer.close()
	}
}
