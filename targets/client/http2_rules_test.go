package client_test

import (
	"context"
	"fmt"
	"io"
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
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/http2/http2test"
	"github.com/loadctl/loadctl/targets/probe"
)

// new2 returns a target of HTTP/2.
func new2(t *testing.T, s targets.Spec, local targets.Local) targets.Target {
	t.Helper()
	s.HTTP, s.Insecure = targets.HTTP2, true
	target, err := client.New(s, local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// A server that does not speak HTTP/2 is distinguished.
func TestHTTP2ToOthers(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	do(t, new2(t, targets.Spec{URL: plain.URL}, targets.Local{}), 0, targets.ClassProtocol)
	do(t, new2(t, targets.Spec{URL: secure.URL}, targets.Local{}), 0, targets.ClassTLS)
	do(t, new2(t, targets.Spec{URL: "https" + plain.URL[4:]}, targets.Local{}), 0, targets.ClassTLS)
	if err := probe.Reach(t.Context(), (targets.Spec{URL: secure.URL, HTTP: targets.HTTP2, Insecure: true}), targets.Local{}); err == nil || !strings.Contains(err.Error(), "HTTP/2") {
		t.Errorf("reach: %v", err)
	}
	gone := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { c.Close() })
	closed := new2(t, targets.Spec{URL: "http://" + gone}, targets.Local{}).Do(t.Context(), targets.Call{})
	if closed.Status != 0 || closed.Class != targets.ClassEOF && closed.Class != targets.ClassReset { // a reset, if our settings came too late
		t.Errorf("%+v", closed)
	}
	plain.Close()
	do(t, new2(t, targets.Spec{URL: plain.URL}, targets.Local{}), 0, targets.ClassConnect)
}

// Redirects, with the method and body that they ask for.
func TestHTTP2Redirects(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	url := serve2(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
		mu.Unlock()
		if r.URL.Path != "/end" {
			w.Header().Set("Location", "/end")
			w.WriteHeader(map[string]int{"/see": 303, "/same": 307}[r.URL.Path])
		}
	})
	do(t, new2(t, targets.Spec{URL: url + "/see", Method: "POST", Body: []byte("b"), Redirects: 1}, targets.Local{}), 200, "")
	do(t, new2(t, targets.Spec{URL: url + "/same", Method: "POST", Body: []byte("b"), Redirects: 1}, targets.Local{}), 200, "")
	if got := strings.Join(seen, ", "); got != "POST /see b, GET /end , POST /same b, POST /end b" {
		t.Error(got)
	}
}

// A request that is late, or whose context ends, leaves the others on its connection alone.
func TestHTTP2Cancel(t *testing.T) {
	release := make(chan struct{})
	var connections connectionCount
	url := serve2(t, true, func(w http.ResponseWriter, r *http.Request) {
		connections.add(r)
		if r.URL.Path == "/slow" {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush() // a sign of life
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	target := new2(t, targets.Spec{URL: url + "/slow", Streams: 10}, targets.Local{MaxConnections: 1})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { do(t, target, 200, "") })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in which it is sent, on a slow machine too
	defer cancel()
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassTimeout || got.BytesOut == 0 {
		t.Errorf("past the deadline: %+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassCanceled {
		t.Errorf("canceled: %+v", got)
	}
	close(release)
	all.Wait()
	do(t, target, 200, "")
	if n := connections.count(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A connection on which nothing came while a request waited for all its time takes no other request: it may be dead.
func TestHTTP2NoSignOfLife(t *testing.T) {
	t.Parallel() // it waits for a timeout
	var connections connectionCount
	var n atomic.Int64
	url := serve2(t, false, func(_ http.ResponseWriter, r *http.Request) {
		connections.add(r)
		if n.Add(1) == 2 {
			<-r.Context().Done()
		}
	})
	target := new2(t, targets.Spec{URL: url, Timeout: 3 * time.Second}, targets.Local{MaxConnections: 1})
	do(t, target, 200, "")
	do(t, target, 0, targets.ClassTimeout)
	do(t, target, 200, "")
	if n := connections.count(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A connectionCount counts the connections that requests came on.
type connectionCount struct{ seen sync.Map }

func (c *connectionCount) add(r *http.Request) { c.seen.Store(r.RemoteAddr, true) }

func (c *connectionCount) count() (n int) {
	c.seen.Range(func(any, any) bool { n++; return true })
	return n
}

// A server that allows fewer streams than the spec gets no more.
func TestHTTP2FewStreams(t *testing.T) {
	var now, most atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 3}
	s.Start()
	defer s.Close()
	target := new2(t, targets.Spec{URL: s.URL, Streams: 50}, targets.Local{MaxConnections: 1})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 4 {
				do(t, target, 200, "")
			}
		})
	}
	all.Wait()
	if n := most.Load(); n != 3 {
		t.Errorf("%d streams at once, 3 are allowed", n)
	}
}

// The limit of connections holds, also while they are opened, closed, and preconnected.
func TestHTTP2MaxConnections(t *testing.T) {
	var now, most, requests atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
		case http.StateClosed:
			now.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	for _, spec := range []targets.Spec{{URL: s.URL}, {URL: s.URL, Streams: 7}, {URL: s.URL, NoKeepAlive: true}} {
		target := new2(t, spec, targets.Local{MaxConnections: 5})
		await.True(t, "the end of all requests", func() bool { return now.Load() == 0 })
		most.Store(0)
		requests.Store(0)
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				for range 10 {
					do(t, target, 200, "")
				}
			})
		}
		all.Wait()
		// The server notices a closed connection a moment later.
		if n := most.Load(); n > 5 && !spec.NoKeepAlive {
			t.Errorf("%d connections", n)
		}
		if n := requests.Load(); n != 600 {
			t.Errorf("%d requests, 600 were sent", n)
		}
		target.Close()
	}
}

// Steps to two servers share one place, and none of them waits for ever.
func TestHTTP2TwoServersOnePlace(t *testing.T) {
	var requests atomic.Int64
	h := func(http.ResponseWriter, *http.Request) { requests.Add(1) }
	a, b := serve2(t, false, h), serve2(t, true, h)
	spec := targets.Spec{URL: a, Streams: 4, HTTP: targets.HTTP2, Insecure: true, Flows: []targets.Flow{
		{Name: "a", Weight: 1, Steps: []targets.Step{{Name: "a", URL: a}}},
		{Name: "b", Weight: 1, Steps: []targets.Step{{Name: "b", URL: b}}},
	}}
	spec.URL = ""
	target, err := client.New(spec, targets.Local{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 20 {
				if got := target.Do(t.Context(), targets.Call{Step: i % 2}); got.Class != "" {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	all.Wait()
	if n := requests.Load(); n != 16*20 {
		t.Errorf("%d requests", n)
	}
}

// Halted is asked before each request, and the target can be closed while requests wait.
func TestHTTP2HaltAndClose(t *testing.T) {
	var requests atomic.Int64
	hold := make(chan struct{})
	url := serve2(t, false, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	var halted atomic.Bool
	target := new2(t, targets.Spec{URL: url}, targets.Local{Halted: halted.Load, MaxConnections: 1})
	var all sync.WaitGroup
	all.Go(func() { do(t, target, 200, "") })
	await.True(t, "the first request", func() bool { return requests.Load() == 1 })
	all.Go(func() { do(t, target, 0, targets.ClassCanceled) })
	target.Close()
	close(hold)
	all.Wait()
	target = new2(t, targets.Spec{URL: url}, targets.Local{Halted: halted.Load})
	do(t, target, 200, "")
	halted.Store(true)
	if got := do(t, target, 0, targets.ClassCanceled); got.BytesOut != 0 {
		t.Errorf("%d bytes of a request that was halted", got.BytesOut)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// A server that reads nothing holds up no request beyond its deadline.
func TestHTTP2ServerThatDoesNotRead(t *testing.T) {
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		c.Write(append(http2test.Settings(4, 1<<31-1), http2test.Frame(8, 0, 0, []byte{0x70, 0, 0, 0})...)) // windows without end
		<-t.Context().Done()
	})
	target := new2(t, targets.Spec{URL: "http://" + addr, Method: "POST", Body: make([]byte, 50<<20), Streams: 4, Timeout: 300 * time.Millisecond}, targets.Local{MaxConnections: 1})
	var all sync.WaitGroup
	began := time.Now()
	for range 4 {
		all.Go(func() { do(t, target, 0, targets.ClassTimeout) })
	}
	await.Done(t, "the end of all requests", all.Wait)
	await.Soon(t, "a timeout", time.Since(began), 5*time.Second)
}

// Placeholders, unix sockets and the Host header work as with HTTP/1.1.
func TestHTTP2Requests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var seen sync.Map
	s := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(fmt.Sprint(r.Host, " ", r.RequestURI, " ", string(body), " ", r.Header), true)
	})}
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(l)
	defer s.Close()
	target := new2(t, targets.Spec{
		URL: "http://localhost/a?n=${ordinal}", UnixSocket: path, Method: "PUT", Body: []byte("body ${ordinal}"), Streams: 3,
		Headers: []targets.Header{{Name: "Host", Value: "other:81"}, {Name: "X-N", Value: "${ordinal}"}, {Name: "Connection", Value: "X-Gone"}, {Name: "X-Gone", Value: "1"}},
	}, targets.Local{})
	for i := range 5 {
		if got := target.Do(t.Context(), targets.Call{Number: uint64(i)}); got.Class != "" {
			t.Fatal(got)
		}
	}
	for i := range 5 {
		want := fmt.Sprintf("other:81 /a?n=%d body %d map[Content-Length:[6] User-Agent:[loadctl] X-N:[%d]]", i, i, i)
		if _, ok := seen.Load(want); !ok {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		seen.Range(func(k, _ any) bool { t.Log(k); return true })
	}
}
