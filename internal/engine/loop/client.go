package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/internal/engine/transport"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http3"
	"github.com/loadctl/loadctl/targets/quic"
	"github.com/loadctl/loadctl/targets/wire"
)

// readBuffer is the most that one read takes, in bytes. What checks need of an
// answer is copied, so all connections share one buffer.
const readBuffer = 64 << 10

// A Client is a worker.Client. Each conn is in one list: free, idle at its host, in flight, or ended and not yet reported.
// While a connection is opened ahead of requests, its conn is in none.
type Client struct {
	clock *pacer.Clock
	wire  *wire.Wire
	max   int // connections

	poller sockets.Poller
	wakeup sockets.Wakeup
	thread sockets.Thread
	hosts  []*host              // of the steps, and those that redirects led to
	byWire map[*wire.Wire]*host // of each step
	only   *host                // of all steps; nil if they have several
	steps  int                  // how many hosts are of steps
	locals sockets.Locals

	conns        []*conn // all there are so far; an event names one by its index
	free         list    // without a connection
	inFlight     list    // in the order of their deadlines
	lingering    list    // requests of which only the end of the answer is missing, in the order of their deadlines
	ended        list    // to be reported by Poll, oldest first
	unread       []*conn // more data is there, but other connections get their turn
	turn         []*conn // the previous unread; the two alternate
	latest       int64   // when the last request ended
	opening      int     // connections that are connecting or securing
	most         int     // the most that may connect at once, unless the server closes each connection: see mayOpen
	closedInARow int64   // number of complete answers in a row after which the connection could not be kept
	held         bool    // Send was refused because the maximum is connecting
	awaiting     []*conn // whose connections cannot be opened yet: see connectInTurn
	handshakes   transport.Handshakes
	h3           transport.QUIC
	askings      *transport.Askings // nil = all schemes are ours
	goroutines   bool               // answer: of HTTP/3, or of a Sender
	encoder      http3.Encoder

	connections int     // that are open or will be, and requests without one
	unsent      []*conn // shared connections with requests that began since the last Poll
	unassigned  []*conn // requests that lost their connection, and found no room on another one
	wanted      bool    // Send was refused because there is no room
	freed       bool    // there is some again
	closing     list    // shared connections that are closed when the server has ended their streams, in the order of their deadlines
	closings    int     // how many these are; they are not among connections

	capture
	buf    []byte
	memo   http1.Memo // most answers begin like the last one, on whichever connection
	closed bool
}

// New opens a client of wire with at most this many connections, at least 1. It looks up the host's name now, and again
// in the background from time to time; if no address accepts connections, within a second. If the name does not
// resolve, requests fail with that outcome.
func New(clock *pacer.Clock, wire *wire.Wire, connections int) (*Client, error) {
	c := &Client{clock: clock, wire: wire, max: max(1, connections), locals: sockets.NewLocals(wire.Local), buf: make([]byte, readBuffer), capture: capture{sample: -1}}
	c.most = min(c.max, wire.Opening)
	for _, w := range wire.Steps() {
		if w.Close {
			c.most = c.max // opening connections is the normal work of such a load
		}
	}
	for _, w := range wire.Steps() {
		if w.Three && c.h3.Dialer == nil {
			c.h3.Dialer = quic.NewDialer(w.QUIC())
		}
	}
	c.openAskings()
	c.goroutines = c.h3.Dialer != nil || c.askings != nil
	if err := c.poller.Open(); err != nil {
		return nil, fmt.Errorf("open event loop: %w", err)
	}
	c.wakeup.Poller, c.handshakes.Wakeup, c.h3.Wakeup = &c.poller, &c.wakeup, &c.wakeup
	if err := c.openHosts(); err != nil {
		c.poller.Close()
		return nil, fmt.Errorf("open event loop: %w", err)
	}
	return c, nil
}

// Now implements worker.Client.
func (c *Client) Now() int64 { return c.clock.Now() }

// Send implements worker.Client. If a connection was idle, the request is written before Send returns. If the server
// had closed that connection, the request was not begun. Then Send takes the next one, and opens a new one only if that
// is allowed.
func (c *Client) Send(_, due int64, call targets.Call) bool {
	now := c.clock.Now() // the turn's own time grows old while requests are sent
	wire, h := c.step(call.Step)
	switch {
	case wire.Streams > 0:
		return c.sendStream(due, call, wire, h)
	case h.names == nil:
		return c.place(now, due, call, wire, h)
	}
	for cn := c.take(now, h); cn != nil; cn = c.take(now, h) {
		cn.wire = wire.Filled(call)
		cn.begin(targets.Result{Call: call, Due: due, Sent: now}, now+int64(c.wire.Timeout), h)
		c.beginReply(cn)
		if cn.request = cn.wire.Request; cn.request == nil {
			cn.filled = wire.Fill(cn.filled, call)
			cn.request = cn.filled
		}
		c.inFlight.insert(cn)
		if cn.reused = cn.Socket.IsOpen(); !cn.reused {
			c.connect(cn)
			return true
		}
		if c.write(cn) {
			return true
		}
		c.inFlight.remove(cn)
		c.drop(cn)
	}
	c.wanted = true
	return false
}

// step returns what the requests of a step are, and where they go.
func (c *Client) step(step int) (*wire.Wire, *host) {
	w := c.wire.Step(step)
	if c.only != nil {
		return w, c.only
	}
	return w, c.byWire[w]
}

// Poll implements worker.Client. The first look does not block; under load it is the only one.
func (c *Client) Poll(until int64, done func(targets.Result)) error {
	if !c.goroutines { // else a change of threads for each answer would cost more than exact waits give
		c.thread.Claim()
	}
	for wait := int64(0); ; {
		c.flushAll()
		c.resume() // before the look, so that nothing is reported twice
		if err := c.serve(wait); err != nil {
			return err
		}
		now := c.latest // recent, if anything ended
		if c.ended.first == nil {
			now = c.clock.Now()
		}
		c.expire(now)
		c.moveUnassigned()
		if reported := c.report(done); c.wakeup.Consume() || reported || c.admits() || now >= until {
			return nil
		}
		if wait = c.until(now, until) - now; c.thread.Yield(now, wait) {
			wait = 0 // first look for what has arrived in the meantime
		}
	}
}

// serve waits for events, for ns at most, and handles them.
func (c *Client) serve(wait int64) error {
	n, err := c.wait(wait)
	if err != nil {
		return fmt.Errorf("wait for events: %w", err)
	}
	for i := range n {
		if index, what := c.poller.Event(i); index >= 0 {
			c.handle(c.conns[index], what)
		}
	}
	c.secured()
	c.takeH3()
	c.takeAskings()
	c.connectAwaiting()
	return nil
}

// admits reports whether a Send that was refused would now open a connection, or find room on one.
func (c *Client) admits() bool {
	if c.freed {
		c.freed, c.wanted = false, false
		return true
	}
	if !c.held || !c.mayOpen() {
		return false
	}
	c.held = false
	return true
}

// Opening reports whether the last Send was refused because the maximum number of connections is being opened.
func (c *Client) Opening() bool { return c.held }

// wait waits for events, for ns at most.
func (c *Client) wait(ns int64) (int, error) {
	if ns <= 0 {
		return c.poller.Look()
	}
	if c.goroutines {
		runtime.Gosched() // those that are ready report before the loop waits: so one wait serves several
	}
	if !c.wakeup.Sleep() {
		return 0, nil
	}
	defer c.wakeup.Awake()
	return c.poller.Wait(ns)
}

// until returns when there is something to do even if nothing happens.
func (c *Client) until(now, until int64) int64 {
	if len(c.unread) > 0 {
		return now
	}
	until = c.thread.Until(now, until, c.latest)
	for _, cn := range []*conn{c.inFlight.first, c.lingering.first, c.closing.first} {
		if cn != nil {
			until = min(until, cn.deadline)
		}
	}
	return until
}

// expire ends the requests whose deadline has passed, and what is left of connections.
func (c *Client) expire(now int64) {
	for cn := c.inFlight.first; cn != nil && cn.deadline <= now; cn = c.inFlight.first {
		if cn.state == resting {
			c.rested(cn)
			continue
		}
		if later := cn.lasts(); later > now {
			c.inFlight.remove(cn)
			cn.deadline = later
			c.inFlight.insert(cn)
			continue
		}
		c.giveUp(cn, os.ErrDeadlineExceeded)
	}
	for cn := c.lingering.first; cn != nil && cn.deadline <= now; cn = c.lingering.first {
		c.giveUp(cn, os.ErrDeadlineExceeded)
	}
	for cn := c.closing.first; cn != nil && cn.deadline <= now; cn = c.closing.first {
		c.closeSession(cn)
	}
}

// Cancel ends the request that was due at some time; if there are several, the one with the next deadline. Without it, it
// does nothing. err is why: context.Canceled or os.ErrDeadlineExceeded. Poll reports the request.
func (c *Client) Cancel(due int64, err error) {
	for _, first := range []*conn{c.inFlight.first, c.lingering.first} {
		for cn := first; cn != nil; cn = cn.next {
			if cn.result.Due == due {
				c.giveUp(cn, err)
				return
			}
		}
	}
}

// Abandon ends the requests on the wire: they are canceled. Only Close may follow.
func (c *Client) Abandon(done func(targets.Result)) {
	for _, l := range []*list{&c.inFlight, &c.lingering} {
		for l.first != nil {
			c.giveUp(l.first, context.Canceled)
		}
	}
	c.report(done)
}

// giveUp ends a request before its answer has ended. err is why.
func (c *Client) giveUp(cn *conn, err error) {
	if cn.state == streaming {
		c.giveUpStream(cn, err)
		return
	}
	if cn.asking != nil {
		c.leaveAsking(cn)
	}
	c.unopen(cn, overdue(err))
	c.end(cn, err, targets.ClassOther, false)
	cn.own = nil
}

// overdue reports whether a request is given up because it took too long.
func overdue(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// unopen gives up opening a connection, if it is not open. If it took too long, the next one tries another address.
func (c *Client) unopen(cn *conn, slow bool) {
	switch cn.state {
	case awaiting:
		c.awaiting = without(c.awaiting, cn)
	case securing:
		c.opening--
		if slow && cn.dial != nil {
			cn.host.silent(cn.first + 1)
		}
	case connecting:
		c.opening--
		if slow {
			cn.host.silent(cn.first + cn.tried)
		}
	}
}

// report hands on the requests that have ended. It returns whether there were any.
func (c *Client) report(done func(targets.Result)) bool {
	some := c.ended.first != nil
	for cn := c.ended.first; cn != nil; cn = c.ended.first {
		c.ended.remove(cn)
		done(cn.result)
		c.park(cn)
	}
	return some
}

// CloseIdle closes the connections without a request.
func (c *Client) CloseIdle() {
	for c.evict() {
	}
}

// Wake implements worker.Client.
func (c *Client) Wake() { c.wakeup.Signal() }

// Thread returns the id of the loop's thread; 0 before the first Poll and after Close, and without one. Any goroutine may
// call it.
func (c *Client) Thread() int { return c.thread.ID() }

// Close implements worker.Client. The goroutine that called Poll must call it.
func (c *Client) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	c.closeSessionsGracefully()
	c.closeHosts()
	if c.askings != nil {
		c.askings.Close()
	}
	for _, cn := range c.conns {
		if cn.state == idle || cn.state == sharing {
			cn.closeGracefully()
		} else {
			cn.close()
		}
		if cn.session != nil {
			c.h3.CloseConn(cn.session.h3)
		}
	}
	c.takeH3() // connections that nobody waited for
	c.h3.Close()
	c.poller.Close()
	c.thread.Release()
	return nil
}
