// Package client performs requests one by one, for programs that have no schedule of their own.
//
//	target, err := client.New(targets.Spec{URL: "http://127.0.0.1:8080/"}, targets.Local{})
//	if err != nil { … }
//	defer target.Close()
//	outcome := target.Do(ctx, targets.Call{})
//	fmt.Println(outcome.Status, outcome.Class)
//
// Any number of goroutines may call Do. All requests of a target share its connections, which one event loop has: it is
// that of the workers, so the same rules hold. See package targets for what is guaranteed.
package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// manyConnections is what Local.MaxConnections = 0 means: more than a machine has ports.
const manyConnections = 1 << 20

// New returns the target that spec describes. It fails if spec is not valid, if the URL's scheme has no target, or if
// something in local cannot be used, such as a missing key file. It looks up names, and opens no connection. HTTPAuto must
// be settled: see probe.Settle.
func New(spec targets.Spec, local targets.Local) (targets.Target, error) {
	w, err := wire.New(spec, local)
	if err != nil {
		return nil, err
	}
	most := local.MaxConnections
	if most == 0 {
		most = manyConnections
	}
	clock := pacer.NewClock()
	l, err := loop.New(clock, w, most)
	if err != nil {
		w.Shut()
		return nil, fmt.Errorf("new target: %w", err)
	}
	t := &target{
		clock: clock, loop: l, wire: w, timeout: w.Timeout, cookies: spec.Cookies,
		closing: make(chan struct{}), inFlight: map[int64]*request{},
	}
	go t.run()
	return t, nil
}

// A target hands its requests to the goroutine of its loop, and that hands the outcomes back.
type target struct {
	clock   *pacer.Clock
	loop    *loop.Client
	wire    *wire.Wire
	timeout time.Duration
	cookies bool          // redirects need a session, though the caller has none
	closing chan struct{} // closed when the loop knows that the target is closed

	mu     sync.Mutex
	orders []order // in the order in which they were given
	closed bool

	// Of the loop's goroutine.
	waiting  []*request         // for a connection, the longest waiting first
	waited   []*request         // sent after that: their time ends before the loop's
	inFlight map[int64]*request // by due
	sent     int64              // requests so far, and due of the last one
}

// A request is one call of Do.
type request struct {
	call     targets.Call
	deadline int64 // ns of the clock
	due      int64 // what the loop knows it by; 0 = it was not sent
	outcome  chan targets.Outcome
}

// An order is to send a request, or to cancel it.
type order struct {
	request *request
	cancel  error // why; nil = send it
}

// Do implements targets.Target. The timeout includes the wait for a connection.
func (t *target) Do(ctx context.Context, c targets.Call) targets.Outcome {
	if err := ctx.Err(); err != nil {
		return unsent(err)
	}
	if t.cookies && c.Session == nil {
		c.Session = new(targets.Session)
	}
	r := &request{call: c, deadline: t.clock.Now() + int64(t.timeout), outcome: make(chan targets.Outcome, 1)}
	if !t.give(order{request: r}) {
		return unsent(context.Canceled)
	}
	select {
	case out := <-r.outcome:
		return out
	case <-ctx.Done():
		t.give(order{r, ctx.Err()})
		return <-r.outcome
	}
}

// unsent is the outcome of a request that was not sent.
func unsent(why error) targets.Outcome {
	if errors.Is(why, context.DeadlineExceeded) {
		return targets.Outcome{Class: targets.ClassTimeout}
	}
	return targets.Outcome{Class: targets.ClassCanceled}
}

// give gives the loop an order. A target that is closed takes no more requests: then it returns false.
func (t *target) give(o order) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed && o.cancel == nil {
		return false
	}
	t.orders = append(t.orders, o)
	t.loop.Wake()
	return true
}

// Close implements targets.Target. It returns when the connections without a request are closed.
func (t *target) Close() error {
	t.mu.Lock()
	t.closed = true
	t.loop.Wake()
	t.mu.Unlock()
	<-t.closing
	return nil
}

// run is the loop's goroutine. It ends after Close, when the last request has ended, or if the loop itself fails.
func (t *target) run() {
	known := false
	for {
		closed := t.obey()
		until := t.send()
		idle := len(t.waiting) == 0 && len(t.inFlight) == 0
		if closed && idle {
			break
		}
		if closed && !known {
			t.loop.CloseIdle()
			close(t.closing)
			known = true
		}
		if err := t.loop.Poll(until, t.done); err != nil {
			t.fail()
		}
	}
	_ = t.loop.Close()
	t.wire.Shut()
	if !known {
		close(t.closing)
	}
}

// obey takes the orders, and reports whether the target is closed.
func (t *target) obey() bool {
	t.mu.Lock()
	orders, closed := t.orders, t.closed
	t.orders = nil
	t.mu.Unlock()
	for _, o := range orders {
		if o.cancel == nil {
			t.waiting = append(t.waiting, o.request)
			continue
		}
		t.cancel(o.request, o.cancel)
	}
	if closed {
		for _, r := range t.waiting {
			r.outcome <- unsent(context.Canceled)
		}
		t.waiting = nil
	}
	return closed
}

// cancel ends a request, unless it has ended.
func (t *target) cancel(r *request, why error) {
	if i := slices.Index(t.waiting, r); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		r.outcome <- unsent(why)
		return
	}
	if t.inFlight[r.due] != r {
		return
	}
	if errors.Is(why, context.DeadlineExceeded) {
		why = os.ErrDeadlineExceeded // as the loop's own
	}
	t.loop.Cancel(r.due, why)
}

// send sends the requests for which there are connections, and ends those whose time is over. It returns when the next
// one's is.
func (t *target) send() (until int64) {
	now := t.clock.Now()
	for len(t.waiting) > 0 {
		r := t.waiting[0]
		if r.deadline <= now {
			r.outcome <- unsent(context.DeadlineExceeded)
		} else if !t.begin(now, r) {
			break
		}
		t.waiting = t.waiting[1:]
	}
	for len(t.waited) > 0 && (t.waited[0].deadline <= now || t.inFlight[t.waited[0].due] == nil) {
		t.cancel(t.waited[0], os.ErrDeadlineExceeded)
		t.waited = t.waited[1:]
	}
	until = now + int64(time.Hour)
	for _, line := range [][]*request{t.waiting, t.waited} {
		if len(line) > 0 {
			until = min(until, line[0].deadline)
		}
	}
	return until
}

// begin sends a request. It reports false if there is no connection for it.
func (t *target) begin(now int64, r *request) bool {
	if !t.loop.Send(now, t.sent+1, r.call) {
		return false
	}
	t.sent++
	r.due = t.sent
	t.inFlight[r.due] = r
	if began := r.deadline - int64(t.timeout); now-began > int64(time.Millisecond) {
		t.waited = append(t.waited, r)
	}
	return true
}

// done hands an outcome back.
func (t *target) done(r targets.Result) {
	t.inFlight[r.Due].outcome <- r.Outcome
	delete(t.inFlight, r.Due)
}

// fail ends the requests that were sent, because the loop can do no more, and closes the target.
func (t *target) fail() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	for _, r := range t.inFlight {
		r.outcome <- targets.Outcome{Class: targets.ClassOther}
	}
	clear(t.inFlight)
}
