package targets

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/await"
)

// echoLines answers each line with the same line.
func echoLines(c net.Conn) {
	for br := bufio.NewReader(c); ; {
		line, err := br.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := c.Write(line); err != nil {
			return
		}
	}
}

// echoDatagrams answers each datagram with what f makes of it, until the test ends; nil is no answer.
func echoDatagrams(t *testing.T, address string, f func(b []byte) [][]byte) string {
	t.Helper()
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		for buf := make([]byte, 1<<16); ; {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, answer := range f(buf[:n]) {
				c.WriteTo(answer, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

func TestRawReplies(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		at := listen(t, "tcp", address, echoLines).String()
		for _, c := range []struct {
			body, reply string
			checks      []string
			class       string
			in          int64
		}{
			{"hello\n", `until \n`, nil, "", 6},
			{"hello\n", `until "lo\x0a"`, []string{"body has hello", "size < 7B", "time < 10s"}, "", 6},
			{"hello\n", "bytes 6", []string{`body matches /^h.*o\n?$/`}, "", 6},
			{"hello\n", `matches /o\n$/`, nil, "", 6},
			{"hello\n", "any", []string{"body has x"}, "check body has x", 6},
			{`{"a": 1}` + "\n", `until \n`, []string{"json a = 1"}, "", 9},
			{"a ${ordinal}\n", `until \n`, []string{"body has 7"}, "", 4},
			{"aabaab\n", "until aab\\n", nil, "", 7},
			{"hello\n", "", nil, "", 0},
			{"hello\n", "bytes 7", nil, ClassTimeout, 6},
			{strings.Repeat("x", 20_000) + "\n", `until x\n`, []string{"size > 20kB"}, "", 20_001},
		} {
			s := Spec{URL: "tcp://" + at, Body: []byte(c.body), Reply: c.reply, Checks: c.checks, Timeout: 30 * time.Second}
			if c.class == ClassTimeout {
				s.Timeout = 50 * time.Millisecond
			}
			target := open(t, s, Local{})
			for range 2 {
				got := target.Do(t.Context(), Call{Number: 7})
				if want := (Outcome{Class: c.class, BytesIn: c.in, BytesOut: int64(len(strings.ReplaceAll(c.body, "${ordinal}", "7")))}); got != want {
					t.Errorf("%q, %s: %+v, want %+v", c.body[:min(20, len(c.body))], c.reply, got, want)
				}
			}
		}
	}
}

// TestUDPReplies: one datagram or several, silence, a late answer, and IPv6.
func TestUDPReplies(t *testing.T) {
	late := make(chan struct{})
	var first atomic.Bool
	first.Store(true)
	for name, c := range map[string]struct {
		answer func(b []byte) [][]byte
		reply  string
		want   []Outcome
	}{
		"echo":      {func(b []byte) [][]byte { return [][]byte{b} }, "any", []Outcome{{BytesIn: 2, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
		"two":       {func(b []byte) [][]byte { return [][]byte{b, b} }, "bytes 4", []Outcome{{BytesIn: 4, BytesOut: 2}}},
		"longer":    {func(b []byte) [][]byte { return [][]byte{make([]byte, 60_000)} }, "any", []Outcome{{BytesIn: 60_000, BytesOut: 2}}},
		"empty":     {func(b []byte) [][]byte { return [][]byte{{}} }, "any", []Outcome{{BytesOut: 2}}},
		"silence":   {func(b []byte) [][]byte { return nil }, "any", []Outcome{{Class: ClassTimeout, BytesOut: 2}}},
		"unwanted":  {func(b []byte) [][]byte { return [][]byte{b, b} }, "any", []Outcome{{BytesIn: 2, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
		"no answer": {func(b []byte) [][]byte { return [][]byte{b, b} }, "", []Outcome{{BytesOut: 2}, {BytesOut: 2}}},
		"late": {func(b []byte) [][]byte {
			if first.Swap(false) {
				<-late
				return [][]byte{[]byte("old")}
			}
			return [][]byte{b}
		}, "any", []Outcome{{Class: ClassTimeout, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
				if name == "late" && address != "127.0.0.1:0" {
					continue
				}
				at := echoDatagrams(t, address, c.answer)
				s := Spec{URL: "udp://" + at, Body: []byte("hi"), Reply: c.reply, Timeout: 30 * time.Second}
				if c.want[0].Class == ClassTimeout {
					s.Timeout = 100 * time.Millisecond
				}
				target := open(t, s, Local{})
				for i, want := range c.want {
					if i == 1 && name == "late" {
						close(late)
					}
					if got := target.Do(t.Context(), Call{}); got != want {
						t.Errorf("%s %d: %+v, want %+v", address, i, got, want)
					}
				}
			}
		})
	}
}

// TestUDPRefused: a host without a server says so, also to a datagram that expects no answer: then to the next one.
func TestUDPRefused(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	url := "udp://" + c.LocalAddr().String()
	do(t, open(t, Spec{URL: url, Body: []byte("x"), Reply: "any"}, Local{}), 0, ClassConnect)
	silent := open(t, Spec{URL: url, Body: []byte("x")}, Local{})
	do(t, silent, 0, "")
	if got := do(t, silent, 0, ClassConnect); got.BytesOut != 1 {
		t.Errorf("%+v: it was sent", got)
	}
}

// TestHostileRaw: whatever a server does, the request ends with the right class, and in bounded memory.
func TestHostileRaw(t *testing.T) {
	line := func(c net.Conn) { bufio.NewReader(c).ReadString('\n') }
	forever := func(c net.Conn, b []byte) {
		for {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		reply string
		class string
	}{
		"closes in the middle": {func(c net.Conn) { line(c); c.Write([]byte("hal")) }, `until \n`, ClassEOF},
		"closes at once":       {func(c net.Conn) { line(c) }, "any", ClassEOF},
		"never answers":        {func(c net.Conn) { io.Copy(io.Discard, c) }, "any", ClassTimeout},
		"resets":               {func(c net.Conn) { line(c); c.(*net.TCPConn).SetLinger(0) }, "any", ClassReset},
		"endless":              {func(c net.Conn) { line(c); forever(c, make([]byte, 1<<16)) }, `until \n`, ClassBodyLimit},
		"endless, searched":    {func(c net.Conn) { line(c); forever(c, []byte(strings.Repeat("a", 1<<16))) }, "matches /(a+)+b/", ClassBodyLimit},
		"drip, searched":       {func(c net.Conn) { line(c); forever(c, []byte("a")) }, "matches /(a+)+b/", ClassBodyLimit},
	} {
		t.Run(name, func(t *testing.T) {
			at := listen(t, "tcp", "127.0.0.1:0", c.serve).String()
			s := Spec{URL: "tcp://" + at, Body: []byte("x\n"), Reply: c.reply, Checks: []string{"body has x"}, Timeout: 2 * time.Minute} // the race detector is slow
			if c.class == ClassTimeout {
				s.Timeout = 50 * time.Millisecond
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			do(t, open(t, s, Local{}), 0, c.class)
			runtime.GC()
			if runtime.ReadMemStats(&after); after.HeapAlloc > before.HeapAlloc+8<<20 {
				t.Errorf("%d bytes are held", after.HeapAlloc-before.HeapAlloc)
			}
		})
	}
}

// TestRawConnections: connections are kept, unless they may not be, and a connection that the server closed costs
// nothing.
func TestRawConnections(t *testing.T) {
	var accepted atomic.Int64
	count := func(f func(c net.Conn)) func(c net.Conn) {
		return func(c net.Conn) {
			accepted.Add(1)
			f(c)
		}
	}
	one := func(c net.Conn) { // it answers one line and hangs up
		line, _ := bufio.NewReader(c).ReadBytes('\n')
		c.Write(line)
	}
	chatty := func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			if _, err := br.ReadBytes('\n'); err != nil {
				return
			}
			c.Write([]byte("a\nb\n")) // in one packet
		}
	}
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		once  bool
		want  int64
	}{
		"kept": {echoLines, false, 1}, "not kept": {echoLines, true, 5}, "closed by the server": {one, false, 5}, "more than a reply": {chatty, false, 5},
	} {
		accepted.Store(0)
		at := listen(t, "tcp", "127.0.0.1:0", count(c.serve)).String()
		target := open(t, Spec{URL: "tcp://" + at, Body: []byte("a\n"), Reply: `until \n`, NoKeepAlive: c.once, Timeout: 30 * time.Second}, Local{})
		for range 5 {
			do(t, target, 0, "")
			if name == "closed by the server" {
				awaitHangUp(t, target.(*rawTarget))
			}
		}
		if n := accepted.Load(); n != c.want {
			t.Errorf("%s: %d connections, want %d", name, n, c.want)
		}
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

// TestSendOnly: without a reply, every payload arrives once and whole, though the server answers and nobody reads that.
func TestSendOnly(t *testing.T) {
	var mu sync.Mutex
	lines := map[string]int{}
	at := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		for br := bufio.NewReader(c); ; {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			mu.Lock()
			lines[line]++
			mu.Unlock()
			if _, err := c.Write([]byte(line)); err != nil {
				return
			}
		}
	}).String()
	target := open(t, Spec{URL: "tcp://" + at, Body: []byte("${ordinal} and a text that makes it longer\n")}, Local{MaxConnections: 2})
	const n = 5000
	for i := range uint64(n) {
		if got := target.Do(t.Context(), Call{Number: i}); got.Class != "" {
			t.Fatalf("%d: %+v", i, got)
		}
	}
	all := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(lines)
	}
	await.True(t, fmt.Sprintf("%d lines", n), func() bool { return all() >= n })
	mu.Lock()
	defer mu.Unlock()
	for line, times := range lines {
		if times != 1 {
			t.Errorf("%q arrived %d times", line, times)
		}
	}
}

// TestRawCanceled: a request ends with its context, and nothing is sent once the target is halted.
func TestRawCanceled(t *testing.T) {
	var got atomic.Int64
	at := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		got.Add(n)
	}).String()
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
	at := listen(t, "tcp", "127.0.0.1:0", echoLines).String()
	web := listen(t, "tcp", "127.0.0.1:0", answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).String()
	udp := echoDatagrams(t, "127.0.0.1:0", func(b []byte) [][]byte { return [][]byte{b} })
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
	tcp := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		note(c.RemoteAddr())
		echoLines(c)
	}).String()
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
