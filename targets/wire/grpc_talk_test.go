package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
)

// TestUnfitTalks: what makes no sense for a method is an error that says what to do.
func TestUnfitTalks(t *testing.T) {
	for _, c := range []struct {
		method string
		more   func(*targets.Spec)
		want   string
	}{
		{"EmptyCall", func(s *targets.Spec) { s.Reply = "any" }, "reply: /grpc.testing.TestService/EmptyCall takes one message"},
		{"StreamingInputCall", func(s *targets.Spec) { s.Reply = "messages 2" }, "answers once, at the end of its stream"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply = "until x" }, "over gRPC a message tells where it ends"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply = "soon" }, "says not where a reply ends"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply, s.NoKeepAlive = "any", true }, "with --no-keep-alive each request has a stream of its own"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "A", Value: "${ordinal}"}} }, "header A: a stream carries many messages"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Expect = "OK" }, "a message on an open stream has no status"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Checks = []string{"status OK"} }, "a message on an open stream has no status"},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply, s.Checks = "none", []string{"time < 1s"} }, ""},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply, s.Checks = "none", []string{"body has x"} }, "no reply is expected"},
		{"StreamingInputCall", func(s *targets.Spec) { s.Checks = []string{"body has x"} }, "no reply is expected"},
		{"StreamingInputCall", func(s *targets.Spec) { s.NoKeepAlive, s.Checks = true, []string{"status OK"} }, ""},
		{"FullDuplexCall", func(s *targets.Spec) { s.Reply, s.Expect = "end", "OK,NOT_FOUND" }, ""},
	} {
		s := targets.Spec{URL: "grpc://h" + rpctest.Path + c.method, Descriptors: rpctest.Descriptors(t)}
		c.more(&s)
		if err := Validate(s); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.method, err, c.want)
		}
	}
}
