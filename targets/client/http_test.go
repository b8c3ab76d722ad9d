package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

// arrive starts a server that counts.
func arrive(t testing.TB, o arrivals.Options) *arrivals.Server {
	t.Helper()
	s, err := arrivals.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serve starts a server with a handler of net/http.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// The server sees exactly the bytes asked for, and the counted bytes are those sent.
func TestRequestOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name string
		spec targets.Spec
		want string
	}{
		{"least", targets.Spec{}, "GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: loadctl\r\n\r\n"},
		{
			"headers keep order and case",
			targets.Spec{URL: "/a b?c d", Headers: []targets.Header{{Name: "x-B", Value: "2"}, {Name: "X-a", Value: "1"}, {Name: "x-B", Value: ""}, {Name: "host", Value: "other"}, {Name: "user-agent", Value: "me"}}},
			"GET /a%20b?c%20d HTTP/1.1\r\nx-B: 2\r\nX-a: 1\r\nx-B: \r\nhost: other\r\nuser-agent: me\r\n\r\n",
		},
		{
			"body", targets.Spec{Body: []byte("a\x00b")},
			"POST / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: loadctl\r\nContent-Length: 3\r\n\r\na\x00b",
		},
		{
			"empty body, no keep-alive", targets.Spec{Method: "PUT", NoKeepAlive: true},
			"PUT / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: loadctl\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make(chan string, 1)
			const reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			addr := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) {
				buf := make([]byte, 4096)
				n, _ := conn.Read(buf)
				got <- string(buf[:n])
				io.WriteString(conn, reply)
			})
			c.spec.URL = "http://" + addr + c.spec.URL
			out := do(t, open(t, c.spec, targets.Local{}), 200, "")
			want := strings.ReplaceAll(c.want, "HOST", addr)
			if s := <-got; s != want {
				t.Errorf("got\n%q\nwant\n%q", s, want)
			}
			if out.BytesOut != int64(len(want)) || out.BytesIn != int64(len(reply)) {
				t.Errorf("bytes out %d and in %d, want %d and %d", out.BytesOut, out.BytesIn, len(want), len(reply))
			}
		})
	}
}

// Answers of a server, and their outcomes. The connection is closed after the answer.
func TestAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name, answer string
		spec         targets.Spec
		status       int
		class        string
	}{
		{"until the end", ok + "\r\nabc", targets.Spec{}, 200, ""},
		{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n", targets.Spec{}, 200, ""},
		{"no body", "HTTP/1.1 204 No Content\r\n\r\n", targets.Spec{}, 204, ""},
		{"head", ok + "Content-Length: 10\r\n\r\n", targets.Spec{Method: "HEAD"}, 200, ""},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n", targets.Spec{}, 200, ""},
		{"interim for ever", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20), targets.Spec{}, 0, targets.ClassProtocol},
		{"upgrade", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nbytes", targets.Spec{Expect: "101"}, 101, ""},
		{"old protocol", "HTTP/1.0 200 OK\r\n\r\nabc", targets.Spec{}, 200, ""},
		{"unexpected", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", targets.Spec{}, 404, targets.ClassStatus},
		{"expected", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", targets.Spec{Expect: "404"}, 404, ""},
		{"nothing", "", targets.Spec{}, 0, targets.ClassEOF},
		{"half a head", ok + "A: b", targets.Spec{}, 0, targets.ClassEOF},
		{"half a body", ok + "Content-Length: 10\r\n\r\nabc", targets.Spec{}, 200, targets.ClassEOF},
		{"half a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nabc", targets.Spec{}, 200, targets.ClassEOF},
		{"no HTTP", "SSH-2.0-OpenSSH\r\n", targets.Spec{}, 0, targets.ClassProtocol},
		{"bad chunk", ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", targets.Spec{}, 200, targets.ClassProtocol},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", targets.Spec{}, 0, targets.ClassProtocol},
		{"large head", ok + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 60) + "Content-Length: 0\r\n\r\n", targets.Spec{}, 200, ""},
		{"huge head", ok + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 1100) + "\r\n", targets.Spec{}, 0, targets.ClassHeadLimit},
		{"endless line", ok + "A: " + strings.Repeat("b", 2<<20), targets.Spec{}, 0, targets.ClassHeadLimit},
		{"body at the limit", ok + "Content-Length: 10\r\n\r\n0123456789", targets.Spec{BodyLimit: 10}, 200, ""},
		{"no limit", ok + "Content-Length: 10\r\n\r\n0123456789", targets.Spec{BodyLimit: math.MaxInt64}, 200, ""},
		{"body past the limit", ok + "Content-Length: 11\r\n\r\n0123456789a", targets.Spec{BodyLimit: 10}, 200, targets.ClassBodyLimit},
		{"chunks past the limit", ok + "Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n", targets.Spec{BodyLimit: 10}, 200, targets.ClassBodyLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := echotest.Listen(t, "127.0.0.1:0", answer(c.answer))
			c.spec.URL = "http://" + addr
			out := do(t, open(t, c.spec, targets.Local{}), c.status, c.class)
			if c.class == "" && c.name != "upgrade" && out.BytesIn != int64(len(c.answer)) {
				t.Errorf("bytes in %d of %d", out.BytesIn, len(c.answer))
			}
		})
	}
}

// The trap: a server takes one request, answers it, takes the next one on the same connection, and closes without an
// answer. A client that silently tries again sends more than it counts.
func TestNothingIsSentTwice(t *testing.T) {
	var received atomic.Int64
	addr := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) {
		br := bufio.NewReader(conn)
		for n := 0; ; n++ {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			received.Add(1)
			if n == 1 {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	target := open(t, targets.Spec{URL: "http://" + addr}, targets.Local{})
	for i := range 20 {
		if i%2 == 0 {
			do(t, target, 200, "")
		} else {
			do(t, target, 0, targets.ClassEOF)
		}
	}
	if n := received.Load(); n != 20 {
		t.Errorf("20 requests were made and %d received", n)
	}
	// Check that the trap works: net/http falls into it.
	received.Store(0)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 2 {
		if resp, err := client.Get("http://" + addr); err == nil {
			resp.Body.Close()
		}
	}
	if n := received.Load(); n != 3 {
		t.Errorf("net/http made 2 requests and %d were received, where 3 were expected", n)
	}
}

// Unrequested bytes must not become the answer to the next request.
func TestUnsolicitedBytes(t *testing.T) {
	var n atomic.Int64
	addr := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) {
		br := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			n.Add(1)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n")
		}
	})
	target := open(t, targets.Spec{URL: "http://" + addr}, targets.Local{})
	for range 3 {
		out := do(t, target, 200, "")
		if want := int64(len("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); out.BytesIn != want {
			t.Errorf("bytes in %d, want %d", out.BytesIn, want)
		}
	}
	if n.Load() != 3 {
		t.Errorf("%d received, want 3", n.Load())
	}
}

func TestKeepAlive(t *testing.T) {
	for _, c := range []struct {
		spec targets.Spec
		want int64
	}{
		{targets.Spec{}, 1},
		{targets.Spec{NoKeepAlive: true}, 10},
		{targets.Spec{Headers: []targets.Header{{Name: "Connection", Value: "close"}}}, 10},
	} {
		s := arrive(t, arrivals.Options{})
		c.spec.URL = s.URL()
		target := open(t, c.spec, targets.Local{})
		for range 10 {
			do(t, target, 200, "")
		}
		if s.Connections() != c.want || s.Count() != 10 {
			t.Errorf("%+v: %d connections, %d received", c.spec, s.Connections(), s.Count())
		}
	}
}

func TestErrorAnswersKeepTheConnection(t *testing.T) {
	s := arrive(t, arrivals.Options{Status: 503})
	target := open(t, targets.Spec{URL: s.URL()}, targets.Local{})
	for range 5 {
		do(t, target, 503, targets.ClassStatus)
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
}

// Concurrent use, with fewer connections than callers: each request arrives once, and the limit holds.
func TestMaxConnections(t *testing.T) {
	s := arrive(t, arrivals.Options{})
	target := open(t, targets.Spec{URL: s.URL()}, targets.Local{MaxConnections: 4})
	var wg sync.WaitGroup
	var in, out atomic.Int64
	for range 40 {
		wg.Go(func() {
			for n := range uint64(50) {
				o := target.Do(t.Context(), targets.Call{Number: n})
				if o.Class != "" {
					t.Errorf("class %s", o.Class)
				}
				in.Add(o.BytesIn)
				out.Add(o.BytesOut)
			}
		})
	}
	wg.Wait()
	if s.Count() != 2000 || s.Connections() > 4 {
		t.Errorf("%d received over %d connections", s.Count(), s.Connections())
	}
	one := do(t, target, 200, "")
	if in.Load() != 2000*one.BytesIn || out.Load() != 2000*one.BytesOut {
		t.Errorf("bytes in %d and out %d are not 2000 times %+v", in.Load(), out.Load(), one)
	}
}

// The timeout, the context or Close end the wait for a connection, and it leaves no trace.
func TestWaitingForAConnection(t *testing.T) {
	release, requests := make(chan struct{}), new(atomic.Int64)
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-release
	})
	target := open(t, targets.Spec{URL: server.URL, Timeout: time.Hour}, targets.Local{MaxConnections: 1})
	var wg sync.WaitGroup
	wg.Go(func() { do(t, target, 200, "") })
	await.True(t, "the first request", func() bool { return requests.Load() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassTimeout || got.BytesOut != 0 {
		t.Errorf("past the deadline: %+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassCanceled {
		t.Errorf("canceled: %+v", got)
	}
	wg.Go(func() { do(t, target, 0, targets.ClassCanceled) })
	target.Close()
	do(t, target, 0, targets.ClassCanceled)
	close(release)
	wg.Wait()
	if requests.Load() != 1 {
		t.Errorf("%d received", requests.Load())
	}
}

// TestTimeoutWithTheWait: a request that waited for a connection has no more time than one that did not.
func TestTimeoutWithTheWait(t *testing.T) {
	const timeout = 200 * time.Millisecond
	addr := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) { io.Copy(io.Discard, conn) })
	target := open(t, targets.Spec{URL: "http://" + addr, Timeout: timeout}, targets.Local{MaxConnections: 1})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			began := time.Now()
			do(t, target, 0, targets.ClassTimeout)
			await.Soon(t, "a timeout", time.Since(began), timeout*3/2)
		})
		time.Sleep(timeout / 4)
	}
	all.Wait()
}

func TestTimeout(t *testing.T) {
	const timeout = 100 * time.Millisecond
	silent := func(conn net.Conn) { io.Copy(io.Discard, conn) }
	drip := func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		for { // until the client has gone
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for _, c := range []struct {
		name, scheme string
		serve        func(net.Conn)
		body         int
		status       int
	}{
		{"no answer", "http", silent, 0, 0},
		{"drip", "http", drip, 0, 200},
		{"no handshake", "https", silent, 0, 0},
		{"body not read", "http", func(net.Conn) { <-t.Context().Done() }, 32 << 20, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := echotest.Listen(t, "127.0.0.1:0", c.serve)
			spec := targets.Spec{URL: c.scheme + "://" + addr, Timeout: timeout, Body: make([]byte, c.body)}
			target := open(t, spec, targets.Local{})
			await.True(t, "a timeout after what was served", func() bool { // a slow machine may not serve it in that time
				began := time.Now()
				got := target.Do(t.Context(), targets.Call{})
				took := time.Since(began)
				await.Soon(t, "a timeout", took, 10*timeout)
				if got.Class != targets.ClassTimeout || took < timeout {
					t.Fatalf("%+v after %v", got, took)
				}
				return got.Status == c.status
			})
		})
	}
}

func TestCancel(t *testing.T) {
	s := arrive(t, arrivals.Options{})
	target := open(t, targets.Spec{URL: s.URL()}, targets.Local{})
	do(t, target, 200, "")
	s.Stall(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for s.Count() < 2 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassCanceled || got.BytesOut == 0 {
		t.Errorf("got %+v", got)
	}
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassCanceled || got.BytesOut != 0 {
		t.Errorf("of a context that ended: %+v", got)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassTimeout {
		t.Errorf("past the deadline: %+v", got)
	}
	if n := s.Count(); n > 3 {
		t.Errorf("%d received, want 3", n)
	}
}

// A context that ends after its request does not harm the connection.
func TestContextPerRequest(t *testing.T) {
	s := arrive(t, arrivals.Options{})
	target := open(t, targets.Spec{URL: s.URL()}, targets.Local{})
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if got := target.Do(ctx, targets.Call{}); got.Class != "" {
			t.Errorf("got %+v", got)
		}
		cancel()
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
}

func TestConnectionErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	l.Close()
	do(t, open(t, targets.Spec{URL: "http://" + free}, targets.Local{}), 0, targets.ClassConnect)
	do(t, open(t, targets.Spec{URL: "http://a", UnixSocket: t.TempDir() + "/none"}, targets.Local{}), 0, targets.ClassConnect)
	// 192.0.2.1 is reserved for documentation: nothing is sent.
	do(t, open(t, targets.Spec{URL: "http://" + free}, targets.Local{Addresses: []string{"192.0.2.1"}}), 0, targets.ClassPorts)
	reset := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		c.(*net.TCPConn).SetLinger(0)
	})
	do(t, open(t, targets.Spec{URL: "http://" + reset}, targets.Local{}), 0, targets.ClassReset)
}

func TestLocalAddresses(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		seen[host]++
	})
	target := open(t, targets.Spec{URL: s.URL, NoKeepAlive: true}, targets.Local{Addresses: []string{"127.0.0.2", "127.0.0.3"}})
	for range 4 {
		do(t, target, 200, "")
	}
	if seen["127.0.0.2"] != 2 || seen["127.0.0.3"] != 2 {
		t.Errorf("connections came from %v", seen)
	}
	// Addresses of another family are skipped; if none is left there is no connection.
	clear(seen)
	mixed := open(t, targets.Spec{URL: s.URL, NoKeepAlive: true}, targets.Local{Addresses: []string{"::1", "127.0.0.2", "2001:db8::1", "127.0.0.3"}})
	for range 4 {
		do(t, mixed, 200, "")
	}
	if seen["127.0.0.2"] != 2 || seen["127.0.0.3"] != 2 {
		t.Errorf("connections came from %v", seen)
	}
	do(t, open(t, targets.Spec{URL: s.URL}, targets.Local{Addresses: []string{"::1"}}), 0, targets.ClassConnect)
}

func TestOtherAddresses(t *testing.T) {
	var host atomic.Value
	h := func(_ http.ResponseWriter, r *http.Request) { host.Store(r.Host) }
	s := serve(t, h)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	onUnix := &http.Server{Handler: http.HandlerFunc(h)}
	go onUnix.Serve(l)
	t.Cleanup(func() { onUnix.Close() })
	for _, c := range []struct {
		spec targets.Spec
		want string
	}{
		{targets.Spec{URL: "http://example.com/", ConnectTo: []string{"other:::1", "example.com:80:127.0.0.1:" + port}}, "example.com"},
		{targets.Spec{URL: "http://127.0.0.1:1/", ConnectTo: []string{":1::" + port}}, "127.0.0.1:1"},
		{targets.Spec{URL: s.URL, Headers: []targets.Header{{Name: "Host", Value: "a.example"}}}, "a.example"},
		{targets.Spec{URL: "http://b.example:8/", UnixSocket: path}, "b.example:8"},
	} {
		do(t, open(t, c.spec, targets.Local{}), 200, "")
		if got := host.Load(); got != c.want {
			t.Errorf("%+v: the server saw host %v, want %s", c.spec, got, c.want)
		}
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatalf("%v: this test needs IPv6 on the loopback interface: sysctl net.ipv6.conf.lo.disable_ipv6=0", err)
	}
	addr := l.Addr().String()
	l.Close()
	s := arrive(t, arrivals.Options{Addr: addr})
	do(t, open(t, targets.Spec{URL: s.URL()}, targets.Local{}), 200, "")
	do(t, open(t, targets.Spec{URL: "http://a", ConnectTo: []string{"::" + addr}}, targets.Local{}), 200, "")
}

// A server answers before it has read the body, and hangs up: its answer counts, if it arrives.
func TestEarlyAnswer(t *testing.T) {
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		c.(*net.TCPConn).CloseWrite()
		io.CopyN(io.Discard, c, 1<<20)
		time.Sleep(20 * time.Millisecond)
	})
	got := open(t, targets.Spec{URL: "http://" + addr, Body: make([]byte, 16<<20)}, targets.Local{}).Do(t.Context(), targets.Call{})
	if got.Class != targets.ClassStatus && got.Class != targets.ClassReset || got.Class == targets.ClassStatus && got.Status != 413 {
		t.Errorf("got %+v", got)
	}
}

func TestLargeBody(t *testing.T) {
	const size = 5 << 20
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, r.Body)
		if n != size {
			t.Errorf("the server read %d bytes", n)
		}
	})
	target := open(t, targets.Spec{URL: s.URL, Body: make([]byte, size)}, targets.Local{})
	for range 3 {
		if out := do(t, target, 200, ""); out.BytesOut < size || out.BytesIn < size {
			t.Errorf("got %+v", out)
		}
	}
}

// A connection with the rest of a long body on it is not reused.
func TestBodyLimitClosesTheConnection(t *testing.T) {
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 5000))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	target := open(t, targets.Spec{URL: s.URL, BodyLimit: 4999}, targets.Local{})
	for range 3 {
		do(t, target, 200, targets.ClassBodyLimit)
	}
	if conns.Load() != 3 {
		t.Errorf("%d connections, want 3", conns.Load())
	}
}

// A connection may take long to open. A request halted in that time is not sent.
func TestHaltedIsNotSent(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	var halted atomic.Bool
	target, err := client.New(targets.Spec{URL: server.URL}, targets.Local{Halted: halted.Load})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if out := target.Do(t.Context(), targets.Call{}); out.Class != "" {
		t.Fatalf("before the halt: %+v", out)
	}
	halted.Store(true)
	if out := target.Do(t.Context(), targets.Call{Number: 1}); out.Class != targets.ClassCanceled || out.BytesOut != 0 {
		t.Errorf("halted: %+v", out)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests arrived, want 1", n)
	}
}
