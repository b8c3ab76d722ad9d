package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// How long the servers of TestPhasesAreTrue wait before an answer, and in the middle of it.
const (
	beforeAnswer = 20 * time.Millisecond
	inAnswer     = 30 * time.Millisecond
)

// truth is what a server knows of its answers: when it wrote the first and the last byte of each.
type truth struct {
	sync.Mutex
	first, last []time.Time
}

// answer writes an answer in two parts, late.
func (s *truth) answer(write func(part string)) {
	time.Sleep(beforeAnswer)
	first := time.Now()
	write("$6\r\nbe") // for Redis; others do not mind
	time.Sleep(inAnswer)
	s.Lock()
	s.first, s.last = append(s.first, first), append(s.last, time.Now())
	s.Unlock()
	write("gin.\r\n")
}

// times returns when the server wrote the first and the last byte of each answer.
// Each use of it takes the lock: an answer over UDP orders nothing in memory.
func (s *truth) times() (first, last []time.Time) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.first), slices.Clone(s.last)
}

// ServeHTTP answers over each version of HTTP.
func (s *truth) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.answer(func(part string) {
		_, _ = io.WriteString(w, part)
		http.NewResponseController(w).Flush()
	})
}

// whole is answer for protocols whose answers come at once.
func (s *truth) whole(write func()) {
	time.Sleep(beforeAnswer)
	s.Lock()
	s.first, s.last = append(s.first, time.Now()), append(s.last, time.Now())
	s.Unlock()
	write()
}

// TestPhasesAreTrue: over each protocol the first byte and the end of an answer are noted after the server has written them,
// and in the acceptance run within a millisecond.
func TestPhasesAreTrue(t *testing.T) {
	for name, spec := range truthful() {
		t.Run(name, func(t *testing.T) { checkPhases(t, spec) })
	}
}

// truthful returns servers that know the truth, by protocol, with what is sent to them.
func truthful() map[string]func(t *testing.T, s *truth) targets.Spec {
	lines := func(s *truth) func(net.Conn) {
		return func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				if b, err := in.ReadString('!'); err != nil || b == "" {
					return
				}
				s.answer(func(part string) { _, _ = io.WriteString(c, part) })
			}
		}
	}
	return map[string]func(t *testing.T, s *truth) targets.Spec{
		"HTTP/1.1": func(t *testing.T, s *truth) targets.Spec { return targets.Spec{URL: serve(t, s.ServeHTTP).URL} },
		"HTTP/1.1 with TLS": func(t *testing.T, s *truth) targets.Spec {
			server := httptest.NewTLSServer(s)
			t.Cleanup(server.Close)
			return targets.Spec{URL: server.URL, Insecure: true}
		},
		"HTTP/2": func(t *testing.T, s *truth) targets.Spec {
			return targets.Spec{URL: serve2(t, true, s.ServeHTTP), HTTP: "2", Insecure: true}
		},
		"HTTP/3": func(t *testing.T, s *truth) targets.Spec {
			return targets.Spec{URL: startThree(t, s.ServeHTTP, nil).url, HTTP: "3", Insecure: true}
		},
		"gRPC": func(t *testing.T, s *truth) targets.Spec {
			slow := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
				s.whole(func() { answer, err = handle(ctx, request) })
				return answer, err
			}
			return targets.Spec{URL: rpctest.Start(t, grpc.UnaryInterceptor(slow)).URL("EmptyCall"), Descriptors: rpctest.Descriptors(t)}
		},
		"WebSocket": func(t *testing.T, s *truth) targets.Spec {
			url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
				for {
					kind, message, err := c.Read(r.Context())
					if err != nil {
						return
					}
					s.whole(func() { _ = c.Write(r.Context(), kind, message) })
				}
			})
			return targets.Spec{URL: url, Body: []byte("x"), Reply: "any"}
		},
		"TCP": func(t *testing.T, s *truth) targets.Spec {
			return targets.Spec{URL: "tcp://" + echotest.Listen(t, "127.0.0.1:0", lines(s)), Body: []byte("x!"), Reply: `until .\r\n`}
		},
		"Redis": func(t *testing.T, s *truth) targets.Spec {
			return targets.Spec{URL: "redis://" + echotest.Listen(t, "127.0.0.1:0", lines(s)), Body: []byte("ECHO x!")}
		},
	}
}

// checkPhases compares what a client noted of ten requests with what their server knows.
func checkPhases(t *testing.T, spec func(t *testing.T, s *truth) targets.Spec) {
	t.Helper()
	const requests = 10
	s := new(truth)
	results, watched, at := timed(t, spec(t, s), requests)
	wroteFirst, wroteLast := s.times()
	var first, last []time.Duration
	recorder := record.NewRecorder()
	for i, r := range results {
		if r.Outcome.Class != "" {
			t.Fatalf("%+v", r)
		}
		first, last = append(first, at(r.First).Sub(wroteFirst[i])), append(last, at(r.Done).Sub(wroteLast[i]))
		recorder.Done(record.Finished{Due: r.Due, Sent: r.Sent, Done: r.Done, First: r.First, Reused: r.Reused})
	}
	if slices.Min(first) < 0 || slices.Min(last) < 0 {
		t.Errorf("before the server wrote them: first bytes %v, ends %v", first, last)
	}
	snapshot := record.NewSnapshot("w", "1")
	snapshot.Record(recorder)
	if n := snapshot.FirstByte.Count(); n != requests || snapshot.Connections.Reused != requests-1 || len(watched.phases[targets.PhaseConnect]) != 1 {
		t.Errorf("%d first bytes, %d reused, connections of %v", n, snapshot.Connections.Reused, watched.phases[targets.PhaseConnect])
	}
	if !await.Acceptance() {
		return
	}
	slices.Sort(first)
	slices.Sort(last)
	if median := requests / 2; first[median] > time.Millisecond || last[median] > time.Millisecond {
		t.Errorf("first bytes late by %v, ends by %v", first, last)
	}
}

// TestConnectIsTrue: a connection counts as opened when the server's queue has taken it, after a SYN that was lost; in the
// acceptance run within a millisecond.
func TestConnectIsTrue(t *testing.T) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil { // room for one
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	to := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}
	filler, err := net.DialTCP("tcp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	accepted := make(chan time.Time, 1)
	go func() {
		time.Sleep(100 * time.Millisecond) // by then the first SYN was lost
		for i := range 2 {
			c, _, err := syscall.Accept(socket)
			if err != nil {
				return
			}
			defer syscall.Close(c)
			if i == 1 {
				accepted <- time.Now()
				b := make([]byte, 100)
				n, _ := syscall.Read(c, b)
				_, _ = syscall.Write(c, b[:n])
			}
		}
	}()
	results, watched, at := timed(t, targets.Spec{URL: "tcp://" + to.String(), Body: []byte("x"), Reply: "any"}, 1)
	took, want := watched.phases[targets.PhaseConnect][0], await.Receive(t, "a connection", accepted).Sub(at(results[0].Sent))
	if took <= 0 || await.Acceptance() && took < 100*time.Millisecond || results[0].Outcome.Class != "" {
		t.Errorf("connected after %v: %+v", took, results[0].Outcome)
	}
	if off := took - want; await.Acceptance() && (off > time.Millisecond || off < -time.Millisecond) {
		t.Errorf("connected after %v, the server accepted after %v", took, want)
	}
}

// TestHandshakeIsTrue: a handshake of TLS takes as long as the server says; in the acceptance run within a millisecond.
func TestHandshakeIsTrue(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.StartTLS() // for its certificate
	defer server.Close()
	var took []time.Duration
	var mu sync.Mutex
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		began := time.Now()
		time.Sleep(40 * time.Millisecond)
		secure := tls.Server(c, server.TLS)
		if secure.Handshake() != nil {
			return
		}
		mu.Lock()
		took = append(took, time.Since(began))
		mu.Unlock()
		if _, err := http.ReadRequest(bufio.NewReader(secure)); err == nil {
			_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
	})
	const requests = 5
	_, watched, _ := timed(t, targets.Spec{URL: "https://" + at, Insecure: true, NoKeepAlive: true}, requests)
	mu.Lock()
	defer mu.Unlock()
	var off []time.Duration
	for i, d := range watched.phases[targets.PhaseTLS] {
		off = append(off, (d - took[i]).Abs())
	}
	if slices.Sort(off); len(off) != requests || await.Acceptance() && off[requests/2] > time.Millisecond {
		t.Errorf("handshakes are off by %v", off)
	}
}
