package targets

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/echotest"
)

// TestRawClosed: a connection that the server closed after a reply costs nothing.
func TestRawClosed(t *testing.T) {
	var accepted atomic.Int64
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { // it answers one line and hangs up
		accepted.Add(1)
		line, _ := bufio.NewReader(c).ReadBytes('\n')
		c.Write(line)
	})
	target := open(t, Spec{URL: "tcp://" + at, Body: []byte("a\n"), Reply: `until \n`, Timeout: time.Minute}, Local{})
	const n = 5
	for range n {
		do(t, target, 0, "")
		awaitHangUp(t, target.(*rawTarget))
	}
	if accepted.Load() != n {
		t.Errorf("%d connections, want %d", accepted.Load(), n)
	}
}

// awaitHangUp waits until the idle connection shows that its peer hung up.
func awaitHangUp(t *testing.T, target *rawTarget) {
	t.Helper()
	target.pool.mu.Lock()
	idle := target.pool.idle
	target.pool.mu.Unlock()
	await.True(t, "the end of the connection", func() bool { return len(idle) == 0 || idle[0].hungUp() })
}

// TestRawCanceled: a request ends with its context, and nothing is sent once the target is halted.
func TestRawCanceled(t *testing.T) {
	var got atomic.Int64
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		got.Add(n)
	})
	s := Spec{URL: "tcp://" + at, Body: []byte("x"), Reply: "any"}
	ctx, cancel := context.WithCancel(t.Context())
	target := open(t, s, Local{Halted: func() bool { cancel(); return false }})
	if got := target.Do(ctx, Call{}); got.Class != ClassCanceled {
		t.Errorf("%+v", got)
	}
	halted := open(t, s, Local{Halted: func() bool { return true }})
	if got := do(t, halted, 0, ClassCanceled); got.BytesOut != 0 {
		t.Errorf("%+v", got)
	}
	halted.Close()
	do(t, halted, 0, ClassCanceled)
}

// TestRawSpecs: what makes no sense for a scheme is an error of one line.
func TestRawSpecs(t *testing.T) {
	tcp, udp, redis := Spec{URL: "tcp://h:7", Body: []byte("x")}, Spec{URL: "udp://h:7", Body: []byte("x")}, Spec{URL: "redis://h", Body: []byte("PING")}
	with := func(s Spec, f func(*Spec)) Spec {
		f(&s)
		return s
	}
	for i, c := range []struct {
		spec Spec
		want string
	}{
		{tcp, ""}, {udp, ""}, {redis, ""},
		{Spec{URL: "udp://h:7"}, ""},
		{Spec{URL: "tcp://h:7", NoKeepAlive: true}, ""},
		{Spec{URL: "tcp://h:7"}, "body: is missing"},
		{Spec{URL: "tcp://h", Body: []byte("x")}, "write tcp://HOST:PORT"},
		{Spec{URL: "tcp://:7", Body: []byte("x")}, "write tcp://HOST:PORT"},
		{Spec{URL: "tcp://h:7/p", Body: []byte("x")}, "neither login nor path"},
		{Spec{URL: "tcp://u:" + secret + "@h:7", Body: []byte("x")}, "neither login nor path"},
		{Spec{URL: "tcp://h:7?a=b", Body: []byte("x")}, "neither ? nor #"},
		{Spec{URL: "tcp://${ordinal}:7", Body: []byte("x")}, "url: "},
		{with(tcp, func(s *Spec) { s.Method = "GET" }), "method: tcp has none"},
		{with(udp, func(s *Spec) { s.Headers = []Header{{"A", secret}} }), "header: udp has none"},
		{with(redis, func(s *Spec) { s.Expect = "200" }), "expect: redis has no statuses"},
		{with(tcp, func(s *Spec) { s.Redirects = 1 }), "redirects: only http"},
		{with(tcp, func(s *Spec) { s.Auth = "basic:u:" + secret }), "auth: only http"},
		{with(redis, func(s *Spec) { s.Auth = "basic:u:" + secret }), "auth: only http"},
		{with(tcp, func(s *Spec) { s.Insecure = true }), "insecure: tcp and udp have no TLS"},
		{with(tcp, func(s *Spec) { s.CA = "x" }), "cacert: tcp and udp have no TLS"},
		{with(tcp, func(s *Spec) { s.Checks = []string{"status 200"} }), "check: only http and grpc have statuses"},
		{with(tcp, func(s *Spec) { s.Checks = []string{"body has x"} }), "check: no reply is expected"},
		{with(tcp, func(s *Spec) { s.Checks = []string{"time < 1s"} }), ""},
		{with(udp, func(s *Spec) { s.UnixSocket = "/s" }), "unix socket: udp has none"},
		{with(udp, func(s *Spec) { s.Body = make([]byte, 65_508) }), "at most 65507 bytes"},
		{with(udp, func(s *Spec) { s.Reply, s.BodyLimit = "bytes 5", 4 }), "more than the body limit"},
		{with(tcp, func(s *Spec) { s.Body = []byte("${x}") }), "no such placeholder"},
		{with(tcp, func(s *Spec) { s.Timeout = -1 }), "timeout: "},
		{with(tcp, func(s *Spec) { s.ConnectTo = []string{"x"} }), "connect-to"},
		{with(tcp, func(s *Spec) { s.ConnectTo, s.UnixSocket = []string{":::"}, "/s" }), "unix socket: contradicts"},
		{with(tcp, func(s *Spec) { s.Reply = "bytes 0" }), "says not where a reply ends; write any, bytes N"},
		{with(tcp, func(s *Spec) { s.Reply = "any x" }), "says not where"},
		{with(tcp, func(s *Spec) { s.Reply = "end" }), "reply: tcp has no messages and no streams"},
		{with(tcp, func(s *Spec) { s.Reply = "none x" }), "says not where"},
		{with(tcp, func(s *Spec) { s.Reply = "none" }), ""},
		{with(tcp, func(s *Spec) { s.Reply = "until" }), "says not where"},
		{with(tcp, func(s *Spec) { s.Reply = `until \q` }), "says not where"},
		{with(tcp, func(s *Spec) { s.Reply = "matches /(/" }), "missing closing )"},
		{with(tcp, func(s *Spec) { s.Reply = "matches x" }), "says not where"},
		{with(tcp, func(s *Spec) { s.Reply = "until ${ordinal}" }), "no placeholders"},
		{with(redis, func(s *Spec) { s.Reply = "any" }), "reply: only tcp, udp, ws and streams of gRPC"},
		{Spec{URL: "http://h", Reply: "any"}, "reply: only tcp, udp, ws and streams of gRPC"},
		{Spec{URL: "noop://", Reply: "any"}, "reply: noop has none"},
		{Spec{URL: "redis://h:1/x", Body: []byte("PING")}, "the number of a database"},
		{Spec{URL: "redis://" + secret + "@h", Body: []byte("PING")}, "the login has no password"},
		{Spec{URL: "redis://h"}, "body: is missing; give a command"},
		{Spec{URL: "redis://h", Body: []byte("${ordinal} x")}, "the name of the command"},
		{Spec{URL: "redis://h", Body: []byte("auth " + secret)}, "AUTH belongs in the URL"},
		{Spec{URL: "redis://h", Body: []byte("'subscribe' x")}, "SUBSCRIBE has no single reply"},
		{Spec{URL: "redis://h", Body: []byte("MULTI")}, "use EVAL"},
		{Spec{URL: "redis://h", Body: []byte("CLIENT reply off")}, "CLIENT REPLY"},
		{Spec{URL: "redis://h", Body: []byte(`SET "a`)}, "a quote is not closed"},
		{Spec{URL: "redis://h", Body: []byte(`SET "a"b`)}, "behind a closing quote"},
		{Spec{URL: "rediss://h", Body: []byte("PING"), Insecure: true, CA: "x"}, "ca: contradicts insecure"},
	} {
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %s: %v, want %q", i, c.spec.URL, err, c.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") || strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%v: shows a secret or is more than a line", err)
		}
	}
}

// TestMixedSchemes: the steps of a flow may be of different schemes, and share their connections' limit. What a step
// takes of a reply fills a later one.
func TestMixedSchemes(t *testing.T) {
	at := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	web := echotest.Listen(t, "127.0.0.1:0", answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	udp := echotest.Datagrams(t, "127.0.0.1:0", func(b []byte) [][]byte { return [][]byte{b} })
	s := Spec{Redirects: 1, Flows: []Flow{{Name: "f", Steps: []Step{
		{Name: "line", URL: "tcp://" + at, Body: []byte("id=${ordinal}\n"), Reply: `until \n`, Takes: []Take{{"id", `regex /id=(\d+)/`}}},
		{Name: "web", URL: "http://" + web + "/${id}"},
		{Name: "gram", URL: "udp://" + udp, Body: []byte("<${id}>"), Reply: "any", Checks: []string{"body has <5>"}},
	}}}}
	target := open(t, s, Local{MaxConnections: 1})
	var session Session
	for step := range 3 {
		if got := target.Do(t.Context(), Call{Number: 5, Step: step, Session: &session}); got.Class != "" {
			t.Errorf("step %d: %+v", step, got)
		}
	}
	s.Flows[0].Steps = s.Flows[0].Steps[:1]
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "redirects: only http") {
		t.Errorf("%v: no step can be redirected", err)
	}
}

// TestRawLocals: connections and sockets come from the local addresses, in turn, and may be opened ahead.
func TestRawLocals(t *testing.T) {
	var mu sync.Mutex
	from := map[string]int{}
	note := func(a net.Addr) {
		host, _, _ := net.SplitHostPort(a.String())
		mu.Lock()
		from[host]++
		mu.Unlock()
	}
	tcp := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		note(c.RemoteAddr())
		echotest.Lines(c)
	})
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	go func() {
		for buf := make([]byte, 100); ; {
			n, a, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			note(a)
			udp.WriteTo(buf[:n], a)
		}
	}()
	for _, url := range []string{"tcp://" + tcp, "udp://" + udp.LocalAddr().String()} {
		mu.Lock()
		clear(from)
		mu.Unlock()
		target := open(t, Spec{URL: url, Body: []byte("x\n"), Reply: "any", NoKeepAlive: true}, Local{Addresses: []string{"127.0.0.2", "127.0.0.3"}})
		for range 4 {
			do(t, target, 0, "")
		}
		mu.Lock()
		if from["127.0.0.2"] != 2 || from["127.0.0.3"] != 2 {
			t.Errorf("%s: from %v", url, from)
		}
		mu.Unlock()
	}
	spec := Spec{URL: "tcp://" + tcp, Body: []byte("x\n"), Reply: "any"}
	target := open(t, spec, Local{})
	if n := target.(*rawTarget).Preconnect(t.Context(), 3, time.Millisecond); n != 3 {
		t.Errorf("%d are open", n)
	}
	do(t, target, 0, "")
	if target.(*rawTarget).Opening() || spec.Reach(t.Context(), Local{}) != nil {
		t.Error("it is reachable, and opens nothing")
	}
}
