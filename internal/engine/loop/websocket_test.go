//go:build linux

package loop

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/ws"
	"github.com/loadctl/loadctl/targets/ws/wstest"
)

// socketSpec returns the spec of a case at a server.
func socketSpec(s *wstest.Server, c wstest.Case) targets.Spec {
	spec := targets.Spec{URL: s.URL, Body: []byte("hello"), Reply: c.Reply, BodyLimit: c.Limit, Timeout: 30 * time.Second, Insecure: true}
	switch c.Reply {
	case "":
		spec.Reply = "any"
	case "-":
		spec.Reply = ""
	}
	if c.Check != "" {
		spec.Checks = []string{c.Check}
	}
	if c.Silent {
		spec.Timeout = 3 * time.Second // a handshake has to fit into it, on a slow machine too
	}
	return spec
}

// TestSocketCases: what servers of WebSocket may do, good and hostile, plain and with TLS. Outcomes are those of the
// Target, a good connection is kept, and each request is sent once.
func TestSocketCases(t *testing.T) {
	for kind, config := range map[string]*tls.Config{"ws": nil, "wss": certify(t, time.Hour).config} {
		for _, c := range wstest.Cases() {
			t.Run(kind+"/"+c.Name, func(t *testing.T) {
				t.Parallel() // many wait for a timeout
				server := wstest.Start(t, c, config)
				r := newRig(t, socketSpec(server, c), targets.Local{}, 1)
				defer r.close()
				for i := range int64(2) {
					if c.Hello != "" && i > 0 {
						break // what it begins is there once
					}
					expect(t, r.do(), c.Status, c.Class)
					cn := r.c.conns[0]
					switch kept := cn.Socket.IsOpen(); {
					case c.Kept && !kept:
						t.Fatalf("the connection is not kept after request %d", i)
					case !c.Kept && kept: // what is to follow may not have come yet
						r.pollUntil("the connection is dropped", func() bool { return !cn.Socket.IsOpen() })
					}
					if n := server.Connections.Load(); c.Kept && n != 1 || !c.Kept && n != i+1 {
						t.Errorf("%d connections after request %d", n, i)
					}
					r.pollUntil("the message", func() bool { return c.Handshake != "" && c.Class != "" || server.Messages.Load() == i+1 })
				}
				for _, other := range server.Others() {
					if strings.HasPrefix(other, "error") || strings.HasPrefix(other, "message") {
						t.Error(other)
					}
				}
			})
		}
	}
}

// TestSocketsSayWhy: a server that breaks the protocol, or sends too much, is told so; pings are answered at once, also
// while no request is under way; a closing frame is repeated.
func TestSocketsSayWhy(t *testing.T) {
	config := certify(t, time.Hour).config
	for _, c := range []struct {
		answer, hello string
		limit         int64
		want          string
	}{
		{"\xc1\x00", "", 0, "close 1002"},
		{"\x81\x01\xff", "", 0, "close 1007"},
		{wstest.Text("hello!"), "", 5, "close 1009"},
		{wstest.Closing(1011), "", 0, "close 1011"},
		{"\x89\x01p" + wstest.Text("hello"), "", 0, "pong p, close 1000"},
		{wstest.Text("hello") + "\x89\x01q", "", 0, "pong q, close 1000"},
		{wstest.Text("hello") + wstest.Closing(1001), "", 0, "close 1001"},
		{wstest.Text("hello"), "\x89\x01h", 0, "pong h, close 1000"},
		{wstest.Text("hello"), "", 0, "close 1000"},
	} {
		for _, config := range []*tls.Config{nil, config} {
			server := wstest.Start(t, wstest.Case{Answer: c.answer, Hello: c.hello}, config)
			r := newRig(t, socketSpec(server, wstest.Case{Limit: c.limit}), targets.Local{}, 1)
			if c.hello != "" {
				if n := r.c.Preconnect(t.Context(), 1, time.Microsecond); n != 1 {
					t.Fatal(n)
				}
				r.pollUntil("the pong", func() bool { return len(server.Others()) == 1 })
			}
			r.do()
			if before, _, two := strings.Cut(c.want, ", "); two {
				r.pollUntil(before, func() bool { return len(server.Others()) == 1 })
			}
			r.close()
			await.True(t, fmt.Sprintf("%q: %s", c.answer, c.want), func() bool { return len(server.Others()) > strings.Count(c.want, ", ") })
			if got := strings.Join(server.Others(), ", "); got != c.want {
				t.Errorf("%q: %s, want %s", c.answer, got, c.want)
			}
		}
	}
}

// TestSocketOpens: without a message each request is a handshake on a connection of its own.
func TestSocketOpens(t *testing.T) {
	for _, c := range []struct {
		c      wstest.Case
		reply  string
		status int
		class  string
	}{
		{wstest.Case{}, "", 101, ""},
		{wstest.Case{Hello: wstest.Text("welcome")}, "any", 101, ""},
		{wstest.Case{Hello: wstest.Closing(1013)}, "any", 101, "closed 1013"},
		{wstest.Case{Handshake: "HTTP/1.1 503 x\r\n\r\n"}, "", 503, targets.ClassStatus},
	} {
		server := wstest.Start(t, c.c, nil)
		r := newRig(t, targets.Spec{URL: server.URL, NoKeepAlive: true, Reply: c.reply, Timeout: 30 * time.Second}, targets.Local{}, 1)
		for n := range int64(3) {
			got := r.do()
			expect(t, got, c.status, c.class)
			if got.BytesOut < 100 || got.BytesIn < 10 || server.Connections.Load() != n+1 {
				t.Errorf("%+v, %d connections", got, server.Connections.Load())
			}
		}
		r.close()
	}
	halted := newRig(t, targets.Spec{URL: wstest.Start(t, wstest.Case{}, nil).URL, NoKeepAlive: true}, targets.Local{Halted: func() bool { return true }}, 1)
	defer halted.close()
	expect(t, halted.do(), 0, targets.ClassCanceled)
}

// TestSocketFlood: a server that sends without end, before, between and instead of replies, neither blocks the loop nor
// fills its memory.
func TestSocketFlood(t *testing.T) {
	for name, frame := range map[string]string{"messages": wstest.Text(strings.Repeat("x", 60_000)), "pings": strings.Repeat("\x89\x01p", 1000), "fragments": "\x01\x00" + strings.Repeat("\x00\x00", 1000) + "\x80\x00"} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(c *net.TCPConn) {
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(strings.Replace(wstest.Good, "KEY", ws.Accept(r.Header.Get("Sec-WebSocket-Key")), 1)))
				for b := []byte(frame); err == nil; {
					_, err = c.Write(b)
				}
			})
			spec := targets.Spec{URL: "ws" + strings.TrimPrefix(url, "http"), Body: []byte("hello"), Reply: "matches /never/", Timeout: 200 * time.Millisecond}
			r := newRig(t, spec, targets.Local{}, 1)
			defer r.close()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			await.True(t, "a connection", func() bool { return r.c.Preconnect(t.Context(), 1, time.Microsecond) == 1 })
			began := time.Now()
			r.pollUntil("some time", func() bool { return time.Since(began) > 200*time.Millisecond })
			for range 2 {
				began := time.Now()
				if got := r.do(); got.Class != targets.ClassTimeout {
					t.Errorf("%+v", got)
				}
				await.Soon(t, "a timeout", time.Since(began), 5*time.Second)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("%d bytes", grown)
			}
		})
	}
}

// TestSocketClosedWhileIdle: a connection that the server closes while it is idle is given up at once, and the next
// request has another one.
func TestSocketClosedWhileIdle(t *testing.T) {
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text("hello"), Later: wstest.Text("push") + wstest.Closing(1001)}, nil)
	r := newRig(t, socketSpec(server, wstest.Case{}), targets.Local{}, 1)
	defer r.close()
	for n := range int64(3) {
		expect(t, r.do(), 0, "")
		r.pollUntil("the end of the connection", func() bool { return !r.c.conns[0].Socket.IsOpen() })
		if got := server.Connections.Load(); got != n+1 {
			t.Errorf("%d connections", got)
		}
		r.pollUntil("the closing frame", func() bool { return len(server.Others()) == int(n+1) })
	}
	if got := strings.Join(server.Others(), ", "); got != "close 1001, close 1001, close 1001" {
		t.Error(got)
	}
}

// TestSocketHalted: a message that is not sent, because the run has ended meanwhile, leaves its connection as it is.
func TestSocketHalted(t *testing.T) {
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text("hello") + "\x89\x01p"}, nil)
	halted := false
	r := newRig(t, socketSpec(server, wstest.Case{}), targets.Local{Halted: func() bool { return halted }}, 1)
	defer r.close()
	for _, class := range []string{"", targets.ClassCanceled, ""} {
		halted = class != ""
		expect(t, r.do(), 0, class)
		time.Sleep(20 * time.Millisecond) // then the connection is looked at before it is used
	}
	r.pollUntil("the pongs", func() bool { return len(server.Others()) == 2 })
	if server.Connections.Load() != 1 || server.Messages.Load() != 2 {
		t.Errorf("%d connections, %d messages", server.Connections.Load(), server.Messages.Load())
	}
}
