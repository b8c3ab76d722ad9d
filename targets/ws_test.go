package targets

import (
	"slices"
	"strings"
	"testing"
	"time"

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
