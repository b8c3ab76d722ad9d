package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestWSSpecs: what cannot work is an error of one line that says what to do.
func TestWSSpecs(t *testing.T) {
	good := targets.Spec{URL: "ws://h/p?q=1", Body: []byte("x")}
	with := func(f func(*targets.Spec)) targets.Spec {
		s := good
		f(&s)
		return s
	}
	for _, c := range []struct {
		spec targets.Spec
		want string
	}{
		{good, ""},
		{targets.Spec{URL: "wss://u:p@h:8443/", NoKeepAlive: true, Reply: "any"}, ""},
		{with(func(s *targets.Spec) {
			s.Headers = []targets.Header{{Name: "Authorization", Value: "x"}, {Name: "Cookie", Value: "a=b"}}
		}), ""},
		{with(func(s *targets.Spec) { s.Reply = "messages 2" }), ""},
		{with(func(s *targets.Spec) { s.Auth, s.Insecure = "basic:u:p", true }), ""},
		{with(func(s *targets.Spec) { s.Body = nil }), "body: is missing"},
		{with(func(s *targets.Spec) { s.URL = "ws://h/#x" }), "url: ws has no #"},
		{with(func(s *targets.Spec) { s.URL = "ws:///p" }), "url: names no host"},
		{with(func(s *targets.Spec) { s.Method = "GET" }), "method: ws has none"},
		{with(func(s *targets.Spec) { s.Expect = "101" }), "expect: the handshake"},
		{with(func(s *targets.Spec) { s.Reply = "bytes 5" }), "reply: over ws a message tells where it ends"},
		{with(func(s *targets.Spec) { s.Reply = "until x" }), "reply: over ws a message tells where it ends"},
		{with(func(s *targets.Spec) { s.Reply = "messages 0" }), "says not where a reply ends"},
		{with(func(s *targets.Spec) { s.Checks = []string{"body has x"} }), "check: no reply is expected"},
		{with(func(s *targets.Spec) { s.Checks = []string{"status 101"} }), "check: only http"},
		{with(func(s *targets.Spec) { s.Redirects = 1 }), "redirects: only http"},
		{with(func(s *targets.Spec) { s.Auth = "sigv4:region=r,service=s,access_key=a,secret_key=@f" }), "auth: sigv4 is for http"},
		{with(func(s *targets.Spec) { s.URL = "ws://h/${ordinal}" }), "url: a connection carries many messages"},
		{with(func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "X", Value: "${uuid}"}} }), "header X: a connection carries many messages"},
		{with(func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "upgrade", Value: "x"}} }), "header upgrade: follows from the protocol"},
		{with(func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "sec-websocket-key", Value: "x"}} }), "header sec-websocket-key: follows"},
		{with(func(s *targets.Spec) {
			s.Headers = []targets.Header{{Name: "Sec-WebSocket-Extensions", Value: "permessage-deflate"}}
		}), "no compression"},
		{targets.Spec{URL: "tcp://h:1", Body: []byte("x"), Reply: "messages 2"}, "reply: tcp has no messages"},
	} {
		err := Validate(c.spec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
	if !slices.Equal((targets.Spec{URL: "wss://h/"}).Hosts(), []string{"h:443"}) {
		t.Error("wrong port")
	}
}
