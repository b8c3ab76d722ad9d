//go:build linux

package loop

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// openingAtOnce is what docs/deploy.md promises.
const openingAtOnce = 128

// Connections opened ahead carry the requests, and nothing else is sent or reported.
func TestPreconnect(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const connections = 300
	r := newRig(t, targets.Spec{URL: s.URL()}, targets.Local{}, connections)
	if n := r.c.Preconnect(t.Context(), connections, time.Microsecond); n != connections {
		t.Fatalf("%d connections are open", n)
	}
	r.poll(0)
	s.Stall(100 * time.Millisecond) // so that each request has a connection of its own
	for range connections {
		r.mustSend()
	}
	r.pollFor(connections)
	for _, x := range r.got {
		expect(t, x.Outcome, 200, "")
	}
	if s.Connections() != connections || s.Count() != connections {
		t.Errorf("%d connections, %d requests arrived", s.Connections(), s.Count())
	}
}

// Connections open one after the other, evenly.
func TestPreconnectIsStaggered(t *testing.T) {
	s := startTiny(t, -1)
	r := newRig(t, targets.Spec{URL: s.url}, targets.Local{}, 100)
	const every = 5 * time.Millisecond
	began := time.Now()
	if n := r.c.Preconnect(t.Context(), 20, every); n != 20 {
		t.Errorf("%d connections are open", n)
	}
	if took := time.Since(began); took < 19*every { // no machine is too fast
		t.Errorf("took %v", took)
	}
}

// A connection that is refused, or closed by the server at once, is opened again only for a request.
func TestPreconnectFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	r := newRig(t, targets.Spec{URL: "http://" + nobody}, targets.Local{}, 10)
	if n := r.c.Preconnect(t.Context(), 10, 0); n != 0 || r.c.opening != 0 {
		t.Errorf("%d connections are open, %d are being opened", n, r.c.opening)
	}
	expect(t, r.do(), 0, targets.ClassConnect)

	closed := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) {})}, targets.Local{}, 10)
	closed.c.Preconnect(t.Context(), 10, 0)
	closed.pollUntil("the loop heard that all were closed", func() bool { return closed.c.hosts[0].idle.first == nil })
	if n := len(closed.got); n != 0 {
		t.Errorf("%d results without a request", n)
	}
}

// Nobody answers: the end of ctx ends it, and requests find free conns.
func TestPreconnectEnds(t *testing.T) {
	address := deaf(t)
	r := newRig(t, targets.Spec{URL: "http://" + address.String(), Timeout: 100 * time.Millisecond}, targets.Local{}, openingAtOnce+50)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in which it tries as many as it may
	defer cancel()
	if n := r.c.Preconnect(ctx, openingAtOnce+50, 0); n != 0 || r.c.opening != 0 {
		t.Errorf("%d connections are open, %d are being opened", n, r.c.opening)
	}
	if n := len(r.c.conns); n != openingAtOnce {
		t.Errorf("%d were tried at the same time, want %d", n, openingAtOnce)
	}
	expect(t, r.do(), 0, targets.ClassTimeout)
}

// aimAt redirects the next connections to another address.
func (r *rig) aimAt(address netip.AddrPort) {
	r.t.Helper()
	names, err := sockets.NewNames(&wire.Wire{Network: "tcp", Address: address.String()}, r.c.locals.Fits, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.c.hosts[0].names.Close()
	r.c.hosts[0].names = names
}

// However many requests are due at once, exactly the maximum of connections is opened at the same time. Poll returns
// when another one may be opened.
func TestNoStampede(t *testing.T) {
	r := newRig(t, targets.Spec{URL: "http://" + deaf(t).String(), Timeout: 200 * time.Millisecond}, targets.Local{}, 1000)
	for r.send() {
	}
	if r.sent != openingAtOnce {
		t.Errorf("%d connections are being opened, want %d", r.sent, openingAtOnce)
	}
	if !r.c.Opening() {
		t.Error("it does not tell that connections are being opened")
	}
	r.pollFor(openingAtOnce)
	r.mustSend()

	mute := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })}, targets.Local{}, 1000)
	for mute.sent < 1000 {
		if !mute.send() {
			mute.poll(time.Hour) // not as long as the requests take
		}
		if len(mute.got) > 0 {
			t.Fatalf("%d of 1000 were sent when the first had failed", mute.sent)
		}
	}
	// The user asked for a connection per request: nothing is held back.
	each := newRig(t, targets.Spec{URL: startTiny(t, -1).url, NoKeepAlive: true}, targets.Local{}, 2*openingAtOnce)
	for range 2 * openingAtOnce {
		each.mustSend()
	}
	each.pollFor(2 * openingAtOnce)
}

// Idle connections that were reset while the loop was busy are replaced in turn too: a request that finds no other one
// is refused, and not begun.
func TestNoStampedeAfterResets(t *testing.T) {
	const connections = 3 * openingAtOnce
	var opened, reset sync.WaitGroup
	var first atomic.Bool
	reset.Add(connections - 1)
	cut := make(chan struct{})
	r := newRig(t, targets.Spec{Timeout: 3 * time.Second, URL: serve(t, func(c *net.TCPConn) {
		stays := first.CompareAndSwap(false, true)
		opened.Done()
		if stays {
			io.Copy(io.Discard, c) // it does not answer
			return
		}
		<-cut
		c.SetLinger(0)
		c.Close()
		reset.Done()
	})}, targets.Local{}, connections)
	for _, more := range []int{1, connections - 1} { // the first one stays
		opened.Add(more)
		if r.c.Preconnect(t.Context(), more, 0) < more {
			t.Fatal("a connection was not opened")
		}
		opened.Wait()
	}
	good := r.c.hosts[0].idle.first
	close(cut)
	reset.Wait()
	now := r.c.Now()
	for cn := r.c.hosts[0].idle.first; cn != nil; cn = cn.next {
		if cn != good {
			r.await("the reset of a connection", cn)
		}
		cn.idleSince = now + int64(time.Hour) // as if each was idle for no time, however slow the test is
	}
	r.aimAt(deaf(t))
	for r.send() {
	}
	if r.c.inFlight.first != good {
		t.Error("the first request did not go over the connection that is still good")
	}
	if r.sent != 1+openingAtOnce || r.c.opening != openingAtOnce || !r.c.Opening() {
		t.Errorf("%d requests were begun, %d connections are being opened, want %d; it tells so: %v", r.sent, r.c.opening, openingAtOnce, r.c.Opening())
	}
	r.pollFor(1 + openingAtOnce)
	for i, x := range r.got {
		expect(t, x.Outcome, 0, targets.ClassTimeout)
		if x.Call.Number != uint64(i) {
			t.Errorf("request %d ended as number %d", x.Call.Number, i)
		}
	}
	if r.mustSend(); r.c.inFlight.first != r.c.inFlight.last {
		t.Error("there is more than one request, and one was begun")
	}
}

// If a server closes each connection after an answer, connecting is the load: nothing is held back until it keeps one.
func TestNoLimitWhereServerCloses(t *testing.T) {
	const closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	r := newRig(t, targets.Spec{URL: serve(t, answer(closing)), Timeout: time.Minute}, targets.Local{}, 3*openingAtOnce)
	for i := range openingAtOnce {
		r.do()
		if got := r.c.closedInARow; got != int64(i+1) {
			t.Fatalf("%d answers, %d closed in a row", i+1, got)
		}
		if may := r.c.opening < r.c.most; !may || !r.c.mayOpen() {
			t.Fatal("no connection may be opened, and none is being opened")
		}
	}
	// From here on the server does not accept.
	r.aimAt(deaf(t))
	for range 3 * openingAtOnce {
		r.mustSend()
	}
	if r.c.opening <= openingAtOnce || r.send() {
		t.Errorf("%d connections are being opened", r.c.opening)
	}

	kept := newRig(t, targets.Spec{URL: startTiny(t, -1).url}, targets.Local{}, 2)
	kept.c.closedInARow = 5
	if expect(t, kept.do(), 200, ""); kept.c.closedInARow != 0 {
		t.Errorf("after a connection was kept %d were closed in a row", kept.c.closedInARow)
	}
	if kept.mustSend(); kept.c.Opening() {
		t.Error("connections are being opened: none is")
	}
}

// A client whose connections are all busy does not report that it opens some, whatever it did before.
func TestBusyIsNotOpening(t *testing.T) {
	r := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })}, targets.Local{}, 1)
	r.mustSend()
	if r.send() || !r.c.Opening() {
		t.Error("the only connection is being opened: it does not tell so")
	}
	r.pollUntil("it is open", func() bool { return r.c.opening == 0 })
	if r.send() || r.c.Opening() {
		t.Error("the only connection is busy: it says that it is being opened")
	}
}

// A connection is not used if its end has arrived, even if the loop has not seen it yet.
func TestIdleConnectionIsLookedAt(t *testing.T) {
	for name, hangUp := range map[string]func(*net.TCPConn){
		"fin":   func(c *net.TCPConn) { c.CloseWrite() },
		"reset": func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"noise": func(c *net.TCPConn) { io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			ended, end := make(chan struct{}), make(chan struct{})
			var once sync.Once
			r := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) {
				br := bufio.NewReader(c)
				for request(br) {
					io.WriteString(c, ok)
					once.Do(func() {
						<-end
						hangUp(c)
						close(ended)
					})
				}
			})}, targets.Local{}, 2)
			expect(t, r.do(), 200, "")
			cn := r.c.hosts[0].idle.last
			r.unnoticed("the end of the connection", cn, func() {
				close(end)
				<-ended
			})
			cn.idleSince -= int64(r.c.wire.LookAfter)
			expect(t, r.do(), 200, "")
		})
	}
}
