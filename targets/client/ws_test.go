package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/ws/wstest"
)

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
	spec := targets.Spec{URL: strings.Replace(url, "ws://", "ws://ann:pw@", 1) + "/a/${ordinal}?q=${ordinal}", Body: []byte("x${ordinal}"), NoKeepAlive: true, Reply: "any",
		Headers: []targets.Header{{Name: "Sec-WebSocket-Protocol", Value: "other, chat"}, {Name: "X-Number", Value: "${ordinal}"}, {Name: "Host", Value: "h.example"}, {Name: "Origin", Value: "http://o"}}, Checks: []string{"body has chat"}}
	target := open(t, spec, targets.Local{})
	for n := range uint64(2) {
		if out := target.Do(t.Context(), targets.Call{Number: 7 + n}); out.Class != "" || out.BytesIn < 100 || out.BytesOut < 100 {
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

	credential := new(targets.Credential)
	if err := credential.Set("Bearer t1"); err != nil {
		t.Fatal(err)
	}
	auth := open(t, targets.Spec{URL: url, Body: []byte("x"), Reply: "any", Auth: "bearer:@env:T"}, targets.Local{Credential: credential})
	if out := auth.Do(t.Context(), targets.Call{}); out.Class != "" || seen[2].Header.Get("Authorization") != "Bearer t1" {
		t.Error(out, seen[2].Header)
	}
}

// TestWSInParallel: many requests over few connections to a server of another implementation, over TLS too. Each gets
// the answer to its own message.
func TestWSInParallel(t *testing.T) {
	for _, url := range []string{echoMessages(t, nil), echoSecure(t, nil)} {
		target := open(t, targets.Spec{URL: url, Body: []byte("${ordinal}|" + strings.Repeat("€", 50_000)), Reply: "any", Insecure: true}, targets.Local{MaxConnections: 4})
		var all sync.WaitGroup
		for n := range uint64(40) {
			all.Go(func() {
				body := fmt.Sprint(n) + "|"
				if out := target.Do(t.Context(), targets.Call{Number: n}); out.Class != "" || out.BytesIn < int64(len(body))+150_000 {
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
	target := open(t, targets.Spec{HTTP: targets.HTTP2, Insecure: true, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "page", URL: s.URL + "/page", Checks: []string{"body has HTTP/2.0"}},
		{Name: "chat", URL: "wss" + strings.TrimPrefix(s.URL, "https"), Body: []byte("hello"), Reply: "any", Checks: []string{"body has hello"}},
	}}}}, targets.Local{})
	for step := range 2 {
		if out := target.Do(t.Context(), targets.Call{Step: step}); out.Class != "" {
			t.Errorf("step %d: %+v", step, out)
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
	for want, spec := range map[string]targets.Spec{"MessageText": {Body: []byte("a")}, "MessageBinary": {Body: []byte("a"), Binary: true}, "MessageBinar": {Body: []byte{0xff}}} {
		spec.URL, spec.Reply, spec.Checks = url, "any", []string{"body has " + want}
		if out := open(t, spec, targets.Local{}).Do(t.Context(), targets.Call{}); out.Class != "" {
			t.Errorf("%s: %+v", want, out)
		}
	}
}

// ofCase returns the spec of a case at a server.
func ofCase(s *wstest.Server, c wstest.Case) targets.Spec {
	spec := targets.Spec{URL: s.URL, Body: []byte("hello"), Reply: c.Reply, BodyLimit: c.Limit, Timeout: 30 * time.Second}
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

// TestWSHalted: nothing is sent once the worker has halted, and the end of the context ends a request.
func TestWSHalted(t *testing.T) {
	var halt atomic.Bool
	server := wstest.Start(t, wstest.Case{Answer: wstest.Text("hello")}, nil)
	target := open(t, ofCase(server, wstest.Case{}), targets.Local{Halted: halt.Load})
	for _, want := range []string{"", targets.ClassCanceled} {
		if out := target.Do(t.Context(), targets.Call{}); out.Class != want {
			t.Error(out)
		}
		halt.Store(true)
	}
	silent := open(t, ofCase(wstest.Start(t, wstest.Case{}, nil), wstest.Case{}), targets.Local{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if out := silent.Do(ctx, targets.Call{}); out.Class != targets.ClassCanceled {
		t.Error(out)
	}
	if n := server.Messages.Load(); n != 1 {
		t.Errorf("%d messages", n)
	}
}
