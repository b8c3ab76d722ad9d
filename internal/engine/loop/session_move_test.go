//go:build linux

package loop

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2/http2test"
	"github.com/loadctl/loadctl/targets/status"
)

// serveFrames serves connections of HTTP/2 by hand, from their first frame on. n counts them from 1.
func serveFrames(t *testing.T, f func(n int64, c net.Conn, frames *http2.Framer)) string {
	t.Helper()
	return serveNth(t, func(n int64, c *net.TCPConn) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err == nil {
			_, _ = c.Write(http2test.Settings())
			f(n, c, http2.NewFramer(c, c))
		}
	})
}

// answerFrames answers each request when its end has come, until the connection ends.
func answerFrames(c net.Conn, frames *http2.Framer) {
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			return
		}
		if e, ok := frame.(interface{ StreamEnded() bool }); ok && e.StreamEnded() {
			_, _ = c.Write(http2test.Answer(frame.Header().StreamID))
		}
	}
}

// leavesAfterFirst answers GOAWAY to the second request on its first connection, and then the first one when it is told.
// On other connections it answers all, but not while it is deaf.
func leavesAfterFirst(t *testing.T, now <-chan struct{}, heads *atomic.Int64, deaf *atomic.Bool) string {
	t.Helper()
	return serveFrames(t, func(n int64, c net.Conn, frames *http2.Framer) {
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				return
			}
			h, ok := frame.(*http2.HeadersFrame)
			if !ok {
				continue
			}
			heads.Add(1)
			switch {
			case n > 1 && deaf.Load():
			case n > 1:
				_, _ = c.Write(http2test.Answer(h.StreamID))
			case h.StreamID == 3:
				_, _ = c.Write(http2test.Frame(7, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 0}))
				select {
				case <-now:
					_, _ = c.Write(http2test.Answer(1))
				case <-t.Context().Done():
				}
			}
		}
	})
}

// A request that the server did not process moves to another connection. If there may be none for now, it waits, and no
// new request overtakes it.
func TestMovedRequestWaitsForRoom(t *testing.T) {
	var heads atomic.Int64
	now := make(chan struct{})
	spec := two(leavesAfterFirst(t, now, &heads, new(atomic.Bool)))
	spec.Streams = 2
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	r.mustSend()
	r.pollUntil("one of two is unassigned", func() bool { return len(r.c.unassigned) == 1 })
	if r.send() || len(r.got) > 0 {
		t.Fatalf("there is no room, but a third request was taken; ended: %+v", r.got)
	}
	close(now)
	r.pollFor(2)
	for _, g := range r.got {
		expect(t, g.Outcome, 200, "")
	}
	if first, second := r.got[0].Outcome.BytesOut, r.got[1].Outcome.BytesOut; second != 2*first || heads.Load() != 3 {
		t.Errorf("%d bytes, and %d of what was sent twice; %d requests arrived", first, second, heads.Load())
	}
}

// A request that waits for room in vain ends in time.
func TestStrandedTimeout(t *testing.T) {
	var heads atomic.Int64
	var deaf atomic.Bool // the first request may time out a moment before the second, which then finds room
	deaf.Store(true)
	spec := two(leavesAfterFirst(t, nil, &heads, &deaf))
	spec.Streams, spec.Timeout = 2, time.Hour
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	r.mustSend()
	r.pollUntil("one of two is unassigned", func() bool { return len(r.c.unassigned) == 1 })
	r.timeOut()
	r.pollFor(2)
	for _, g := range r.got {
		expect(t, g.Outcome, 0, targets.ClassTimeout)
	}
	if len(r.c.unassigned) > 0 {
		t.Errorf("%d are unassigned", len(r.c.unassigned))
	}
	deaf.Store(false)
	expect(t, r.do(), 200, "")
}

// A server that leaves each of its connections at once gets no storm of them.
func TestServerThatAlwaysLeaves(t *testing.T) {
	var connections atomic.Int64
	url := serveFrames(t, func(n int64, c net.Conn, _ *http2.Framer) {
		connections.Store(n)
		_, _ = c.Write(http2test.Frame(7, 0, 0, make([]byte, 8)))
		_, _ = io.Copy(io.Discard, c)
	})
	spec := two(url)
	spec.Streams = 4
	r := newRig(t, spec, targets.Local{}, 2)
	const requests = 8
	for range requests {
		r.mustSend()
	}
	r.pollFor(requests)
	for _, g := range r.got {
		if g.Outcome.Class == "" {
			t.Errorf("%+v", g.Outcome)
		}
	}
	if n := connections.Load(); n > 2*requests || r.c.connections != 0 || r.c.opening != 0 {
		t.Errorf("%d connections for %d requests; %d are left, %d are being opened", n, requests, r.c.connections, r.c.opening)
	}
}

// A request that was encrypted, but not sent, is sent by another connection only: not by the end of its own, too.
func TestEncryptedRequestMoves(t *testing.T) {
	var arrived atomic.Int64
	s := serve2(t, true, nil, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
	spec := two(s.URL)
	spec.Streams = 2
	r := newRig(t, spec, targets.Local{}, 1)
	expect(t, r.do(), 200, "")
	r.mustSend()
	cn := r.c.inFlight.first.stream.on
	if b, err := cn.toWrite(); len(b) == 0 || err != nil { // as if there was no room to send it
		t.Fatal(len(b), err)
	}
	r.c.lose(cn, io.EOF)
	r.pollFor(2)
	expect(t, r.got[1].Outcome, 200, "")
	r.pollUntil("the first connection is closed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 1
	})
	if n := arrived.Load(); n != 2 {
		t.Errorf("%d requests arrived, 2 were sent", n)
	}
}

// A request moves once because of GOAWAY, also if another connection broke under it in between.
func TestMovesOnce(t *testing.T) {
	url := serveFrames(t, func(n int64, c net.Conn, frames *http2.Framer) {
		if n > 1 {
			answerFrames(c, frames)
		}
		_, _ = io.Copy(io.Discard, c)
	})
	r := newRig(t, two(url), targets.Local{}, 1)
	r.mustSend()
	cn := r.c.inFlight.first
	sn := cn.stream.on.session
	r.pollUntil("the connection is open", func() bool { return sn.capacity != nil })
	cn.stream.moved, cn.reused, cn.stream.start = true, true, sn.wrote // as if the peer had taken nothing of it
	r.c.lose(cn.stream.on, io.EOF)
	if !cn.stream.moved {
		t.Error("it could move once more")
	}
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 200, "")
}

// A skipping listener leaves its first connection alone.
type skipping struct {
	net.Listener
	first net.Conn
}

func (s *skipping) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err == nil && s.first == nil {
		s.first = c
		return s.Listener.Accept()
	}
	return c, err
}

// No connection is opened for longer than a request may take, however many requests wait for it.
func TestOpeningEnds(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	s.EnableHTTP2 = true
	s.Listener = &skipping{Listener: s.Listener}
	s.StartTLS()
	defer s.Close()
	spec := two(s.URL)
	spec.Streams, spec.Timeout = 10, 500*time.Millisecond
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	r.c.wire.Timeout = time.Hour // of the second request: it has time, on a slow machine too
	r.mustSend()
	r.c.wire.Timeout = spec.Timeout
	r.pollFor(2)
	expect(t, r.got[0].Outcome, 0, targets.ClassTimeout)
	expect(t, r.got[1].Outcome, 200, "")
	if r.c.opening != 0 || r.c.connections != 1 {
		t.Errorf("%d opening, %d connections", r.c.opening, r.c.connections)
	}
}

// A connection that nobody needs is closed when it is old, also if others always have room.
func TestCarriersGrowOld(t *testing.T) {
	s := serve2(t, false, nil, echo)
	spec := two(s.URL)
	spec.Streams = 2
	r := newRig(t, spec, targets.Local{}, 2)
	for range 3 {
		r.mustSend()
	}
	r.pollFor(3)
	if r.c.connections != 2 {
		t.Fatalf("%d connections", r.c.connections)
	}
	r.c.wire.IdleLimit = 300 * time.Millisecond
	await.True(t, "the end of the other connection", func() bool {
		expect(t, r.do(), 200, "")
		return r.c.connections == 1
	})
}

// A request that asks to close its connection is the last on it, whoever opened it.
func TestCarriesLast(t *testing.T) {
	s := serve2(t, false, nil, echo)
	spec := targets.Spec{HTTP: targets.HTTP2, Flows: []targets.Flow{
		{Name: "a", Steps: []targets.Step{{Name: "a", URL: s.URL}}},
		{Name: "b", Steps: []targets.Step{{Name: "b", URL: s.URL, Headers: []targets.Header{{Name: "Connection", Value: "close"}}}}},
	}}
	r := newRig(t, spec, targets.Local{}, 3)
	r.mix = spec.Mix()
	for range 6 {
		expect(t, r.do(), 200, "")
	}
	if s.opened() != 3 || r.c.connections != 0 {
		t.Errorf("%d connections for 3 requests that close theirs, %d are left", s.opened(), r.c.connections)
	}
}

// When a server allows more streams, Poll returns, though nothing has ended: a request may have been refused before.
func TestMoreStreams(t *testing.T) {
	var heads atomic.Int64
	now := make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		for frames := http2.NewFramer(c, c); ; {
			frame, err := frames.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok && heads.Add(1) == 1 {
				<-now
				_, _ = c.Write(http2test.Settings())
			}
		}
	})
	spec := two(url)
	spec.Streams = 2
	r := newRig(t, spec, targets.Local{}, 1)
	r.mustSend()
	r.pollUntil("a request arrived", func() bool { return heads.Load() == 1 })
	if r.send() {
		t.Fatal("a second request before the settings")
	}
	close(now)
	until := r.c.Now() + int64(time.Hour)
	if err := r.c.Poll(until, nil); err != nil || r.c.Now() >= until {
		t.Errorf("%v: it waited for the end of a request", err)
	}
	r.mustSend()
	r.pollUntil("both arrived", func() bool { return heads.Load() == 2 })
}

// A connection whose peer reads nothing occupies place when its requests have ended, though the peer goes on to talk.
func TestBlockedConnectionEnds(t *testing.T) {
	url := serveFrames(t, func(n int64, c net.Conn, frames *http2.Framer) {
		windows := append(http2test.Settings(4, 1<<31-1), http2test.Frame(8, 0, 0, []byte{0x70, 0, 0, 0})...)
		if _, _ = c.Write(windows); n > 1 {
			answerFrames(c, frames)
			return
		}
		for err := error(nil); err == nil; time.Sleep(5 * time.Millisecond) {
			_, err = c.Write(http2test.Frame(99, 0, 0, nil))
		}
	})
	spec := two(url)
	spec.Method, spec.Body, spec.Timeout = "POST", make([]byte, 12<<20), time.Second
	r := newRig(t, spec, targets.Local{}, 1)
	expect(t, r.do(), 0, targets.ClassTimeout)
	r.c.wire.Timeout = time.Hour
	expect(t, r.do(), 200, "")
}

// TestCalls: calls over gRPC ride like other requests, at a server of gRPC's own library. The status is in the trailers,
// or in the only head.
func TestCalls(t *testing.T) {
	s := rpctest.Start(t)
	for _, streams := range []int{1, 8} {
		for _, c := range []struct {
			body, check, name, class string
		}{
			{`{"responseSize": 3, "payload": {"body": "aGVsbG8="}}`, "json username = hello", "OK", ""},
			{`{"responseSize": 300000}`, "size > 299kB", "OK", ""},
			{`{"responseStatus": {"code": 5, "message": "x"}}`, "", "NOT_FOUND", targets.ClassStatus},
		} {
			spec := targets.Spec{URL: s.URL("UnaryCall"), Body: []byte(c.body), Descriptors: rpctest.Descriptors(t), Streams: streams, Timeout: 30 * time.Second}
			if c.check != "" {
				spec.Checks = []string{c.check}
			}
			before := s.Calls()
			r := newRig(t, spec, targets.Local{}, 2)
			for range 2 * streams {
				r.mustSend()
			}
			r.pollFor(2 * streams)
			for _, g := range r.got {
				if got := status.Name(g.Outcome.Status); got != c.name || g.Outcome.Class != c.class {
					t.Errorf("%s: %s, %+v", c.body, got, g.Outcome)
				}
			}
			if n := s.Calls() - before; n != int64(2*streams) {
				t.Errorf("%d calls arrived, %d were made", n, 2*streams)
			}
		}
	}
	empty := newRig(t, targets.Spec{URL: s.URL("EmptyCall"), Descriptors: rpctest.Descriptors(t), Checks: []string{"size < 1B"}, Timeout: 30 * time.Second}, targets.Local{}, 1)
	if got := empty.do(); status.Name(got.Status) != "OK" || got.Class != "" {
		t.Errorf("an empty message: %+v", got)
	}
	stream := newRig(t, targets.Spec{
		URL: s.URL("StreamingOutputCall"), Body: []byte(`{"responseParameters": [{"size": 1}, {"size": 7}]}`), Descriptors: rpctest.Descriptors(t), Timeout: 30 * time.Second,
	}, targets.Local{}, 1)
	if got := stream.do(); status.Name(got.Status) != "OK" || got.Class != "" {
		t.Errorf("a stream of answers: %+v", got)
	}
}
