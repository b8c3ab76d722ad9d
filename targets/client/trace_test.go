package client_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/trace"
)

// A traces collects the trace contexts that servers see.
type traces struct {
	mu  sync.Mutex
	all []string
}

func (s *traces) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, strings.Join(values, " and "))
}

func (s *traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.add(r.Header.Values(trace.Header)...)
	if to, moved := strings.CutPrefix(r.URL.Path, "/moved"); moved {
		http.Redirect(w, r, to, http.StatusFound)
	}
}

// of adds what gRPC's own library has of a call.
func (s *traces) of(ctx context.Context) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.add(md.Get(trace.Header)...)
}

// sends checks that the requests 90 to 109 of a target carry the trace contexts that the key gives, each so many times.
func (s *traces) sends(t *testing.T, spec targets.Spec, times int) {
	t.Helper()
	const key, from, n = "5f0c1b3ad2e94c7f8a6b1d2e3f405162", 90, 20
	spec.Trace, spec.TraceSampled = true, 100_000
	target := open(t, spec, targets.Local{Trace: key})
	var want []string
	for number := uint64(from); number < from+n; number++ {
		if out := target.Do(t.Context(), targets.Call{Number: number}); out.Class != "" {
			t.Fatalf("%+v", out)
		}
		for range times {
			want = append(want, string(trace.New(key).Append(nil, number, 0, 100_000)))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.all, want) {
		t.Errorf("%s: %s came, want %s", spec.URL, strings.Join(s.all, "\n"), strings.Join(want, "\n"))
	}
	if marked := len(slices.DeleteFunc(slices.Clone(want), func(h string) bool { return !strings.HasSuffix(h, "-01") })); marked != 2*times {
		t.Errorf("%d are sampled, want %d", marked, 2*times)
	}
}

// TestTraceIsReceived: over each protocol a server of another implementation gets what can be computed, once.
func TestTraceIsReceived(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) {
		s := new(traces)
		s.sends(t, targets.Spec{URL: serve(t, s.ServeHTTP).URL, Body: []byte("x")}, 1)
	})
	t.Run("HTTP/2", func(t *testing.T) {
		s := new(traces)
		s.sends(t, targets.Spec{URL: serve2(t, true, s.ServeHTTP), HTTP: targets.HTTP2, Insecure: true}, 1)
	})
	t.Run("HTTP/3", func(t *testing.T) {
		s := new(traces)
		s.sends(t, targets.Spec{URL: startThree(t, s.ServeHTTP, nil).url, HTTP: targets.HTTP3, Insecure: true}, 1)
	})
	t.Run("redirects", func(t *testing.T) { // each hop is a request, with the trace context of the first one
		s := new(traces)
		s.sends(t, targets.Spec{URL: serve(t, s.ServeHTTP).URL + "/moved/moved/x", Redirects: 2}, 3)
	})
	t.Run("gRPC", func(t *testing.T) {
		s := new(traces)
		server := rpctest.Start(t, rpc.UnaryInterceptor(func(ctx context.Context, r any, _ *rpc.UnaryServerInfo, h rpc.UnaryHandler) (any, error) {
			s.of(ctx)
			return h(ctx, r)
		}))
		s.sends(t, targets.Spec{URL: server.URL("EmptyCall"), Descriptors: rpctest.Descriptors(t)}, 1)
	})
	t.Run("handshakes of WebSocket", func(t *testing.T) {
		s := new(traces)
		url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
			s.add(r.Header.Values(trace.Header)...)
			_, text, _ := c.Read(r.Context())
			_ = c.Write(r.Context(), websocket.MessageText, text)
		})
		s.sends(t, targets.Spec{URL: url, Body: []byte("x"), Reply: "any", NoKeepAlive: true}, 1)
	})
}

// TestTraceOfOpenStreams: where requests are messages, the trace context is that of the first one.
func TestTraceOfOpenStreams(t *testing.T) {
	s := new(traces)
	server := rpctest.Start(t, rpc.StreamInterceptor(func(service any, stream rpc.ServerStream, _ *rpc.StreamServerInfo, h rpc.StreamHandler) error {
		s.of(stream.Context())
		return h(service, stream)
	}))
	body := []byte(`{"responseParameters": [{"size": 1}], "payload": {"body": "aGVsbG8="}}`)
	grpc := targets.Spec{URL: server.URL("FullDuplexCall"), Descriptors: rpctest.Descriptors(t), Body: body}
	url := echoMessages(t, func(c *websocket.Conn, r *http.Request) {
		s.add(r.Header.Values(trace.Header)...)
		for {
			_, text, err := c.Read(r.Context())
			if err != nil {
				return
			}
			_ = c.Write(r.Context(), websocket.MessageText, text)
		}
	})
	for _, spec := range []targets.Spec{grpc, {URL: url, Body: []byte("${trace_id}"), Reply: "any", Checks: []string{"body has " + trace.New("uid").Text(7)[:1]}}} {
		spec.Trace, s.all = true, nil
		target := open(t, spec, targets.Local{Trace: "uid"})
		for range 3 {
			if out := target.Do(t.Context(), targets.Call{Number: 7}); out.Class != "" {
				t.Fatalf("%+v", out)
			}
		}
		s.mu.Lock()
		if want := string(trace.New("uid").Append(nil, 7, 0, 0)); !slices.Equal(s.all, []string{want}) {
			t.Errorf("%s: %q came, want %s once", spec.URL, s.all, want)
		}
		s.mu.Unlock()
	}
}

// TestTraceOfAFlow: its steps have one trace, and spans of their own.
func TestTraceOfAFlow(t *testing.T) {
	s := new(traces)
	url := serve(t, s.ServeHTTP).URL
	spec := targets.Spec{Trace: true, Flows: []targets.Flow{{Name: "a", Steps: []targets.Step{{Name: "x", URL: url}, {Name: "y", URL: url}}}}}
	target := open(t, spec, targets.Local{Trace: "uid"})
	var want []string
	for step := range 2 {
		if out := target.Do(t.Context(), targets.Call{Number: 3, Step: step}); out.Class != "" {
			t.Fatalf("%+v", out)
		}
		want = append(want, fmt.Sprintf("00-%s-%x-00", trace.New("uid").Text(3), trace.New("uid").Span(3, step)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.all, want) || want[0] == want[1] {
		t.Errorf("%q came, want %q", s.all, want)
	}
}
