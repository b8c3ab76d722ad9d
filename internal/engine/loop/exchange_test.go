//go:build linux

package loop

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// serve accepts connections until the test ends, and serves each with f; it returns the URL.
func serve(t *testing.T, f func(*net.TCPConn)) string {
	t.Helper()
	return serveNth(t, func(_ int64, c *net.TCPConn) { f(c) })
}

// serveNth is serve, and tells f which connection it is: 1, 2, …, in the order in which they were opened.
func serveNth(t *testing.T, f func(int64, *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := int64(1); ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(n, c.(*net.TCPConn))
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

// request reads one request to its end; false if there is none.
func request(br *bufio.Reader) bool {
	r, err := http.ReadRequest(br)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil
}

// answer serves one request with text.
func answer(text string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		if request(bufio.NewReader(c)) {
			io.WriteString(c, text)
		}
	}
}

func expect(t *testing.T, got targets.Outcome, status int, class string) {
	t.Helper()
	if got.Status != status || got.Class != class {
		t.Errorf("got status %d class %q, want %d %q", got.Status, got.Class, status, class)
	}
}

// Bytes are exact; data after an answer does not belong to it, and ends the connection.
func TestBytes(t *testing.T) {
	var connections atomic.Int32
	url := serve(t, func(c *net.TCPConn) {
		connections.Add(1)
		for br := bufio.NewReader(c); request(br); {
			io.WriteString(c, ok+"and more")
		}
	})
	r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 1)
	for range 3 {
		got := r.do()
		expect(t, got, 200, "")
		if got.BytesIn != int64(len(ok)) || got.BytesOut != int64(len(r.c.wire.Request)) {
			t.Errorf("%d bytes in, %d out, want %d, %d", got.BytesIn, got.BytesOut, len(ok), len(r.c.wire.Request))
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}

// An answer that fills the read buffer exactly leaves nothing behind, and its connection is reused.
func TestFullBuffer(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Length: 65472\r\nX: "
	text := head + strings.Repeat("x", readBuffer-65472-len(head)-4) + "\r\n\r\n" + strings.Repeat("b", 65472)
	if len(text) != readBuffer {
		t.Fatalf("%d bytes", len(text))
	}
	for _, extra := range []string{"", "!"} {
		var connections atomic.Int32
		url := serve(t, func(c *net.TCPConn) {
			connections.Add(1)
			for br := bufio.NewReader(c); request(br); {
				io.WriteString(c, text+extra)
			}
		})
		r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 1)
		for range 5 {
			if got := r.do(); got.Class != "" || got.BytesIn != readBuffer {
				t.Errorf("%+v", got)
			}
			r.poll(time.Millisecond) // the byte too many may be on its way
		}
		if n := connections.Load(); n != 1+4*int32(len(extra)) {
			t.Errorf("with %d bytes too many: %d connections", len(extra), n)
		}
	}
}

// A body of many buffers is read to its end, and others do not wait for it.
func TestLargeAnswer(t *testing.T) {
	const size = 8 << 20
	url := serve(t, answer("HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n"+strings.Repeat("x", size)))
	r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 1)
	if got := r.do(); got.Class != "" || got.BytesIn < size {
		t.Errorf("%+v", got)
	}
	// Its end may come with an event older than the read: the connection is still good.
	kept := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) {
		text := "HTTP/1.1 200 OK\r\nContent-Length: 1500000\r\n\r\n" + strings.Repeat("x", 1500000)
		for br := bufio.NewReader(c); request(br); {
			io.WriteString(c, text)
		}
	})}, targets.Local{}, 1)
	for range 100 {
		if got := kept.do(); got.Class != "" || kept.c.hosts[0].idle.first == nil {
			t.Fatalf("%+v, kept: %v", got, kept.c.hosts[0].idle.first != nil)
		}
	}
	limited := newRig(t, targets.Spec{URL: url, BodyLimit: 1 << 20}, targets.Local{}, 1)
	expect(t, limited.do(), 200, targets.ClassBodyLimit)
}

// A request that does not fit into the socket is written in parts, while other requests go on.
func TestPartialWrites(t *testing.T) {
	const size = 16 << 20
	goOn := make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		c.SetReadBuffer(128 << 10) // less than a packet of the loopback makes TCP wait for its timers
		<-goOn
		if request(bufio.NewReader(c)) {
			io.WriteString(c, ok)
		}
	})
	r := newRig(t, targets.Spec{URL: url, Body: make([]byte, size)}, targets.Local{}, 1)
	r.mustSend()
	for range 20 {
		r.poll(time.Millisecond)
	}
	cn := r.c.conns[0]
	if cn.state != writing || cn.out == 0 || cn.out >= size {
		t.Errorf("state %d, %d bytes written, to a server that reads none", cn.state, cn.out)
	}
	close(goOn)
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, "")
	if out := r.got[0].Outcome.BytesOut; out != int64(len(r.c.wire.Request)) {
		t.Errorf("%d bytes out of %d", out, len(r.c.wire.Request))
	}
}

// A server may answer and hang up before it has read the whole body.
func TestEarlyAnswer(t *testing.T) {
	url := serve(t, func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, 1000))
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		c.CloseWrite()
	})
	r := newRig(t, targets.Spec{URL: url, Body: make([]byte, 64<<20)}, targets.Local{}, 1)
	expect(t, r.do(), 413, targets.ClassStatus)
}

// A close of an idle connection is noticed while it is idle: no request fails because of it.
func TestIdleConnectionsClosed(t *testing.T) {
	url := serve(t, answer(ok))
	r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 2)
	for i := range 20 {
		got := r.do()
		expect(t, got, 200, "")
		r.pollUntil("the hang-up is noticed", func() bool { return r.c.hosts[0].idle.first == nil })
		if len(r.c.conns) != 1 {
			t.Fatalf("request %d: %d places, one is free each time", i, len(r.c.conns))
		}
	}
}

// If nothing could be written to a reused connection, the request goes over another one, once.
func TestResetBeforeWrite(t *testing.T) {
	var requests, connections atomic.Int32
	cut, isCut := make(chan struct{}), make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		first := connections.Add(1) == 1
		for br := bufio.NewReader(c); request(br); {
			requests.Add(1)
			io.WriteString(c, ok)
			if first {
				<-cut
				c.SetLinger(0)
				c.Close()
				close(isCut)
				return
			}
		}
	})
	r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 1)
	expect(t, r.do(), 200, "")
	r.unnoticed("the reset", r.c.conns[0], func() {
		close(cut)
		<-isCut
	})
	got := r.do()
	expect(t, got, 200, "")
	if got.BytesOut != int64(len(r.c.wire.Request)) || requests.Load() != 2 || connections.Load() != 2 {
		t.Errorf("%d bytes out, %d requests over %d connections", got.BytesOut, requests.Load(), connections.Load())
	}
}

// Written bytes are not written again, although the connection was reused.
func TestNeverTwice(t *testing.T) {
	var requests atomic.Int32
	url := serve(t, func(c *net.TCPConn) {
		for br := bufio.NewReader(c); request(br); {
			if requests.Add(1)%2 == 0 {
				return
			}
			io.WriteString(c, ok)
		}
	})
	r := newRig(t, targets.Spec{URL: url}, targets.Local{}, 1)
	expect(t, r.do(), 200, "")
	expect(t, r.do(), 0, targets.ClassEOF)
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests arrived, 2 were sent", n)
	}
}

// Data before the reset of a server that stops reading is no answer: the request could not be written.
func TestResetWhileWriting(t *testing.T) {
	url := serve(t, func(c *net.TCPConn) {
		io.ReadFull(c, make([]byte, 1000))
		c.SetLinger(0)
	})
	r := newRig(t, targets.Spec{URL: url, Body: make([]byte, 64<<20)}, targets.Local{}, 1)
	expect(t, r.do(), 0, targets.ClassReset)
}

// An answer and a close in one event are both handled.
func TestFarewell(t *testing.T) {
	say, said := make(chan struct{}), make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		if request(bufio.NewReader(c)) {
			<-say
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nuntil the end")
		}
		c.Close()
		close(said)
	})
	r := newRig(t, targets.Spec{URL: url, Timeout: time.Hour}, targets.Local{}, 1)
	r.mustSend()
	r.pollUntil("the request is written", func() bool { return r.c.conns[0].state == reading })
	close(say)
	<-said // no Poll before both are there
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, "")
}

// TestAnswerAfterTheTimeout: a whole answer that has come when its time is over is a timeout.
func TestAnswerAfterTheTimeout(t *testing.T) {
	asked, answer, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		if !request(bufio.NewReader(c)) {
			return
		}
		close(asked)
		<-answer
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		close(answered)
	})
	r := newRig(t, targets.Spec{URL: url, Timeout: time.Hour}, targets.Local{}, 1)
	r.mustSend()
	r.pollUntil("the request to arrive", func() bool {
		select {
		case <-asked:
			return true
		default:
			return false
		}
	})
	close(answer)
	await.Closed(t, "the answer", answered)
	cn := r.c.conns[0]
	what := r.await("the answer here", cn)
	r.timeOut()
	r.c.handle(cn, what) // as Poll does: see TestEventsBeforeTimeouts
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, targets.ClassTimeout)
}

// TestEventsBeforeTimeouts: what has come when the time of a request is over counts, and not its timeout.
func TestEventsBeforeTimeouts(t *testing.T) {
	spec := certify(t, time.Hour).serve(t, func(*tls.Conn) {})
	spec.CA, spec.Timeout = "", time.Hour // the certificate is not accepted
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	await.Polled(t, "the end of the handshake", func() { // which the loop does not take
		n, err := r.c.wait(int64(time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if index, what := r.c.poller.Event(i); index >= 0 {
				r.c.handle(r.c.conns[index], what)
			}
		}
	}, r.c.wakeup.Consume)
	r.timeOut()
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 0, targets.ClassTLS)
}

// A server that drips bytes does not answer in time. What is known of the answer remains.
func TestSlowAnswer(t *testing.T) {
	url := serve(t, func(c *net.TCPConn) {
		if !request(bufio.NewReader(c)) {
			return
		}
		for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n") {
			c.Write([]byte{b})
		}
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	check := func(timeout time.Duration, end func(*rig)) {
		r := newRig(t, targets.Spec{URL: url, Timeout: timeout}, targets.Local{}, 2)
		r.mustSend()
		r.poll(20 * time.Millisecond)
		r.mustSend()
		end(r)
		r.pollFor(2)
		for i, x := range r.got {
			if expect(t, x.Outcome, 200, targets.ClassTimeout); x.Call.Number != uint64(i) {
				t.Errorf("request %d ended as number %d", x.Call.Number, i)
			}
			await.Soon(t, "a timeout", time.Duration(x.Done-x.Sent), 5*time.Second)
		}
		if r.c.hosts[0].idle.first != nil {
			t.Error("a connection with half an answer is idle")
		}
	}
	check(time.Hour, func(r *rig) {
		r.pollUntil("the heads, and a part of the bodies", func() bool { return r.c.conns[0].in > 50 && r.c.conns[1].in > 50 })
		r.timeOut()
	})
	if await.Acceptance() { // a slow machine may not read the heads in that time
		check(200*time.Millisecond, func(*rig) {})
	}
}

// Without keep-alive each request has its own connection.
func TestNoKeepAlive(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := newRig(t, targets.Spec{URL: s.URL(), NoKeepAlive: true}, targets.Local{}, 2)
	for range 10 {
		expect(t, r.do(), 200, "")
	}
	if n := s.Connections(); n != 10 {
		t.Errorf("%d connections for 10 requests", n)
	}
}

// Old connections are not reused.
func TestIdleLimit(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := newRig(t, targets.Spec{URL: s.URL()}, targets.Local{}, 4)
	for range 4 {
		r.mustSend()
	}
	r.pollFor(4)
	for cn := r.c.hosts[0].idle.first; cn != nil; cn = cn.next {
		cn.idleSince -= int64(r.c.wire.IdleLimit) + 1
	}
	expect(t, r.do(), 200, "")
	if n := s.Connections(); n != 5 || r.c.hosts[0].idle.first != r.c.hosts[0].idle.last {
		t.Errorf("%d connections, want 5, the new one idle alone", n)
	}
	// A connection that is never needed is closed while another works.
	r.mustSend()
	r.mustSend()
	r.pollFor(7)
	r.c.hosts[0].idle.first.idleSince -= int64(r.c.wire.IdleLimit) + 1
	expect(t, r.do(), 200, "")
	if r.c.hosts[0].idle.first != r.c.hosts[0].idle.last {
		t.Error("a connection remains idle beyond the limit")
	}
}

// After a halt nothing is written, neither over an idle connection nor over one that is being opened.
func TestHalted(t *testing.T) {
	s, err := arrivals.Start(arrivals.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var halted atomic.Bool
	r := newRig(t, targets.Spec{URL: s.URL()}, targets.Local{Halted: halted.Load}, 3)
	expect(t, r.do(), 200, "")
	halted.Store(true)
	for range 3 {
		r.mustSend() // one is idle, two are opened
	}
	r.pollFor(4)
	for _, x := range r.got[1:] {
		expect(t, x.Outcome, 0, targets.ClassCanceled)
		if x.Outcome.BytesOut != 0 {
			t.Errorf("%d bytes written", x.Outcome.BytesOut)
		}
	}
	if n := s.Count(); n != 1 {
		t.Errorf("%d requests arrived, 1 was sent before the halt", n)
	}
	halted.Store(false)
	expect(t, r.do(), 200, "")
}
