package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestRawSpecs: what makes no sense for a scheme is an error of one line.
func TestRawSpecs(t *testing.T) {
	tcp, udp, redis := targets.Spec{URL: "tcp://h:7", Body: []byte("x")}, targets.Spec{URL: "udp://h:7", Body: []byte("x")}, targets.Spec{URL: "redis://h", Body: []byte("PING")}
	with := func(s targets.Spec, f func(*targets.Spec)) targets.Spec {
		f(&s)
		return s
	}
	for i, c := range []struct {
		spec targets.Spec
		want string
	}{
		{tcp, ""}, {udp, ""}, {redis, ""},
		{targets.Spec{URL: "udp://h:7"}, ""},
		{targets.Spec{URL: "tcp://h:7", NoKeepAlive: true}, ""},
		{targets.Spec{URL: "tcp://h:7"}, "body: is missing"},
		{targets.Spec{URL: "tcp://h", Body: []byte("x")}, "write tcp://HOST:PORT"},
		{targets.Spec{URL: "tcp://:7", Body: []byte("x")}, "write tcp://HOST:PORT"},
		{targets.Spec{URL: "tcp://h:7/p", Body: []byte("x")}, "neither login nor path"},
		{targets.Spec{URL: "tcp://u:" + secret + "@h:7", Body: []byte("x")}, "neither login nor path"},
		{targets.Spec{URL: "tcp://h:7?a=b", Body: []byte("x")}, "neither ? nor #"},
		{targets.Spec{URL: "tcp://${ordinal}:7", Body: []byte("x")}, "url: "},
		{with(tcp, func(s *targets.Spec) { s.Method = "GET" }), "method: tcp has none"},
		{with(udp, func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "A", Value: secret}} }), "header: udp has none"},
		{with(redis, func(s *targets.Spec) { s.Expect = "200" }), "expect: redis has no statuses"},
		{with(tcp, func(s *targets.Spec) { s.Redirects = 1 }), "redirects: only http"},
		{with(tcp, func(s *targets.Spec) { s.Auth = "basic:u:" + secret }), "auth: only http"},
		{with(redis, func(s *targets.Spec) { s.Auth = "basic:u:" + secret }), "auth: only http"},
		{with(tcp, func(s *targets.Spec) { s.Insecure = true }), "insecure: tcp and udp have no TLS"},
		{with(tcp, func(s *targets.Spec) { s.CA = "x" }), "cacert: tcp and udp have no TLS"},
		{with(tcp, func(s *targets.Spec) { s.Checks = []string{"status 200"} }), "check: only http and grpc have statuses"},
		{with(tcp, func(s *targets.Spec) { s.Checks = []string{"body has x"} }), "check: no reply is expected"},
		{with(tcp, func(s *targets.Spec) { s.Checks = []string{"time < 1s"} }), ""},
		{with(udp, func(s *targets.Spec) { s.UnixSocket = "/s" }), "unix socket: udp has none"},
		{with(udp, func(s *targets.Spec) { s.Body = make([]byte, 65_508) }), "at most 65507 bytes"},
		{with(udp, func(s *targets.Spec) { s.Reply, s.BodyLimit = "bytes 5", 4 }), "more than the body limit"},
		{with(tcp, func(s *targets.Spec) { s.Body = []byte("${x}") }), "no such placeholder"},
		{with(tcp, func(s *targets.Spec) { s.Timeout = -1 }), "timeout: "},
		{with(tcp, func(s *targets.Spec) { s.ConnectTo = []string{"x"} }), "connect-to"},
		{with(tcp, func(s *targets.Spec) { s.ConnectTo, s.UnixSocket = []string{":::"}, "/s" }), "unix socket: contradicts"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "bytes 0" }), "says not where a reply ends; write any, bytes N"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "any x" }), "says not where"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "end" }), "reply: tcp has no messages and no streams"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "none x" }), "says not where"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "none" }), ""},
		{with(tcp, func(s *targets.Spec) { s.Reply = "until" }), "says not where"},
		{with(tcp, func(s *targets.Spec) { s.Reply = `until \q` }), "says not where"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "matches /(/" }), "missing closing )"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "matches x" }), "says not where"},
		{with(tcp, func(s *targets.Spec) { s.Reply = "until ${ordinal}" }), "no placeholders"},
		{with(redis, func(s *targets.Spec) { s.Reply = "any" }), "reply: only tcp, udp, ws and streams of gRPC"},
		{targets.Spec{URL: "http://h", Reply: "any"}, "reply: only tcp, udp, ws and streams of gRPC"},
		{targets.Spec{URL: "noop://", Reply: "any"}, "reply: noop has none"},
		{targets.Spec{URL: "redis://h:1/x", Body: []byte("PING")}, "the number of a database"},
		{targets.Spec{URL: "redis://" + secret + "@h", Body: []byte("PING")}, "the login has no password"},
		{targets.Spec{URL: "redis://h"}, "body: is missing; give a command"},
		{targets.Spec{URL: "redis://h", Body: []byte("${ordinal} x")}, "the name of the command"},
		{targets.Spec{URL: "redis://h", Body: []byte("auth " + secret)}, "AUTH belongs in the URL"},
		{targets.Spec{URL: "redis://h", Body: []byte("'subscribe' x")}, "SUBSCRIBE has no single reply"},
		{targets.Spec{URL: "redis://h", Body: []byte("MULTI")}, "use EVAL"},
		{targets.Spec{URL: "redis://h", Body: []byte("CLIENT reply off")}, "CLIENT REPLY"},
		{targets.Spec{URL: "redis://h", Body: []byte(`SET "a`)}, "a quote is not closed"},
		{targets.Spec{URL: "redis://h", Body: []byte(`SET "a"b`)}, "behind a closing quote"},
		{targets.Spec{URL: "rediss://h", Body: []byte("PING"), Insecure: true, CA: "x"}, "ca: contradicts insecure"},
	} {
		err := Validate(c.spec)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %s: %v, want %q", i, c.spec.URL, err, c.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") || strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%v: shows a secret or is more than a line", err)
		}
	}
}
