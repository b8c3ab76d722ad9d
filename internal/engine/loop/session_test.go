//go:build linux

package loop

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/engine/worker/clienttest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

func TestClientHTTP2(t *testing.T) {
	clienttest.TestClient(t, func(t *testing.T, o clienttest.Options) worker.Client {
		return open(t, targets.Spec{URL: o.URL, HTTP: targets.HTTP2, UnixSocket: o.UnixSocket, Insecure: true, Timeout: o.Timeout}, targets.Local{}, o.Connections)
	})
}

// A twoServer serves HTTP/2 until the test ends, and knows its connections.
type twoServer struct {
	*httptest.Server
	mu    sync.Mutex
	conns map[net.Conn]bool
	all   int // so far
}

// serve2 serves HTTP/2, plain or with TLS. settings may be nil.
func serve2(t *testing.T, secure bool, settings *http.HTTP2Config, handler http.HandlerFunc) *twoServer {
	t.Helper()
	return serveVersions(t, secure, false, settings, handler)
}

// serveVersions is serve2, and also serves HTTP/1.1.
func serveVersions(t *testing.T, secure, one bool, settings *http.HTTP2Config, handler http.HandlerFunc) *twoServer {
	t.Helper()
	s := &twoServer{Server: httptest.NewUnstartedServer(handler), conns: map[net.Conn]bool{}}
	s.Config.Protocols, s.Config.HTTP2, s.Config.ErrorLog = new(http.Protocols), settings, log.New(io.Discard, "", 0)
	s.Config.Protocols.SetHTTP1(one)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.conns[c] = true
			s.all++
		case http.StateClosed:
			delete(s.conns, c)
		}
	}
	if s.EnableHTTP2 = secure; secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// opened returns how many connections there were so far.
func (s *twoServer) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// cut closes all connections, without a word.
func (s *twoServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func two(url string) targets.Spec {
	return targets.Spec{URL: url, HTTP: targets.HTTP2, Insecure: true, Timeout: 30 * time.Second}
}

// Requests with bodies, over one and many streams, with TLS and without, arrive once and are answered.
func TestCarries(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, streams := range []int{1, 8} {
			t.Run(fmt.Sprintf("tls=%v,streams=%d", secure, streams), func(t *testing.T) {
				var arrived atomic.Int64
				s := serve2(t, secure, nil, func(w http.ResponseWriter, r *http.Request) {
					arrived.Add(1)
					if r.ProtoMajor != 2 {
						t.Errorf("%s", r.Proto)
					}
					echo(w, r)
				})
				spec := two(s.URL + "/x")
				spec.Streams, spec.Body = streams, make([]byte, 100_000)
				r := newRig(t, spec, targets.Local{}, 3)
				const n = 300
				for len(r.got) < n {
					for r.sent < n && r.send() {
					}
					r.poll(time.Millisecond)
				}
				for _, g := range r.got {
					if g.Outcome.Status != 200 || g.Outcome.Class != "" || g.Outcome.BytesOut < 100_000 || g.Outcome.BytesIn < 100_000 {
						t.Fatalf("%+v", g.Outcome)
					}
				}
				if arrived.Load() != n || s.opened() > 3 {
					t.Errorf("%d arrived over %d connections", arrived.Load(), s.opened())
				}
			})
		}
	}
}

// Requests that are sent before the first connection is open wait for it together.
func TestWaitForOneConnection(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := serve2(t, secure, nil, echo)
		spec := two(s.URL)
		spec.Streams = 10
		r := newRig(t, spec, targets.Local{}, 5)
		for range 15 {
			r.mustSend()
		}
		r.pollFor(15)
		if n := s.opened(); n != 2 {
			t.Errorf("%d connections for 15 requests, 10 on each", n)
		}
		for range 10 {
			expect(t, r.do(), 200, "")
		}
		if n := s.opened(); n != 2 {
			t.Errorf("%d connections", n)
		}
	}
}

// A server that allows fewer streams gets no more, and none is refused.
func TestStreamsThatTheServerAllows(t *testing.T) {
	var now, most atomic.Int64
	s := serve2(t, false, &http.HTTP2Config{MaxConcurrentStreams: 3}, func(http.ResponseWriter, *http.Request) {
		for n := now.Add(1); ; {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
	})
	spec := two(s.URL)
	spec.Streams = 50
	r := newRig(t, spec, targets.Local{}, 1)
	for len(r.got) < 200 {
		for r.sent < 200 && r.send() {
		}
		r.poll(time.Millisecond)
	}
	for _, g := range r.got {
		expect(t, g.Outcome, 200, "")
	}
	if most.Load() > 3 || s.opened() != 1 {
		t.Errorf("%d at a time, over %d connections", most.Load(), s.opened())
	}
}

// A request that takes too long is given up. The connection goes on if the server gave a sign of life meanwhile; else it
// is closed when the others on it have ended.
func TestCarriedTimeout(t *testing.T) {
	for _, c := range []struct {
		alive       bool
		connections int
	}{{true, 1}, {false, 2}} {
		canceled, arrived := make(chan struct{}, 1), make(chan struct{}, 1)
		s := serve2(t, true, nil, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/1") {
				if c.alive {
					w.WriteHeader(200)
					_ = http.NewResponseController(w).Flush()
				}
				arrived <- struct{}{}
				<-r.Context().Done()
				canceled <- struct{}{}
			}
		})
		spec := two(s.URL + "/${ordinal}")
		spec.Timeout, spec.Streams = time.Hour, 2
		r := newRig(t, spec, targets.Local{}, 1)
		expect(t, r.do(), 200, "")
		r.mustSend()
		cn := r.c.inFlight.first
		r.pollUntil("the request, and the head of its answer", func() bool {
			return len(arrived) > 0 && (!c.alive || cn.stream.on.session.received > cn.stream.received)
		})
		r.timeOut()
		r.pollFor(2)
		if got := r.got[1].Outcome; got.Class != targets.ClassTimeout || got.BytesOut == 0 {
			t.Errorf("%+v", got)
		}
		await.Receive(t, "the end of the request", canceled)
		expect(t, r.do(), 200, "")
		if s.opened() != c.connections {
			t.Errorf("alive %v: %d connections", c.alive, s.opened())
		}
	}
}

// A server that answers no connection makes requests fail in time; each that waits for the same connection.
func TestCarriedConnectTimeout(t *testing.T) {
	url := serve(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	spec := two(strings.Replace(url, "http:", "https:", 1))
	spec.Timeout, spec.Streams = 100*time.Millisecond, 3
	r := newRig(t, spec, targets.Local{}, 2)
	for range 6 {
		r.mustSend()
	}
	if r.send() {
		t.Error("a seventh of six was accepted")
	}
	r.pollFor(6)
	for _, g := range r.got {
		expect(t, g.Outcome, 0, targets.ClassTimeout)
	}
	if r.c.opening != 0 || r.c.connections != 0 {
		t.Errorf("%d opening, %d connections", r.c.opening, r.c.connections)
	}
}

// A refused connection, and a server without HTTP/2, fail all that wait.
func TestCarriedFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	one := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(one.Close)
	plain := serve(t, answer(ok))
	for url, class := range map[string]string{nobody: targets.ClassConnect, one.URL: targets.ClassTLS, plain: targets.ClassProtocol} {
		spec := two(url)
		spec.Streams = 4
		r := newRig(t, spec, targets.Local{}, 1)
		for range 4 {
			r.mustSend()
		}
		r.pollFor(4)
		for _, g := range r.got {
			if g.Outcome.Class != class || g.Outcome.Status != 0 {
				t.Errorf("%s: %+v, want %s", url, g.Outcome, class)
			}
		}
		if r.c.connections != 0 || r.c.opening != 0 {
			t.Errorf("%s: %d connections are left", url, r.c.connections)
		}
	}
}

// A halted worker sends nothing more, also if a connection opens late.
func TestCarriedHalt(t *testing.T) {
	var arrived atomic.Int64
	s := serve2(t, true, nil, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
	var halted atomic.Bool
	r := newRig(t, two(s.URL), targets.Local{Halted: halted.Load}, 2)
	expect(t, r.do(), 200, "")
	halted.Store(true)
	r.mustSend() // on the open connection
	r.mustSend() // on one to be opened
	r.pollFor(3)
	for _, g := range r.got[1:] {
		expect(t, g.Outcome, 0, targets.ClassCanceled)
	}
	if arrived.Load() != 1 {
		t.Errorf("%d arrived", arrived.Load())
	}
}

// Without keep-alive each connection carries one request.
func TestCarriesOnce(t *testing.T) {
	s := serve2(t, false, nil, echo)
	spec := two(s.URL)
	spec.NoKeepAlive = true
	r := newRig(t, spec, targets.Local{}, 3)
	for range 9 {
		expect(t, r.do(), 200, "")
	}
	if s.opened() != 9 || r.c.connections != 0 {
		t.Errorf("%d connections, %d are left", s.opened(), r.c.connections)
	}
}

// Connections opened ahead carry the first requests.
func TestCarriersAhead(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := serve2(t, secure, nil, echo)
		r := newRig(t, two(s.URL), targets.Local{}, 20)
		if n := r.c.Preconnect(t.Context(), 20, 0); n != 20 {
			t.Fatalf("%d connections are open", n)
		}
		for range 20 {
			r.mustSend()
		}
		r.pollFor(20)
		if s.opened() != 20 {
			t.Errorf("%d connections", s.opened())
		}
	}
}

// Two hosts share one conn: the connection to the other one makes room.
func TestCarriersMakeRoom(t *testing.T) {
	a, b := serve2(t, false, nil, echo), serve2(t, false, nil, echo)
	spec := targets.Spec{HTTP: targets.HTTP2, Flows: []targets.Flow{
		{Name: "a", Steps: []targets.Step{{Name: "a", URL: a.URL}}}, {Name: "b", Steps: []targets.Step{{Name: "b", URL: b.URL}}},
	}}
	for connections, each := range map[int]int{1: 5, 2: 1} {
		before := a.opened()
		r := newRig(t, spec, targets.Local{}, connections)
		r.mix = spec.Mix()
		for range 10 {
			expect(t, r.do(), 200, "")
		}
		if n := a.opened() - before; n != each {
			t.Errorf("%d connections: %d were opened to the first host, want %d", connections, n, each)
		}
	}
}

// A server that cuts idle connections costs no request. One that says goodbye first costs none either, with any number
// of requests under way.
func TestCarriersEnd(t *testing.T) {
	s := serve2(t, false, nil, echo)
	r := newRig(t, two(s.URL), targets.Local{}, 3)
	for range 5 {
		for range 3 {
			r.mustSend()
		}
		r.pollFor(int(r.sent))
		s.cut()
		time.Sleep(20 * time.Millisecond) // longer than a connection may be idle without a look
	}
	for _, g := range r.got {
		expect(t, g.Outcome, 200, "")
	}

	var slow atomic.Int64
	leaving := serve2(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		slow.Add(1)
		time.Sleep(100 * time.Millisecond)
		echo(w, r)
	})
	spec := two(leaving.URL)
	spec.Streams = 3
	r = newRig(t, spec, targets.Local{}, 2)
	for range 6 {
		r.mustSend()
	}
	r.pollUntil("the requests arrived", func() bool { return slow.Load() == 6 })
	ended := make(chan error, 1)
	go func() { ended <- leaving.Config.Shutdown(context.Background()) }() // GOAWAY, and waits
	r.pollFor(6)
	for _, g := range r.got {
		expect(t, g.Outcome, 200, "")
	}
	r.pollUntil("the connections closed", func() bool { return r.c.connections == 0 })
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What a server that leaves did not process arrives once, on another connection, also if that has to wait until the only
// one has carried its other requests to their end.
func TestLeavingMakesRoom(t *testing.T) {
	for _, last := range []uint32{0, 1, 3} { // stream that the server processes
		var connections, answered atomic.Int64
		url := serve(t, func(c *net.TCPConn) {
			fr := http2.NewFramer(c, c)
			first := connections.Add(1) == 1
			answer := func(id uint32) {
				answered.Add(1)
				const status200 = "\x88"
				_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(status200), EndHeaders: true, EndStream: true})
			}
			_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
			_ = fr.WriteSettings()
			for came := 0; ; {
				f, err := fr.ReadFrame()
				if err != nil {
					return
				}
				if h, ok := f.(*http2.HeadersFrame); !ok {
					continue
				} else if came++; !first {
					answer(h.StreamID)
				}
				if first && came == 3 {
					_ = fr.WriteGoAway(last, http2.ErrCodeNo, nil)
					time.Sleep(20 * time.Millisecond) // the client has heard it, probably
					for id := uint32(1); id <= last; id += 2 {
						answer(id)
					}
				}
			}
		})
		spec := two(url)
		spec.Streams = 3
		r := newRig(t, spec, targets.Local{}, 1)
		for range 3 {
			r.mustSend()
		}
		r.pollFor(3)
		for _, g := range r.got {
			expect(t, g.Outcome, 200, "")
		}
		if answered.Load() != 3 || connections.Load() != 2 || r.c.inFlight.first != nil {
			t.Errorf("last %d: %d were answered, over %d connections", last, answered.Load(), connections.Load())
		}
	}
}

// Whatever a server does to its connections, each request ends once, and none arrives twice.
func TestCarriedOnce(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var mu sync.Mutex
		arrived := map[string]int{}
		var server atomic.Pointer[twoServer]
		s := serve2(t, secure, &http.HTTP2Config{MaxConcurrentStreams: 5}, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			arrived[r.URL.Path]++
			mu.Unlock()
			switch rand.IntN(50) {
			case 0:
				server.Load().cut()
			case 1:
				panic(http.ErrAbortHandler) // RST_STREAM
			case 2:
				w.Header().Set("Connection", "close") // GOAWAY
			}
			echo(w, r)
		})
		server.Store(s)
		spec := two(s.URL + "/${ordinal}")
		spec.Streams, spec.Body = 4, make([]byte, 1000)
		r := newRig(t, spec, targets.Local{}, 4)
		const n = 3000
		seen := map[uint64]bool{}
		good := 0
		for len(r.got) < n {
			for r.sent < n && r.send() {
			}
			r.poll(time.Millisecond)
		}
		for _, g := range r.got {
			if seen[g.Call.Number] {
				t.Fatalf("request %d ended twice", g.Call.Number)
			}
			seen[g.Call.Number] = true
			if g.Outcome.Class == "" {
				good++
			}
		}
		mu.Lock()
		for path, times := range arrived {
			if times > 1 {
				t.Errorf("%s arrived %d times", path, times)
			}
		}
		if len(arrived) < good || good < n/4 {
			t.Errorf("%d arrived, %d of %d were answered", len(arrived), good, n)
		}
		mu.Unlock()
		if r.c.opening != 0 || r.c.inFlight.first != nil || r.c.connections > 4 {
			t.Errorf("%d opening, %d connections", r.c.opening, r.c.connections)
		}
	}
}

// TestHostileServers plays the table of hostile servers of HTTP/2.
func TestHostileServers(t *testing.T) {
	http2test.Run(t, func(t *testing.T, x *http2test.Try) {
		spec := two(x.URL)
		spec.Method, spec.Body, spec.BodyLimit, spec.Expect, spec.Streams, spec.Timeout = x.Method, make([]byte, x.Body), x.BodyLimit, "100-999", x.Count(), x.Timeout
		r := newRig(t, spec, targets.Local{}, 1)
		for range x.Count() {
			r.mustSend()
		}
		r.pollFor(x.Count())
		var got []http2test.Outcome
		for _, g := range r.got {
			got = append(got, http2test.Outcome{Class: g.Outcome.Class, Status: g.Outcome.Status})
		}
		x.Check(t, got)
		if x.Ends {
			r.pollUntil("the connection is closed", x.Server.Gone)
		}
	})
}
