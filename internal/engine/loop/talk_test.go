//go:build linux

package loop

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http2/http2test"
	"github.com/loadctl/loadctl/targets/status"
)

// talking returns the spec of a method of a server, and starts the server, with TLS if there is a config.
func talking(t *testing.T, c rpctest.Talk, config *tls.Config, options ...grpc.ServerOption) (*rpctest.Server, targets.Spec) {
	t.Helper()
	scheme := "grpc"
	if config != nil {
		scheme, config = "grpcs", config.Clone()
		config.NextProtos = []string{"h2"}
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := rpctest.Serve(t, l, false, options...)
	spec := targets.Spec{URL: scheme + "://" + s.Addr + rpctest.Path + c.Method, Body: []byte(c.Body), Descriptors: rpctest.Descriptors(t), Timeout: 30 * time.Second,
		Reply: c.Reply, Checks: c.Checks, BodyLimit: c.Limit, Insecure: config != nil}
	if c.Timeout > 0 {
		spec.Timeout = c.Timeout
	}
	return s, spec
}

// TestTalks: messages on streams that stay open have the outcomes of the Target, and each arrives once.
func TestTalks(t *testing.T) {
	for kind, config := range map[string]*tls.Config{"grpc": nil, "grpcs": certify(t, time.Hour).config} {
		for _, c := range rpctest.Talks() {
			t.Run(kind+"/"+c.Name, func(t *testing.T) {
				t.Parallel() // some wait for a timeout
				s, spec := talking(t, c, config)
				r := newRig(t, spec, targets.Local{}, 1)
				for range rpctest.Requests {
					out := r.do()
					if got := strings.TrimPrefix(status.Name(out.Status), "0"); got != c.Status || out.Class != c.Class || c.In >= 0 && out.Messages != c.In {
						t.Errorf("%+v (%s), want %s %s", out, got, c.Status, c.Class)
					}
				}
				streams, messages := int64(rpctest.Requests), int64(rpctest.Requests)
				if c.Streams != 0 {
					streams = max(0, int64(c.Streams))
				}
				if c.Unsent {
					messages = 0
				}
				r.pollUntil("the messages are there", func() bool { return s.Messages() >= messages && s.Calls() >= streams })
				if s.Calls() != streams || s.Messages() != messages {
					t.Errorf("%d messages on %d streams, want %d on %d", s.Messages(), s.Calls(), messages, streams)
				}
				r.close()
				await.True(t, "the end of the stream", func() bool { return c.Streams <= 0 || s.Finished() > 0 })
			})
		}
	}
}

// TestManyTalks: many messages at the same time, to a server that closes connections when they are old, are each answered
// once.
func TestManyTalks(t *testing.T) {
	aging := grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 20 * time.Millisecond, MaxConnectionAgeGrace: 5 * time.Second})
	for _, streams := range []int{1, 4} {
		for _, reply := range []string{"any", "none"} {
			t.Run(fmt.Sprintf("%d streams, %s", streams, reply), func(t *testing.T) {
				s, spec := talking(t, rpctest.Talk{Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": ${random 1 90}}]}`, Reply: reply}, nil, aging)
				spec.Streams = streams
				r := newRig(t, spec, targets.Local{}, 3)
				const requests = 3000
				for r.sent < requests {
					for r.sent < requests && r.send() {
					}
					r.poll(0)
				}
				r.pollFor(requests)
				for _, x := range r.got {
					if x.Outcome.Class != "" {
						t.Fatalf("%+v", x.Outcome)
					}
				}
				r.pollUntil("the messages are there", func() bool { return s.Messages() >= requests })
				if n, open := s.Messages(), s.Connections()*int64(streams); n != requests || s.Calls() > open {
					t.Errorf("%d messages arrived on %d streams, want %d on at most %d", n, s.Calls(), requests, open)
				}
			})
		}
	}
}

// TestTalksMakeRoom: if a server allows one stream on a connection, one that is kept gives way to a call, and is opened
// again.
func TestTalksMakeRoom(t *testing.T) {
	s, spec := talking(t, rpctest.Talk{}, nil, grpc.MaxConcurrentStreams(1))
	at := func(method string) string { return "grpc://" + s.Addr + rpctest.Path + method }
	spec.URL, spec.Body, spec.Flows = "", nil, []targets.Flow{
		{Name: "talk", Steps: []targets.Step{{Name: "talk", URL: at("FullDuplexCall"), Body: []byte(`{"responseParameters": [{"size": 3}]}`)}}},
		{Name: "call", Steps: []targets.Step{{Name: "call", URL: at("EmptyCall")}}},
		{Name: "tell", Steps: []targets.Step{{Name: "tell", URL: at("StreamingInputCall"), Body: []byte(`{}`)}}},
	}
	r := newRig(t, spec, targets.Local{}, 1)
	r.mix = spec.Mix()
	for range 15 {
		if out := r.do(); out.Class != "" {
			t.Errorf("%+v", out)
		}
	}
	r.pollUntil("15 streams and calls are there", func() bool { return s.Calls() == 15 })
}

// TestTalkServerGone: a server that goes while a stream is idle costs no message.
func TestTalkServerGone(t *testing.T) {
	s, spec := talking(t, rpctest.Talk{Method: "FullDuplexCall", Body: `{"responseParameters": [{"size": 3}]}`}, nil)
	r := newRig(t, spec, targets.Local{}, 1)
	expect(t, r.do(), 0, "")
	s.Stop()
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s = rpctest.Serve(t, l, false)
	r.pollUntil("the connection is closed", func() bool { return r.c.connections == 0 })
	for range 2 {
		expect(t, r.do(), 0, "")
	}
	if s.Messages() != 2 || s.Calls() != 1 {
		t.Errorf("%d messages on %d streams", s.Messages(), s.Calls())
	}
}

// TestOddCalls: what odd and hostile servers answer has the outcomes of the Target.
func TestOddCalls(t *testing.T) {
	for _, o := range rpctest.Odds() {
		for _, size := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s/%d", o.Name, size), func(t *testing.T) {
				t.Parallel()
				spec := targets.Spec{URL: o.URL(http2test.Serve(t, o.Server(), nil, size).Address), Body: []byte("{}"), Descriptors: rpctest.Descriptors(t),
					Timeout: 30 * time.Second, BodyLimit: o.Limit, Expect: o.Expect}
				if o.Check != "" {
					spec.Checks = []string{o.Check}
				}
				out := newRig(t, spec, targets.Local{}, 1).do()
				if strings.TrimPrefix(status.Name(out.Status), "0") != o.Status || out.Class != o.Class {
					t.Errorf("%+v (%s), want %s %s", out, status.Name(out.Status), o.Status, o.Class)
				}
			})
		}
	}
}
