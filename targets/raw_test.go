package targets

import (
	"fmt"
	"strings"
	"testing"
)

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
