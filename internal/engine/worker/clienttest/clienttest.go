// Package clienttest tests that a worker.Client follows its documentation. Every engine passes it:
//
//	func TestClient(t *testing.T) {
//		clienttest.TestClient(t, func(t *testing.T, o clienttest.Options) worker.Client { … })
//	}
//
// The clients fire at a real server over real sockets, so these tests take a second and must not run in synctest. They
// wait for events, so no machine is too slow for them.
package clienttest

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/targets"
)

// Options say what a client must do.
type Options struct {
	URL         string        // what is requested, with GET; over HTTP/1.1, with keep-alive; any certificate is good
	UnixSocket  string        // connect to this socket instead
	Connections int           // at most so many
	Timeout     time.Duration // of a request
}

// soon is how long something may take, in acceptance, that should happen at once.
const soon = 5 * time.Second

// Open makes the client under test. The test closes the client. Open may use t.Cleanup for the rest.
type Open func(t *testing.T, o Options) worker.Client

// TestClient runs all tests over TCP, TLS and a Unix socket.
func TestClient(t *testing.T, open Open) {
	t.Run("TCP", func(t *testing.T) { testClient(t, open, arrivals.Options{}) })
	t.Run("TLS", func(t *testing.T) {
		testClient(t, open, arrivals.Options{TLS: &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}})
	})
	t.Run("unix", func(t *testing.T) {
		testClient(t, open, arrivals.Options{Addr: "unix:" + filepath.Join(t.TempDir(), "s")})
	})
}

// selfSigned returns a certificate of an authority that nobody trusts.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certtest.New(t).Issue("localhost"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func testClient(t *testing.T, open Open, o arrivals.Options) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"every request completes once", testOnce},
		{"requests leave in order", testOrder},
		{"busy and free again", testBusy},
		{"connections are opened as needed", testConnections},
		{"a timeout is a result", testTimeout},
		{"a refused connection is a result", testRefused},
		{"poll returns at until", testUntil},
		{"wake", testWake},
		{"wakes are not lost", testWakes},
		{"close with requests on the wire", testClose},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := arrivals.Start(o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			}()
			c.test(t, &rig{t: t, open: open, server: server, got: map[uint64]targets.Result{}})
		})
	}
}

// rig is a server, a client of it, and the client's reports.
type rig struct {
	t      *testing.T
	open   Open
	server *arrivals.Server
	client worker.Client
	sent   int
	order  []uint64
	got    map[uint64]targets.Result
}

// connect opens the client. The zero Options are one connection to the server, and an hour.
func (r *rig) connect(o Options) {
	r.t.Helper()
	if o.URL == "" {
		o.URL = r.server.URL()
	}
	if path, ok := strings.CutPrefix(r.server.Addr(), "unix:"); ok && o.UnixSocket == "" {
		o.UnixSocket = path
	}
	o.Connections = max(1, o.Connections)
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	r.client = r.open(r.t, o)
}

// send sends the next request, due a millisecond ago.
func (r *rig) send() bool {
	now := r.client.Now()
	if !r.client.Send(now, now-int64(time.Millisecond), targets.Call{Number: uint64(r.sent)}) {
		return false
	}
	r.sent++
	return true
}

// mustSend fails the test if the client is busy.
func (r *rig) mustSend() {
	r.t.Helper()
	if !r.send() {
		r.t.Fatalf("request %d: busy", r.sent)
	}
}

// poll polls once and checks what is reported.
func (r *rig) poll(d time.Duration) {
	r.t.Helper()
	err := r.client.Poll(r.client.Now()+int64(d), func(x targets.Result) {
		if _, twice := r.got[x.Call.Number]; twice || x.Call.Number >= uint64(r.sent) {
			r.t.Errorf("request %d is reported again, or was never sent", x.Call.Number)
		}
		if now := r.client.Now(); x.Due > x.Sent || x.Sent > x.Done || x.Done > now {
			r.t.Errorf("request %d: due %d, sent %d, done %d, reported %d", x.Call.Number, x.Due, x.Sent, x.Done, now)
		}
		r.got[x.Call.Number] = x
		r.order = append(r.order, x.Call.Number)
	})
	if err != nil {
		r.t.Fatalf("poll: %v", err)
	}
}

// pollFor polls until n results are there.
func (r *rig) pollFor(n int) {
	r.t.Helper()
	r.pollUntil(fmt.Sprintf("%d results", n), 100*time.Millisecond, func() bool { return len(r.got) >= n })
}

// pollUntil polls, for at most d each time, until a condition holds.
func (r *rig) pollUntil(what string, d time.Duration, ok func() bool) {
	r.t.Helper()
	await.Polled(r.t, what, func() { r.poll(d) }, ok)
}

// idle asserts that nothing more is reported.
func (r *rig) idle() {
	r.t.Helper()
	n := len(r.got)
	for range 3 {
		r.poll(5 * time.Millisecond)
	}
	if len(r.got) != n {
		r.t.Errorf("%d results too many", len(r.got)-n)
	}
}

func (r *rig) close() {
	r.t.Helper()
	if err := r.client.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func testOnce(t *testing.T, r *rig) {
	r.connect(Options{Connections: 8})
	defer r.close()
	const n = 500
	began := r.client.Now()
	for r.sent < n {
		if !r.send() {
			r.poll(time.Second)
		}
	}
	r.pollFor(n)
	r.idle()
	for i, x := range r.got {
		if x.Outcome.Status != 200 || x.Outcome.Class != "" || x.Outcome.BytesIn == 0 || x.Outcome.BytesOut == 0 {
			t.Fatalf("request %d: %+v", i, x.Outcome)
		}
		if x.Due < began-int64(time.Millisecond) || x.Sent-x.Due < int64(time.Millisecond) {
			t.Fatalf("request %d: due %d, sent %d, the first was due at %d", i, x.Due, x.Sent, began)
		}
	}
	if r.server.Count() != n {
		t.Errorf("%d requests arrived, %d were sent", r.server.Count(), n)
	}
}

func testOrder(t *testing.T, r *rig) {
	r.connect(Options{})
	defer r.close()
	for r.sent < 50 {
		if !r.send() {
			r.poll(time.Second)
		}
	}
	r.pollFor(50)
	for i, n := range r.order {
		if uint64(i) != n {
			t.Fatalf("over one connection request %d ended as number %d", n, i)
		}
	}
}

func testBusy(t *testing.T, r *rig) {
	r.connect(Options{Connections: 2})
	defer r.close()
	const stall = 100 * time.Millisecond
	began := r.client.Now()
	r.server.Stall(stall)
	r.mustSend()
	r.mustSend()
	r.pollUntil("an answer", time.Millisecond, func() bool {
		if len(r.got) == 0 && r.send() {
			t.Fatal("a third request with two connections, both busy")
		}
		return len(r.got) > 0
	})
	r.pollFor(2)
	for i := range 2 {
		if x := r.got[uint64(i)]; x.Done-began < int64(stall)-int64(time.Millisecond) {
			t.Errorf("request %d ended after %v, the server stood still for %v", i, time.Duration(x.Done-began), stall)
		}
	}
	r.mustSend()
	r.mustSend()
	r.pollFor(4)
	if n := r.server.Count(); n != 4 {
		t.Errorf("%d requests arrived: what was refused must not be sent later", n)
	}
}

func testConnections(t *testing.T, r *rig) {
	r.connect(Options{Connections: 16})
	defer r.close()
	for i := range 20 {
		r.mustSend()
		r.pollFor(i + 1)
	}
	if n := r.server.Connections(); n != 1 {
		t.Errorf("%d connections for one request at a time", n)
	}
	r.server.Stall(100 * time.Millisecond)
	for range 16 {
		r.mustSend()
	}
	r.pollFor(36)
	if n := r.server.Connections(); n > 16 {
		t.Errorf("%d connections, at most 16", n)
	}
}

func testTimeout(t *testing.T, r *rig) {
	const timeout = 100 * time.Millisecond
	r.connect(Options{Timeout: timeout})
	defer r.close()
	do := func() targets.Result {
		r.mustSend()
		r.pollFor(r.sent)
		return r.got[uint64(r.sent-1)]
	}
	await.True(t, "a timeout", func() bool { // on a slow machine a stall may be over before the request is there
		r.server.Stall(4 * timeout)
		x := do()
		timedOut := x.Outcome.Class == targets.ClassTimeout
		if !timedOut && x.Outcome.Status != 200 || timedOut && x.Done-x.Sent < int64(timeout) {
			t.Fatalf("%+v after %v, want %q after %v", x.Outcome, time.Duration(x.Done-x.Sent), targets.ClassTimeout, timeout)
		}
		return timedOut
	})
	await.True(t, "a request that succeeds after a timeout", func() bool { return do().Outcome.Status == 200 })
	r.idle()
}

func testRefused(t *testing.T, r *rig) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme, _, _ := strings.Cut(r.server.URL(), ":")
	nobody := Options{URL: scheme + "://" + listener.Addr().String() + "/"}
	listener.Close()
	if strings.HasPrefix(r.server.Addr(), "unix:") {
		nobody.UnixSocket = filepath.Join(t.TempDir(), "nobody")
	}
	r.connect(nobody)
	defer r.close()
	for i := range 3 {
		r.mustSend()
		r.pollFor(i + 1)
		if x := r.got[uint64(i)]; x.Outcome.Class != targets.ClassConnect {
			t.Errorf("%+v, want %q", x.Outcome, targets.ClassConnect)
		}
	}
	r.idle()
}

func testUntil(t *testing.T, r *rig) {
	r.connect(Options{})
	defer r.close()
	const d = 30 * time.Millisecond
	until := r.client.Now() + int64(d)
	early := 0
	for r.client.Now() < until {
		r.poll(time.Duration(until - r.client.Now()))
		early++
	}
	if early > 5 {
		t.Errorf("poll returned %d times before until, with nothing to report", early)
	}
	await.Soon(t, "a poll beyond its end", time.Duration(r.client.Now()-until), time.Second)
	began := time.Now()
	r.poll(-time.Hour)
	await.Soon(t, "a poll until the past", time.Since(began), time.Second)
}

func testWake(t *testing.T, r *rig) {
	r.connect(Options{})
	defer r.close()
	r.client.Wake()
	began := time.Now()
	r.poll(time.Hour) // woken before
	go func() {
		time.Sleep(20 * time.Millisecond)
		r.client.Wake()
	}()
	for time.Since(began) < 20*time.Millisecond {
		r.poll(time.Hour) // woken meanwhile
	}
	await.Soon(t, "two polls that were woken", time.Since(began), soon)
	r.mustSend()
	r.pollFor(1)
}

// Each Wake is followed by a return of Poll, however many goroutines wake and whatever completes meanwhile. A waker
// goes on when a Poll has returned that was under way, or not begun, as it called Wake.
func testWakes(_ *testing.T, r *rig) {
	r.connect(Options{Connections: 4})
	defer r.close()
	var mu sync.Mutex
	returned := sync.NewCond(&mu)
	polls := 0
	var wakers sync.WaitGroup
	for range 3 {
		wakers.Go(func() {
			for range 100 {
				mu.Lock()
				seen := polls
				mu.Unlock()
				r.client.Wake()
				mu.Lock()
				for polls == seen {
					returned.Wait()
				}
				mu.Unlock()
			}
		})
	}
	var finished atomic.Bool
	go func() {
		wakers.Wait()
		finished.Store(true)
		r.client.Wake()
	}()
	for i := 0; !finished.Load(); i++ {
		r.poll(time.Hour) // if a wake was lost it does not return
		mu.Lock()
		polls++
		returned.Broadcast()
		mu.Unlock()
		if i%8 == 0 { // seldom, because a result hides that a wake was lost
			r.send()
		}
	}
	r.pollFor(r.sent)
}

func testClose(t *testing.T, r *rig) {
	r.connect(Options{Connections: 3})
	r.server.Stall(time.Hour)
	for range 3 {
		r.mustSend()
	}
	r.pollUntil("3 requests to arrive", time.Millisecond, func() bool { return r.server.Count() >= 3 })
	began := time.Now()
	r.close() // waits for no answer
	await.Soon(t, "close", time.Since(began), soon)
	r.client.Wake() // the Renewer may be about to do so
}
