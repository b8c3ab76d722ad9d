package targets

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/echotest"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// A request whose time ends while bodies are written takes no other request with it.
func TestHTTP2DeadlineInAWrite(t *testing.T) {
	t.Parallel() // it waits for a timeout
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
		_, _ = c.Write(append(http2test.Settings(4, 1<<31-1), http2test.Frame(8, 0, 0, []byte{0x70, 0, 0, 0})...)) // windows without end
		for f := http2.NewFramer(c, c); ; {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if d, ok := frame.(*http2.DataFrame); ok {
				time.Sleep(4 * time.Millisecond) // slower than the client: it takes 2 s for a body
				if d.StreamEnded() {
					_, _ = c.Write(http2test.Answer(d.StreamID))
				}
			}
		}
	})
	target := new2(t, Spec{URL: "http://" + addr, Method: "POST", Body: make([]byte, 8<<20), Streams: 2, Timeout: time.Hour}, Local{MaxConnections: 1})
	p := target.(*httpTarget).pool
	if n := target.(*httpTarget).Preconnect(t.Context(), 1, 0); n != 1 {
		t.Fatal(n)
	}
	s := p.idle[0].session
	await.True(t, "the windows", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.heard > 0 }) // the windows
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	all.Go(func() {
		if got := target.Do(ctx, Call{}); got.Class != ClassTimeout {
			t.Errorf("%+v", got)
		}
	})
	await.True(t, "the first request", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.streams.Streams() == 1 })
	do(t, target, 200, "")
	all.Wait()
}

// A connection whose server reads nothing more takes no other request, though the server goes on to talk.
func TestHTTP2StuckConnection(t *testing.T) {
	t.Parallel() // it waits for a timeout
	for _, streams := range []int{1, 2} {
		var connections atomic.Int64
		addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
			first := connections.Add(1) == 1
			_, _ = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
			_, _ = c.Write(http2test.Settings())
			for f, body := http2.NewFramer(c, c), 0; !first || body < 65535; {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				d, ok := frame.(*http2.DataFrame)
				if !ok {
					continue
				}
				before := body
				if body += len(d.Data()); before < 65535 && body >= 65535 {
					_, _ = c.Write(append(http2test.Settings(4, 1<<31-1), http2test.Frame(8, 0, 0, []byte{0x70, 0, 0, 0})...)) // windows without end
				}
				if d.StreamEnded() {
					_, _ = c.Write(http2test.Answer(d.StreamID))
				}
			}
			for err := error(nil); err == nil; time.Sleep(5 * time.Millisecond) {
				_, err = c.Write(http2test.Frame(99, 0, 0, nil))
			}
		})
		target := new2(t, Spec{URL: "http://" + addr, Method: "POST", Body: make([]byte, 12<<20), Streams: streams, Timeout: 3 * time.Second}, Local{MaxConnections: 1})
		do(t, target, 0, ClassTimeout)
		do(t, target, 200, "")
		atRest(t, target)
	}
}

// oneSession returns a target with one idle session, and how to ask on it.
func oneSession(t *testing.T) (*httpTarget, *session, *asking) {
	t.Helper()
	target := new2(t, Spec{URL: serve2(t, false, func(http.ResponseWriter, *http.Request) {})}, Local{}).(*httpTarget)
	do(t, target, 200, "")
	a := &asking{began: time.Now(), expect: &target.expect, halted: target.halted, riders: &target.riders, deadline: time.Now().Add(10 * time.Second)}
	return target, target.pool.idle[0].session, a
}

// A request that cannot be encoded fails at once: it is not tried again and again.
func TestHTTP2NotEncoded(t *testing.T) {
	target, _, a := oneSession(t)
	m := *target.first
	m.ready, m.wire = nil, []byte("no request")
	var out Outcome
	if target.exchange(t.Context(), a.deadline, &m, a, &out); out.Class != ClassProtocol || !time.Now().Before(a.deadline) {
		t.Errorf("%+v", out)
	}
}

// A request does not wait on a connection that takes nothing more.
func TestHTTP2BrokenConnection(t *testing.T) {
	target, s, a := oneSession(t)
	s.mu.Lock()
	s.broken = syscall.EPIPE
	s.mu.Unlock()
	if got := s.roundTrip(t.Context(), target.first, a); !errors.Is(got.err, syscall.EPIPE) || got.out != 0 || got.keep {
		t.Errorf("%+v", got)
	}
}

// A server that does not answer a handshake holds up no requests to another server.
func TestHTTP2SlowHandshake(t *testing.T) {
	silent := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	var requests atomic.Int64
	url := serve2(t, true, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	target, err := New(Spec{Streams: 4, HTTP: HTTP2, Insecure: true, Timeout: 30 * time.Second, Flows: []Flow{
		{Name: "a", Steps: []Step{{Name: "a", URL: "https://" + silent}}},
		{Name: "b", Steps: []Step{{Name: "b", URL: url}}},
	}}, Local{MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { target.Do(ctx, Call{Step: 0}) })
	p := target.(*mixTarget).steps[0].(*httpTarget).pool
	await.True(t, "an attempt to connect", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.dialling == 1 })
	if got := target.Do(t.Context(), Call{Step: 1}); got.Class != "" || requests.Load() != 1 {
		t.Errorf("%+v", got)
	}
	cancel()
	all.Wait()
}
