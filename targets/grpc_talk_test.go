package targets

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/rpctest"
	"github.com/loadctl/loadctl/targets/http2/http2test"
	"github.com/loadctl/loadctl/targets/status"
)

// TestTalks: messages on streams that stay open, at a server of gRPC's own library. Each arrives once.
func TestTalks(t *testing.T) {
	for _, c := range rpctest.Talks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // some wait for a timeout
			s := rpctest.Start(t)
			target := calling(t, s.URL(c.Method), c.Body, func(s *Spec) {
				s.Reply, s.Checks, s.BodyLimit = c.Reply, c.Checks, c.Limit
				if c.Timeout > 0 {
					s.Timeout = c.Timeout
				}
			}, Local{MaxConnections: 1})
			for n := range uint64(rpctest.Requests) {
				out := target.Do(t.Context(), Call{Number: n})
				if got := strings.TrimPrefix(status.Name(out.Status), "0"); got != c.Status || out.Class != c.Class || c.In >= 0 && out.Messages != c.In {
					t.Errorf("%+v (%s), want %s %s", out, got, c.Status, c.Class)
				}
			}
			checkTalk(t, &c, s)
			target.Close()
			if kept := int64(c.Streams); kept > 0 {
				await.True(t, "the end of the stream", func() bool { return s.Finished() == kept })
			}
		})
	}
}

// checkTalk checks what has arrived.
func checkTalk(t *testing.T, c *rpctest.Talk, s *rpctest.Server) {
	t.Helper()
	streams, messages := int64(rpctest.Requests), int64(rpctest.Requests)
	if c.Streams != 0 {
		streams = max(0, int64(c.Streams))
	}
	if c.Unsent {
		messages = 0
	}
	await.True(t, "the messages", func() bool { return s.Messages() >= messages })
	if s.Calls() != streams || s.Messages() != messages {
		t.Errorf("%d messages on %d streams, want %d on %d", s.Messages(), s.Calls(), messages, streams)
	}
}

// TestManyTalks: many messages at the same time, to a server that closes connections when they are old, are each answered
// once.
func TestManyTalks(t *testing.T) {
	for _, streams := range []int{1, 4} {
		t.Run(fmt.Sprint(streams), func(t *testing.T) {
			s := rpctest.Start(t, rpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 20 * time.Millisecond, MaxConnectionAgeGrace: 5 * time.Second}))
			target := calling(t, s.URL("FullDuplexCall"), `{"responseParameters": [{"size": ${random 1 90}}]}`, func(s *Spec) { s.Streams = streams }, Local{MaxConnections: 3})
			const each, clients = 300, 8
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						if out := target.Do(t.Context(), Call{}); out.Class != "" || out.Messages != 1 {
							t.Errorf("%+v", out)
						}
					}
				})
			}
			all.Wait()
			if n, open := s.Messages(), s.Connections()*int64(streams); n != each*clients || s.Calls() > open {
				t.Errorf("%d messages arrived on %d streams, want %d on at most %d", n, s.Calls(), each*clients, open)
			}
		})
	}
}

// TestTalksMakeRoom: if a server allows one stream on a connection, one that is kept gives way to a call, and is opened
// again.
func TestTalksMakeRoom(t *testing.T) {
	s := rpctest.Start(t, rpc.MaxConcurrentStreams(1))
	target := calling(t, "", "", func(spec *Spec) {
		spec.Body = nil
		spec.Flows = []Flow{{Name: "f", Steps: []Step{
			{Name: "talk", URL: s.URL("FullDuplexCall"), Body: []byte(`{"responseParameters": [{"size": 3}]}`)},
			{Name: "call", URL: s.URL("EmptyCall")},
			{Name: "tell", URL: s.URL("StreamingInputCall"), Body: []byte(`{}`)},
		}}}
	}, Local{MaxConnections: 1})
	for range 5 {
		for step := range 3 {
			if out := target.Do(t.Context(), Call{Step: step}); out.Class != "" {
				t.Errorf("step %d: %+v", step, out)
			}
		}
	}
	await.True(t, "15 streams and calls", func() bool { return s.Calls() == 15 })
}

// TestTalkHalted: nothing is sent after the worker has halted, on a stream that is open either.
func TestTalkHalted(t *testing.T) {
	s, halted := rpctest.Start(t), false
	target := calling(t, s.URL("FullDuplexCall"), `{"responseParameters": [{"size": 3}]}`, nil, Local{Halted: func() bool { return halted }})
	for range 2 {
		if out := target.Do(t.Context(), Call{}); (out.Class == ClassCanceled) != halted || s.Messages() != 1 {
			t.Errorf("%+v, %d messages", out, s.Messages())
		}
		halted = true
	}
}

// TestTalkServerGone: a server that goes while a stream is idle costs no message; one that goes during a message fails it,
// and nothing is sent again.
func TestTalkServerGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rpctest.Serve(t, l, false)
	target := calling(t, s.URL("FullDuplexCall"), `{"responseParameters": [{"size": 3}]}`, nil, Local{})
	if out := target.Do(t.Context(), Call{}); out.Class != "" {
		t.Fatalf("%+v", out)
	}
	s.Stop()
	if l, err = net.Listen("tcp", s.Addr); err != nil {
		t.Fatal(err)
	}
	s = rpctest.Serve(t, l, false)
	idle := target.(*httpTarget).pool.idle[0]
	await.True(t, "the end of the connection", func() bool { return !idle.session.usable() })
	for range 2 {
		if out := target.Do(t.Context(), Call{}); out.Class != "" {
			t.Errorf("%+v", out)
		}
	}
	if s.Messages() != 2 || s.Calls() != 1 {
		t.Errorf("%d messages on %d streams", s.Messages(), s.Calls())
	}
}

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

// TestGRPCOdd: what odd and hostile servers answer has the same outcome each time, and memory stays small.
func TestGRPCOdd(t *testing.T) {
	for _, o := range rpctest.Odds() {
		for _, size := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/%d", o.Name, size), func(t *testing.T) {
				t.Parallel()
				target := calling(t, o.URL(http2test.Serve(t, o.Server(), nil, size).Address), "{}", func(s *Spec) {
					if s.BodyLimit, s.Expect = o.Limit, o.Expect; o.Check != "" {
						s.Checks = []string{o.Check}
					}
				}, Local{})
				if out := target.Do(t.Context(), Call{}); strings.TrimPrefix(status.Name(out.Status), "0") != o.Status || out.Class != o.Class {
					t.Errorf("%+v (%s), want %s %s", out, status.Name(out.Status), o.Status, o.Class)
				}
			})
		}
	}
}
