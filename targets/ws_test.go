package targets

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/echotest"
	"github.com/loadctl/loadctl/targets/ws"
	"github.com/loadctl/loadctl/targets/ws/wstest"
)

// ofCase returns the spec of a case at a server.
func ofCase(s *wstest.Server, c wstest.Case) Spec {
	spec := Spec{URL: s.URL, Body: []byte("hello"), Reply: c.Reply, BodyLimit: c.Limit, Timeout: 30 * time.Second}
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
		spec.Timeout = 2 * time.Second // a handshake has to fit into it, on a slow machine too
	}
	return spec
}

// TestWSCases: what servers may do, good and hostile. The outcome is always the same, a good connection is kept, and
// each request is sent once.
func TestWSCases(t *testing.T) {
	for _, c := range wstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			server := wstest.Start(t, c, nil)
			target := open(t, ofCase(server, c), Local{})
			for i := range 2 {
				if c.Hello != "" && i > 0 {
					break // what it begins is there once
				}
				out := target.Do(t.Context(), Call{})
				if out.Class != c.Class || out.Status != c.Status {
					t.Fatalf("request %d: %+v, want class %q, status %d", i, out, c.Class, c.Status)
				}
				await.True(t, "the message", func() bool { return c.Handshake != "" && c.Class != "" || server.Messages.Load() == int64(i+1) })
				if c.HangUp { // a request that is sent before this is known fails
					await.True(t, "the end of the connection", func() bool { return idleOnes(target) == 0 })
				}
				if want := int64(i + 1); !c.Kept && server.Connections.Load() != want || c.Kept && server.Connections.Load() != 1 {
					t.Errorf("%d connections after request %d, kept %v", server.Connections.Load(), i, c.Kept)
				}
			}
			for _, other := range server.Others() {
				if strings.HasPrefix(other, "error") || strings.HasPrefix(other, "message") {
					t.Error(other)
				}
			}
		})
	}
}

// TestWSSaysWhy: a server that breaks the protocol, or sends too much, is told so; pings are answered, and a closing
// frame is repeated.
func TestWSSaysWhy(t *testing.T) {
	for _, c := range []struct {
		answer string
		limit  int64
		want   string
	}{
		{"\xc1\x00", 0, "close 1002"},
		{"\x81\x01\xff", 0, "close 1007"},
		{wstest.Text("hello!"), 5, "close 1009"},
		{wstest.Closing(1011), 0, "close 1011"},
		{"\x89\x01p" + wstest.Text("hello"), 0, "pong p"},
		{wstest.Text("hello") + "\x89\x01q", 0, "pong q"},
		{"\x89\x01a\x89\x01b" + wstest.Text("hello"), 0, "pong b"},
	} {
		server := wstest.Start(t, wstest.Case{Answer: c.answer}, nil)
		target := open(t, ofCase(server, wstest.Case{Limit: c.limit}), Local{})
		target.Do(t.Context(), Call{})
		await.True(t, c.want, func() bool { return len(server.Others()) > 0 })
		if got := server.Others(); got[0] != c.want {
			t.Errorf("%q: %v, want %s", c.answer, got, c.want)
		}
		if c.want[:4] == "pong" {
			target.Close()
			await.True(t, "the end", func() bool { return len(server.Others()) == 2 })
			if got := server.Others(); got[1] != "close 1000" {
				t.Errorf("%q: %v", c.answer, got)
			}
		}
	}
}

// TestWSIdle: the keeper answers pings of a server while no request is under way, throws pushes away, and closes what the
// server closes. A push is no reply to a later request.
func TestWSIdle(t *testing.T) {
	for _, scheme := range []string{"ws", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			var began, pongs, ended atomic.Int64
			release := make(chan struct{})
			serve := func(c *websocket.Conn, r *http.Request) {
				defer ended.Add(1)
				began.Add(1)
				go func() {
					for range 3 {
						if c.Ping(r.Context()) == nil {
							pongs.Add(1)
						}
						_ = c.Write(r.Context(), websocket.MessageText, []byte(strings.Repeat("push", 10_000)))
					}
					<-release
					if r.URL.Path == "/closes" {
						c.Close(websocket.StatusGoingAway, "restart")
					}
				}()
				for {
					kind, message, err := c.Read(r.Context())
					if err != nil {
						return
					}
					_ = c.Write(r.Context(), kind, message)
				}
			}
			url := echoMessages(t, serve)
			if scheme == "wss" {
				url = echoSecure(t, serve)
			}
			kept := open(t, Spec{URL: url + "/keeps", Body: []byte("hello"), Reply: "any", Insecure: true, Checks: []string{"body has hello"}}, Local{})
			closed := open(t, Spec{URL: url + "/closes", Body: []byte("hello"), Reply: "any", Insecure: true, Checks: []string{"body has hello"}}, Local{})
			for _, target := range []Target{kept, closed} {
				if n := target.(connecting).Preconnect(t.Context(), 2, time.Microsecond); n != 2 {
					t.Fatalf("%d connections", n)
				}
			}
			await.True(t, "pongs", func() bool { return pongs.Load() == 12 })
			time.Sleep(2 * keepEvery) // the last pushes have been thrown away
			if out := kept.Do(t.Context(), Call{}); out.Class != "" || out.BytesIn < 12+3*40_000 {
				t.Error(out)
			}
			close(release)
			await.True(t, "the end of two", func() bool { return ended.Load() == 2 && idleOnes(closed) == 0 })
			if n := idleOnes(kept); n != 2 {
				t.Errorf("%d connections are left", n)
			}
			if out := closed.Do(t.Context(), Call{}); out.Class == ClassClosed || began.Load() != 5 {
				t.Errorf("%+v, %d connections", out, began.Load())
			}
		})
	}
}

// A deafWire takes nothing, and counts how often it was closed.
type deafWire struct {
	net.Conn
	closed atomic.Int64
}

func (d *deafWire) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func (d *deafWire) Close() error {
	d.closed.Add(1)
	return d.Conn.Close()
}

// deafen makes the idle connection of a target one that takes nothing.
func deafen(t *testing.T, target Target) *deafWire {
	t.Helper()
	p := target.(*wsTarget).pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) != 1 {
		t.Fatalf("%d idle connections", len(p.idle))
	}
	c := p.idle[0]
	c.socket.mu.Lock()
	defer c.socket.mu.Unlock()
	deaf := &deafWire{Conn: c.wire}
	c.wire = deaf
	return deaf
}

// TestWSClosedInBetween: a connection breaks just before a message is written to it. Not a byte was taken, so the message
// goes over another one.
func TestWSClosedInBetween(t *testing.T) {
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text("hello")}, nil)
	target := open(t, ofCase(server, wstest.Case{}), Local{})
	do(t, target, 0, "")
	deafen(t, target)
	do(t, target, 0, "")
	if server.Connections.Load() != 2 || server.Messages.Load() != 2 {
		t.Errorf("%d connections, %d messages", server.Connections.Load(), server.Messages.Load())
	}
}

// TestWSKeeperDoesNotWait: the keeper looks after all connections, so it does not wait for one that it closes. TLS would.
func TestWSKeeperDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
		kind, message, err := c.Read(r.Context())
		if err != nil {
			return
		}
		_ = c.Write(r.Context(), kind, message)
		<-release
		c.Close(websocket.StatusGoingAway, "")
	})
	target := open(t, Spec{URL: url, Body: []byte("hello"), Reply: "any"}, Local{})
	do(t, target, 0, "")
	deaf := deafen(t, target)
	close(release)
	await.True(t, "the end of the connection", func() bool { return idleOnes(target) == 0 })
	if deaf.closed.Load() > 0 {
		t.Error("the keeper closed TLS, which may wait")
	}
}

// TestWSIdleMemory: a connection keeps no long reply while it is idle.
func TestWSIdleMemory(t *testing.T) {
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text(strings.Repeat("x", 500_000))}, nil)
	target := open(t, ofCase(server, wstest.Case{Check: "body has xxx"}), Local{})
	do(t, target, 0, "")
	p := target.(*wsTarget).pool
	if kept := cap(p.idle[0].socket.reader.Content()); kept > 0 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// idleOnes returns how many connections are idle.
func idleOnes(t Target) int {
	p := t.(*wsTarget).pool
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// TestWSFlood: a server that sends pushes as fast as it can, or pings, makes neither memory nor a request grow without
// end.
func TestWSFlood(t *testing.T) {
	for name, frame := range map[string]string{"messages": wstest.Text(strings.Repeat("x", 60_000)), "pings": strings.Repeat("\x89\x01p", 1000), "fragments": "\x01\x00" + strings.Repeat("\x00\x00", 1000) + "\x80\x00"} {
		t.Run(name, func(t *testing.T) {
			at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
				buf := make([]byte, 4096)
				n, _ := c.Read(buf)
				_, key, _ := strings.Cut(string(buf[:n]), "Sec-WebSocket-Key: ")
				key, _, _ = strings.Cut(key, "\r")
				fmt.Fprint(c, strings.Replace(wstest.Good, "KEY", ws.Accept(key), 1))
				for b := []byte(frame); ; {
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			})
			target := open(t, Spec{URL: "ws://" + at, Body: []byte("hello"), Reply: "matches /never/", Timeout: 300 * time.Millisecond}, Local{})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			await.True(t, "a connection", func() bool { return target.(connecting).Preconnect(t.Context(), 1, time.Microsecond) == 1 })
			time.Sleep(2 * keepEvery)
			for range 2 {
				began := time.Now()
				if out := target.Do(t.Context(), Call{}); out.Class != ClassTimeout {
					t.Errorf("%+v", out)
				}
				await.Soon(t, "a timeout", time.Since(began), 10*time.Second)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("%d bytes", grown)
			}
		})
	}
}

// TestWSHandshake: what a server sees of a handshake. Each has another key. Placeholders are filled for each connection.
func TestWSHandshake(t *testing.T) {
	var mu sync.Mutex
	var seen []*http.Request
	url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
		mu.Lock()
		seen = append(seen, r)
		mu.Unlock()
		_, _, _ = c.Read(r.Context())
		_ = c.Write(r.Context(), websocket.MessageText, []byte(c.Subprotocol()))
	})
	spec := Spec{URL: strings.Replace(url, "ws://", "ws://ann:pw@", 1) + "/a/${ordinal}?q=${ordinal}", Body: []byte("x${ordinal}"), NoKeepAlive: true, Reply: "any",
		Headers: []Header{{"Sec-WebSocket-Protocol", "other, chat"}, {"X-Number", "${ordinal}"}, {"Host", "h.example"}, {"Origin", "http://o"}}, Checks: []string{"body has chat"}}
	target := open(t, spec, Local{})
	for n := range uint64(2) {
		if out := target.Do(t.Context(), Call{Number: 7 + n}); out.Class != "" || out.BytesIn < 100 || out.BytesOut < 100 {
			t.Fatal(out)
		}
	}
	if len(seen) != 2 || seen[0].Header.Get("Sec-WebSocket-Key") == seen[1].Header.Get("Sec-WebSocket-Key") {
		t.Fatalf("%d handshakes", len(seen))
	}
	r := seen[1]
	user, password, _ := r.BasicAuth()
	got := fmt.Sprint(r.RequestURI, r.Host, user, password, r.Header.Get("X-Number"), r.Header.Get("Origin"), r.Header.Get("Sec-WebSocket-Version"), r.Header.Get("User-Agent"), len(r.Header.Values("Sec-WebSocket-Extensions")))
	if want := "/a/8?q=8h.exampleannpw8http://o13loadctl0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	credential := new(Credential)
	if err := credential.Set("Bearer t1"); err != nil {
		t.Fatal(err)
	}
	auth := open(t, Spec{URL: url, Body: []byte("x"), Reply: "any", Auth: "bearer:@env:T"}, Local{Credential: credential})
	if out := auth.Do(t.Context(), Call{}); out.Class != "" || seen[2].Header.Get("Authorization") != "Bearer t1" {
		t.Error(out, seen[2].Header)
	}
}

// TestWSOpens: without a message a request is a handshake, or one and a greeting. Each is one connection.
func TestWSOpens(t *testing.T) {
	for _, c := range []struct {
		c     wstest.Case
		reply string
		want  Outcome
	}{
		{wstest.Case{}, "", Outcome{Status: 101}},
		{wstest.Case{Hello: wstest.Text("welcome")}, "any", Outcome{Status: 101}},
		{wstest.Case{Hello: wstest.Closing(1013)}, "any", Outcome{Status: 101, Class: "closed 1013"}},
		{wstest.Case{Handshake: "HTTP/1.1 503 x\r\n\r\n"}, "", Outcome{Status: 503, Class: ClassStatus}},
		{wstest.Case{Handshake: "HTTP/1.1 101 Switching Protocols\r\nno colon\r\n\r\n"}, "", Outcome{Class: ClassProtocol}},
	} {
		server := wstest.Start(t, c.c, nil)
		var checks []string
		if c.reply != "" {
			checks = []string{"body has welcome"}
		}
		target := open(t, Spec{URL: server.URL, NoKeepAlive: true, Reply: c.reply, Checks: checks, Timeout: 30 * time.Second}, Local{})
		for n := range int64(3) {
			out := target.Do(t.Context(), Call{})
			if out.Class != c.want.Class || out.Status != c.want.Status || out.BytesOut < 100 || out.BytesIn < 10 || server.Connections.Load() != n+1 {
				t.Errorf("%+v: %+v, %d connections", c.c, out, server.Connections.Load())
			}
		}
	}
	halted := open(t, Spec{URL: wstest.Start(t, wstest.Case{}, nil).URL, NoKeepAlive: true}, Local{Halted: func() bool { return true }})
	if out := halted.Do(t.Context(), Call{}); out != (Outcome{Class: ClassCanceled}) {
		t.Error(out)
	}
}

// TestWSHalted: nothing is sent once the worker has halted, and the end of the context ends a request.
func TestWSHalted(t *testing.T) {
	var halt atomic.Bool
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text("hello")}, nil)
	target := open(t, ofCase(server, wstest.Case{}), Local{Halted: halt.Load})
	for _, want := range []string{"", ClassCanceled} {
		if out := target.Do(t.Context(), Call{}); out.Class != want {
			t.Error(out)
		}
		halt.Store(true)
	}
	silent := open(t, ofCase(wstest.Start(t, wstest.Case{}, nil), wstest.Case{}), Local{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if out := silent.Do(ctx, Call{}); out.Class != ClassCanceled {
		t.Error(out)
	}
	if n := server.Messages.Load(); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestWSInParallel: many requests over few connections to a server of another implementation, over TLS too. Each gets
// the answer to its own message.
func TestWSInParallel(t *testing.T) {
	for _, url := range []string{echoMessages(t, nil), echoSecure(t, nil)} {
		target := open(t, Spec{URL: url, Body: []byte("${ordinal}|" + strings.Repeat("€", 50_000)), Reply: "any", Insecure: true}, Local{MaxConnections: 4})
		var all sync.WaitGroup
		for n := range uint64(40) {
			all.Go(func() {
				body := fmt.Sprint(n) + "|"
				if out := target.Do(t.Context(), Call{Number: n}); out.Class != "" || out.BytesIn < int64(len(body))+150_000 {
					t.Error(out)
				}
			})
		}
		all.Wait()
	}
}

// TestWSBesideHTTP2: the steps of a workload over HTTP/2 and WebSocket go to one server.
func TestWSBesideHTTP2(t *testing.T) {
	echo := echoHandler(nil)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			fmt.Fprint(w, r.Proto)
			return
		}
		echo.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	target := open(t, Spec{HTTP: HTTP2, Insecure: true, Flows: []Flow{{Name: "f", Steps: []Step{
		{Name: "page", URL: s.URL + "/page", Checks: []string{"body has HTTP/2.0"}},
		{Name: "chat", URL: "wss" + strings.TrimPrefix(s.URL, "https"), Body: []byte("hello"), Reply: "any", Checks: []string{"body has hello"}},
	}}}}, Local{})
	for step := range 2 {
		if out := target.Do(t.Context(), Call{Step: step}); out.Class != "" {
			t.Errorf("step %d: %+v", step, out)
		}
	}
}

// TestWSSpecs: what cannot work is an error of one line that says what to do.
func TestWSSpecs(t *testing.T) {
	good := Spec{URL: "ws://h/p?q=1", Body: []byte("x")}
	with := func(f func(*Spec)) Spec {
		s := good
		f(&s)
		return s
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{good, ""},
		{Spec{URL: "wss://u:p@h:8443/", NoKeepAlive: true, Reply: "any"}, ""},
		{with(func(s *Spec) { s.Headers = []Header{{"Authorization", "x"}, {"Cookie", "a=b"}} }), ""},
		{with(func(s *Spec) { s.Reply = "messages 2" }), ""},
		{with(func(s *Spec) { s.Auth, s.Insecure = "basic:u:p", true }), ""},
		{with(func(s *Spec) { s.Body = nil }), "body: is missing"},
		{with(func(s *Spec) { s.URL = "ws://h/#x" }), "url: ws has no #"},
		{with(func(s *Spec) { s.URL = "ws:///p" }), "url: names no host"},
		{with(func(s *Spec) { s.Method = "GET" }), "method: ws has none"},
		{with(func(s *Spec) { s.Expect = "101" }), "expect: the handshake"},
		{with(func(s *Spec) { s.Reply = "bytes 5" }), "reply: over ws a message tells where it ends"},
		{with(func(s *Spec) { s.Reply = "until x" }), "reply: over ws a message tells where it ends"},
		{with(func(s *Spec) { s.Reply = "messages 0" }), "says not where a reply ends"},
		{with(func(s *Spec) { s.Checks = []string{"body has x"} }), "check: no reply is expected"},
		{with(func(s *Spec) { s.Checks = []string{"status 101"} }), "check: only http"},
		{with(func(s *Spec) { s.Redirects = 1 }), "redirects: only http"},
		{with(func(s *Spec) { s.Auth = "sigv4:region=r,service=s,access_key=a,secret_key=@f" }), "auth: sigv4 is for http"},
		{with(func(s *Spec) { s.URL = "ws://h/${ordinal}" }), "url: a connection carries many messages"},
		{with(func(s *Spec) { s.Headers = []Header{{"X", "${uuid}"}} }), "header X: a connection carries many messages"},
		{with(func(s *Spec) { s.Headers = []Header{{"upgrade", "x"}} }), "header upgrade: follows from the protocol"},
		{with(func(s *Spec) { s.Headers = []Header{{"sec-websocket-key", "x"}} }), "header sec-websocket-key: follows"},
		{with(func(s *Spec) { s.Headers = []Header{{"Sec-WebSocket-Extensions", "permessage-deflate"}} }), "no compression"},
		{Spec{URL: "tcp://h:1", Body: []byte("x"), Reply: "messages 2"}, "reply: tcp has no messages"},
	} {
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
	if !slices.Equal((Spec{URL: "wss://h/"}).Hosts(), []string{"h:443"}) {
		t.Error("wrong port")
	}
}

// TestWSReach: a worker learns at the start that the handshake is refused. No message is sent.
func TestWSReach(t *testing.T) {
	for handshake, want := range map[string]string{"": "", "HTTP/1.1 404 Not Found\r\n\r\n": "the server answers 404 Not Found", "nothing\r\n": "not of HTTP/1"} {
		server := wstest.Start(t, wstest.Case{Handshake: handshake}, nil)
		err := ofCase(server, wstest.Case{}).Reach(t.Context(), Local{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || server.Messages.Load() != 0 {
			t.Errorf("%q: %v", handshake, err)
		}
		once := ofCase(server, wstest.Case{})
		once.NoKeepAlive = true
		if err := once.Reach(t.Context(), Local{}); err != nil {
			t.Errorf("%q: %v", handshake, err)
		}
	}
}

// TestWSBinary: --body-hex, and what is no UTF-8, is sent as a binary message.
func TestWSBinary(t *testing.T) {
	url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
		for {
			kind, _, err := c.Read(r.Context())
			if err != nil {
				return
			}
			_ = c.Write(r.Context(), websocket.MessageText, []byte(kind.String()))
		}
	})
	for want, spec := range map[string]Spec{"MessageText": {Body: []byte("a")}, "MessageBinary": {Body: []byte("a"), Binary: true}, "MessageBinar": {Body: []byte{0xff}}} {
		spec.URL, spec.Reply, spec.Checks = url, "any", []string{"body has " + want}
		if out := open(t, spec, Local{}).Do(t.Context(), Call{}); out.Class != "" {
			t.Errorf("%s: %+v", want, out)
		}
	}
}
