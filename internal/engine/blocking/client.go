// Package blocking is a worker.Client over a Target whose calls block, such as one of your own.
//
//	NewClient: func(int) (worker.Client, error) { return blocking.New(clock, target, 64), nil },
//
// Guarantees: those of worker.Client. A request does not allocate.
package blocking

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// A Client sends through a Target. Each connection is a lane: a goroutine that makes one
// request at a time. A lane is started when all others are busy. The lane that was idle last is used first, so a low
// rate keeps few connections warm.
//
// It is as precise as Go's timers: about 1 ms late in an idle process.
type Client struct {
	clock    *pacer.Clock
	target   targets.Target
	ctx      context.Context // of all requests; ends with Close
	cancel   context.CancelFunc
	lanes    []*lane // all
	idle     []*lane // lanes without a request, a stack
	max      int
	finished stack
	woken    atomic.Bool
	wakeup   chan struct{} // makes Poll look at finished and woken
	timer    *time.Timer
}

// New returns a Client that sends to target over at most the given number of connections, at least 1. The
// caller closes the target.
func New(clock *pacer.Clock, target targets.Target, connections int) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	a := &Client{
		clock: clock, target: target, ctx: ctx, cancel: cancel, max: max(1, connections),
		wakeup: make(chan struct{}, 1), timer: time.NewTimer(0),
	}
	return a
}

// Now implements Client.
func (a *Client) Now() int64 { return a.clock.Now() }

// Send implements Client.
func (a *Client) Send(_, due int64, c targets.Call) bool {
	if len(a.idle) == 0 {
		if len(a.lanes) == a.max {
			return false
		}
		l := &lane{work: make(chan targets.Result, 1)}
		a.lanes, a.idle = append(a.lanes, l), append(a.idle, l)
		go a.serve(l)
	}
	last := len(a.idle) - 1
	l := a.idle[last]
	a.idle = a.idle[:last]
	l.work <- targets.Result{Call: c, Due: due} // never blocks: the lane is idle
	return true
}

// Opening reports whether the Target's requests wait for connections being opened, of which there are as many as
// allowed. It is false if the Target does not say.
func (a *Client) Opening() bool {
	t, ok := a.target.(interface{ Opening() bool })
	return ok && t.Opening()
}

// Connects reports whether requests use connections. Without them there are only goroutines; a lack of these is not
// counted as a lack of connections.
func (a *Client) Connects() bool {
	t, says := a.target.(interface{ Connects() bool })
	return !says || t.Connects()
}

// Poll implements Client. Its error is always nil.
func (a *Client) Poll(until int64, done func(targets.Result)) error {
	for {
		reported := a.report(done)
		if a.woken.Swap(false) || reported {
			return nil
		}
		wait := until - a.clock.Now()
		if wait <= 0 {
			return nil
		}
		a.timer.Reset(time.Duration(wait))
		select {
		case <-a.wakeup: // may be for something already handled
			// Go runs the goroutine woken last first. If the lanes with answers run before this one, one turn handles
			// all of them.
			runtime.Gosched()
		case <-a.timer.C:
		}
	}
}

// report hands on what has finished, and reports whether anything has.
func (a *Client) report(done func(targets.Result)) bool {
	l := a.finished.takeAll()
	if l == nil {
		return false
	}
	for l != nil {
		next := l.next
		done(l.result)
		a.idle = append(a.idle, l)
		l = next
	}
	return true
}

// Wake implements Client.
func (a *Client) Wake() {
	a.woken.Store(true)
	a.signal()
}

func (a *Client) signal() {
	select {
	case a.wakeup <- struct{}{}:
	default: // it is signalled already
	}
}

// Close implements Client: it ends the context of requests on the wire, and does not wait for them.
func (a *Client) Close() error {
	a.cancel()
	a.timer.Stop()
	for _, l := range a.lanes {
		close(l.work)
	}
	return nil
}

// A lane makes one request at a time. Between work and finished it belongs to its goroutine.
type lane struct {
	work   chan targets.Result // a request, with Call and Due; room for one
	result targets.Result
	next   *lane // in the stack of finished lanes
}

// serve makes the requests of one lane until Close.
func (a *Client) serve(l *lane) {
	for r := range l.work {
		r.Sent = a.clock.Now()
		r.Outcome = a.target.Do(a.ctx, r.Call)
		r.Done = a.clock.Now()
		l.result = r
		if a.finished.push(l) {
			a.signal()
		}
	}
}

// stack is a lock-free list of lanes (Treiber's, without its ABA problem, as all are taken at once).
type stack struct {
	top atomic.Pointer[lane]
}

// push adds a lane, and reports whether the stack was empty.
func (s *stack) push(l *lane) bool {
	for {
		top := s.top.Load()
		l.next = top
		if s.top.CompareAndSwap(top, l) {
			return top == nil
		}
	}
}

// takeAll empties the stack and returns its lanes linked in the order they were pushed.
func (s *stack) takeAll() *lane {
	var first *lane
	for l := s.top.Swap(nil); l != nil; {
		next := l.next
		l.next = first
		first, l = l, next
	}
	return first
}

// Thread implements self.Threaded: the goroutines of a Client run on any thread.
func (a *Client) Thread() int { return 0 }
