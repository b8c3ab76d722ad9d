package targets

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
)

// TestUnfitTalks: what makes no sense for a method is an error that says what to do.
func TestUnfitTalks(t *testing.T) {
	for _, c := range []struct {
		method string
		more   func(*Spec)
		want   string
	}{
		{"EmptyCall", func(s *Spec) { s.Reply = "any" }, "reply: /grpc.testing.TestService/EmptyCall takes one message"},
		{"StreamingInputCall", func(s *Spec) { s.Reply = "messages 2" }, "answers once, at the end of its stream"},
		{"FullDuplexCall", func(s *Spec) { s.Reply = "until x" }, "over gRPC a message tells where it ends"},
		{"FullDuplexCall", func(s *Spec) { s.Reply = "soon" }, "says not where a reply ends"},
		{"FullDuplexCall", func(s *Spec) { s.Reply, s.NoKeepAlive = "any", true }, "with --no-keep-alive each request has a stream of its own"},
		{"FullDuplexCall", func(s *Spec) { s.Headers = []Header{{"A", "${ordinal}"}} }, "header A: a stream carries many messages"},
		{"FullDuplexCall", func(s *Spec) { s.Expect = "OK" }, "a message on an open stream has no status"},
		{"FullDuplexCall", func(s *Spec) { s.Checks = []string{"status OK"} }, "a message on an open stream has no status"},
		{"FullDuplexCall", func(s *Spec) { s.Reply, s.Checks = "none", []string{"time < 1s"} }, ""},
		{"FullDuplexCall", func(s *Spec) { s.Reply, s.Checks = "none", []string{"body has x"} }, "no reply is expected"},
		{"StreamingInputCall", func(s *Spec) { s.Checks = []string{"body has x"} }, "no reply is expected"},
		{"StreamingInputCall", func(s *Spec) { s.NoKeepAlive, s.Checks = true, []string{"status OK"} }, ""},
		{"FullDuplexCall", func(s *Spec) { s.Reply, s.Expect = "end", "OK,NOT_FOUND" }, ""},
	} {
		s := Spec{URL: "grpc://h" + rpctest.Path + c.method, Descriptors: rpctest.Descriptors(t)}
		c.more(&s)
		if err := s.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.method, err, c.want)
		}
	}
}
