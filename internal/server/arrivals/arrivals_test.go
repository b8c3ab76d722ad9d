package arrivals

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// start returns a server that is closed when the test ends.
func start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial connects to s.
func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// get writes a request for path and reads the answer.
func get(c net.Conn, path string) (int, error) {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestCountIsExact(t *testing.T) {
	s := start(t, Options{})
	const conns, each = 100, 50
	before := time.Now().UnixNano()
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range each {
				if status, err := get(c, fmt.Sprintf("/%d", i%2)); err != nil || status != 200 {
					t.Errorf("got %d, %v", status, err)
				}
			}
		})
	}
	wg.Wait()
	times := s.Arrivals()
	if s.Count() != conns*each || len(times) != conns*each || s.Connections() != conns {
		t.Errorf("count %d, arrivals %d, connections %d", s.Count(), len(times), s.Connections())
	}
	if !slices.IsSorted(times) || times[0] < before || times[len(times)-1] > time.Now().UnixNano() {
		t.Error("arrivals are not sorted or not from now")
	}
	if p := s.Paths(); len(p) != 2 || p["/0"] != conns*each/2 || p["/1"] != conns*each/2 {
		t.Errorf("paths %v", p)
	}
	s.Reset()
	if s.Count() != 0 || len(s.Arrivals()) != 0 || len(s.Paths()) != 0 {
		t.Error("not forgotten")
	}
}

// Reset may run at any time; count and arrivals always agree.
func TestResetWhileCounting(t *testing.T) {
	s := start(t, Options{})
	var wg sync.WaitGroup
	for range 4 {
		c := dial(t, s)
		wg.Go(func() {
			for range 200 {
				get(c, "/")
			}
		})
	}
	for range 50 {
		s.Reset()
	}
	wg.Wait()
	if n := int64(len(s.Arrivals())); n != s.Count() {
		t.Errorf("%d arrivals, count %d", n, s.Count())
	}
}

// Lanes are reused, so memory does not grow with connections.
func TestLanesAreReused(t *testing.T) {
	s := start(t, Options{})
	for i := range 50 {
		c := dial(t, s)
		if _, err := fmt.Fprint(c, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		// The client sees the end a little before the lane is free.
		await.True(t, "a free lane", func() bool { return len(s.freeLanes()) > 0 })
	}
	if n := len(s.allLanes()); n != 1 || s.Count() != 50 {
		t.Errorf("%d lanes for one connection at a time, count %d", n, s.Count())
	}
}

func (s *Server) freeLanes() []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.free)
}

func TestStall(t *testing.T) {
	s := start(t, Options{})
	a, b := dial(t, s), dial(t, s)
	if _, err := get(a, "/"); err != nil { // an idle connection, and a new one
		t.Fatal(err)
	}
	const d = time.Second
	began := time.Now()
	s.Stall(d)
	s.Stall(d / 4) // ends earlier: changes nothing
	var wg sync.WaitGroup
	for _, c := range []net.Conn{a, b} {
		wg.Go(func() {
			if _, err := get(c, "/"); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < d {
				t.Errorf("answered after %v", took)
			}
		})
	}
	await.True(t, "both requests, before they are answered", func() bool { return s.Count() == 3 })
	wg.Wait()
	if times := s.Arrivals(); len(times) != 3 {
		t.Errorf("%d arrivals", len(times))
	}
	await.True(t, "an answer at once, after the stall", func() bool {
		began := time.Now()
		if _, err := get(a, "/"); err != nil {
			t.Fatal(err)
		}
		return time.Since(began) < d/2
	})
	// While answers are held back for an hour, requests arrive when they arrive.
	s.Stall(time.Hour)
	before := s.Count()
	if _, err := io.WriteString(a, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a request during a stall", func() bool { return s.Count() == before+1 })
}

func TestLatency(t *testing.T) {
	s := start(t, Options{Latency: 50 * time.Millisecond})
	c := dial(t, s)
	began := time.Now()
	if _, err := get(c, "/"); err != nil || time.Since(began) < 50*time.Millisecond {
		t.Errorf("answered after %v, %v", time.Since(began), err)
	}
}

// Close ends the waits of a stall.
func TestCloseDuringStall(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	s.Stall(time.Hour)
	fmt.Fprint(c, "GET / HTTP/1.1\r\n\r\n")
	await.True(t, "the request", func() bool { return s.Count() > 0 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if s.Count() != 1 {
		t.Error("what was recorded is gone")
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name, send string
		want       int64  // requests counted
		answer     string // all that comes back
	}{
		{"pipelined", "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n", 2, ok200 + "ok" + ok200 + "ok"},
		{"body", "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n", 2, ok200 + "ok" + ok200 + "ok"},
		{"head", "HEAD / HTTP/1.1\r\nConnection: Close\r\n\r\n", 1, ok200},
		{"half a head", "GET / HTTP/1.1\r\nA: b\r\n", 0, ""},
		{"half a body", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", 0, ""},
		{"no length", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 0, ""},
		{"bad length", "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n", 0, ""},
		{"no HTTP", "hello\r\n\r\n", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, Options{})
			conn := dial(t, s)
			io.WriteString(conn, c.send)
			conn.(*net.TCPConn).CloseWrite()
			got, _ := io.ReadAll(conn)
			if string(got) != c.answer || s.Count() != c.want {
				t.Errorf("count %d, answer %q", s.Count(), got)
			}
		})
	}
}

const ok200 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

func TestStatus(t *testing.T) {
	for _, status := range []int{204, 304, 404, 503} {
		s := start(t, Options{Status: status})
		c := dial(t, s)
		for range 2 { // twice: the answer ends where the next begins
			if got, err := get(c, "/"); got != status || err != nil {
				t.Errorf("got %d, %v, want %d", got, err, status)
			}
		}
	}
	if _, err := Start(Options{Status: 99}); err == nil {
		t.Error("status 99 was accepted")
	}
	if _, err := Start(Options{Addr: "nowhere"}); err == nil {
		t.Error("an address without a port was accepted")
	}
}

// net/http's client understands the answers, also over TLS and unix sockets.
func TestTransports(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	path := filepath.Join(t.TempDir(), "s")
	for _, o := range []Options{
		{}, {TLS: &tls.Config{Certificates: cert.TLS.Certificates}}, {Addr: "unix:" + path},
	} {
		s := start(t, o)
		tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		if o.Addr != "" {
			tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			}
			if s.Addr() != o.Addr {
				t.Errorf("Addr is %s", s.Addr())
			}
		}
		client := &http.Client{Transport: tr}
		for range 3 {
			resp, err := client.Post(s.URL()+"/x?y", "text/plain", strings.NewReader("abc"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != "ok" {
				t.Errorf("got %q, %v", body, err)
			}
		}
		if s.Count() != 3 || s.Connections() != 1 || s.Paths()["/x?y"] != 3 {
			t.Errorf("%s: count %d, connections %d, paths %v", s.URL(), s.Count(), s.Connections(), s.Paths())
		}
		tr.CloseIdleConnections()
	}
}

func TestPerSecond(t *testing.T) {
	const s = int64(time.Second)
	got := PerSecond([]int64{5, 10, 10 + s - 1, 10 + s, 10 + 3*s}, 10)
	if !slices.Equal(got, []int{2, 1, 0, 1}) {
		t.Errorf("got %v", got)
	}
	if got := PerSecond(nil, 0); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// The speed of the server itself: 32 requests are written at once, so the client costs almost nothing.
func BenchmarkPipelined(b *testing.B) {
	s := start(b, Options{})
	const batch = 32
	send := []byte(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", batch))
	back := make([]byte, batch*len(ok200+"ok"))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c := dial(b, s)
		for n := 0; pb.Next(); n++ {
			if n%batch != 0 {
				continue
			}
			c.Write(send)
			if _, err := io.ReadFull(c, back); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
