package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	rpc "google.golang.org/grpc"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/status"
)

// calling returns the target of a method of a server.
func calling(t *testing.T, url, body string, more func(*targets.Spec), local targets.Local) targets.Target {
	t.Helper()
	s := targets.Spec{URL: url, Body: []byte(body), Descriptors: rpctest.Descriptors(t), Timeout: 30 * time.Second}
	if more != nil {
		more(&s)
	}
	target, err := client.New(s, local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// TestGRPC: each kind of method is one call at a server of gRPC's own library, and the checks see its answer.
func TestGRPC(t *testing.T) {
	s := rpctest.Start(t)
	for _, c := range []struct {
		method, body, expect string
		checks               []string
		status, class        string
	}{
		{"EmptyCall", "", "", []string{"size < 1B"}, "OK", ""},
		{"UnaryCall", `{"responseSize": 5, "payload": {"body": "aGVsbG8="}}`, "", []string{`json payload.body = AAAAAAA=`, "json username = hello", `json oauthScope = ""`, "size > 5B"}, "OK", ""},
		{"UnaryCall", `{"response_size": 5}`, "", []string{`json payload.body = AAAAAAA=`}, "OK", ""}, // the name in the .proto file
		{"UnaryCall", `{"responseSize": 200000}`, "", []string{"size > 199kB", "json payload.type = COMPRESSABLE"}, "OK", "check json payload.type = COMPRESSABLE"},
		{"UnaryCall", `{"responseSize": 5000000}`, "", []string{"size > 4MB"}, "OK", ""},
		{"UnaryCall", `{"responseStatus": {"code": 5, "message": "x"}}`, "", nil, "NOT_FOUND", targets.ClassStatus},
		{"UnaryCall", `{"responseStatus": {"code": 5, "message": "x"}}`, "OK,NOT_FOUND", nil, "NOT_FOUND", ""},
		{"UnaryCall", `{"responseStatus": {"code": 14}}`, "", []string{"status UNAVAILABLE,OK"}, "UNAVAILABLE", ""},
		{"UnaryCall", `{"responseStatus": {"code": 99}}`, "", nil, "UNKNOWN", targets.ClassStatus},
		{"StreamingOutputCall", `{"responseParameters": [{"size": 3}, {"size": 70000}, {"size": 1}]}`, "", []string{"size > 70kB", "json payload.body = AA=="}, "OK", ""},
		{"StreamingOutputCall", `{}`, "", []string{"size < 1B"}, "OK", ""},
		{"StreamingInputCall", `{"payload": {"body": "aGVsbG8="}}`, "", []string{"json aggregatedPayloadSize = 5"}, "OK", ""},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "", []string{`json payload.body = AAAA`}, "OK", ""},
		{"UnimplementedCall", "", "", nil, "UNIMPLEMENTED", targets.ClassStatus},
	} {
		target := calling(t, s.URL(c.method), c.body, func(s *targets.Spec) {
			s.Checks, s.Expect = c.checks, c.expect
			if strings.HasPrefix(c.method, "StreamingInput") || strings.HasPrefix(c.method, "FullDuplex") {
				s.Reply = "end"
			}
		}, targets.Local{})
		for range 3 {
			before := s.Calls()
			out := target.Do(t.Context(), targets.Call{})
			if status.Name(out.Status) != c.status || out.Class != c.class || out.BytesIn == 0 || out.BytesOut == 0 {
				t.Errorf("%s %s: %+v (%s)", c.method, c.body, out, status.Name(out.Status))
			}
			if n := s.Calls() - before; n != 1 {
				t.Errorf("%s %s: %d calls arrived", c.method, c.body, n)
			}
		}
	}
}

// TestGRPCSize: the size is that of the messages without their prefixes, whichever of them are the reply. A message of 3 zeros
// has 7 bytes, and one of 70,000 has 70,008.
func TestGRPCSize(t *testing.T) {
	s := rpctest.Start(t)
	for _, c := range []struct {
		method, message, reply string
		alone                  bool
		size                   int
	}{
		{"EmptyCall", "{}", "", false, 0},
		{"StreamingOutputCall", `{"responseParameters": [{"size": 3}]}`, "", false, 7},
		{"StreamingOutputCall", `{"responseParameters": [{"size": 3}, {"size": 70000}, {"size": 3}]}`, "", false, 70_022},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "any", false, 7},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "messages 1", false, 7},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "matches /AAAA/", false, 7},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "end", false, 7},
		{"FullDuplexCall", `{"responseParameters": [{"size": 3}]}`, "", true, 7},
	} {
		target := calling(t, s.URL(c.method), c.message, func(s *targets.Spec) {
			s.Reply, s.NoKeepAlive, s.Checks = c.reply, c.alone, []string{fmt.Sprintf("size > %dB", c.size-1), fmt.Sprintf("size < %dB", c.size+1)}
			if c.size == 0 {
				s.Checks = s.Checks[1:]
			}
		}, targets.Local{})
		for range 2 { // the second message may be on the same stream
			if out := target.Do(t.Context(), targets.Call{}); out.Class != "" {
				t.Errorf("%+v: %+v", c, out)
			}
		}
	}
}

// TestGRPCMetadata: headers, placeholders, authorization and the deadline arrive, and checks and takes see trailers.
func TestGRPCMetadata(t *testing.T) {
	s := rpctest.Start(t)
	url := strings.Replace(s.URL("UnaryCall"), "grpc://", "grpc://ann:pw@", 1)
	target := calling(t, url, `{"payload": {"body": "${base}"}}`, func(s *targets.Spec) {
		s.Headers = []targets.Header{{Name: "X-Echo-Name", Value: "n ${ordinal}"}, {Name: "x-echo-bin", Value: "AAEC/w=="}, {Name: "X-Echo-Two", Value: "a"}, {Name: "x-echo-two", Value: "b"}, {Name: "Host", Value: "h:1"}, {Name: "User-Agent", Value: "me"}}
		s.Checks = []string{
			"header x-got-x-echo-name = n 7", "header x-got-x-echo-bin = AAEC/w", "header X-Got-X-Echo-Two = a,b", "header x-got-authority = h:1", "header x-got-user-agent = me",
			"header x-got-authorization = " + targets.Basic("ann:pw"), "header x-left = 30s", "header content-type = application/grpc", "json username = abc",
		}
		s.URL, s.Body, s.Flows = "", nil, []targets.Flow{{Name: "f", Steps: []targets.Step{
			{Name: "a", URL: strings.Replace(url, "ann:pw@", "", 1), Body: []byte(`{"payload": {"body": "YWJj"}}`), Takes: []targets.Take{{Name: "user", From: "json username"}, {Name: "kind", From: "header content-type"}}},
			{Name: "b", URL: url, Headers: append(s.Headers, targets.Header{Name: "X-Echo-Kind", Value: "${kind}"}), Checks: s.Checks, Body: []byte(`{"payload": {"body": "YWJj"}, "expectCompressed": {"value": true}, "fillUsername": true, "responseStatus": {"message": "${user}"}}`)},
		}}}
		s.Headers, s.Checks = nil, nil
	}, targets.Local{})
	session := new(targets.Session)
	for step := range 2 {
		if out := target.Do(t.Context(), targets.Call{Number: 7, Step: step, Session: session}); out.Class != "" {
			t.Errorf("step %d: %+v", step, out)
		}
	}
}

// TestGRPCFailures: what goes wrong is a class, or a status that the server has sent.
func TestGRPCFailures(t *testing.T) {
	s := rpctest.Start(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	web := func(status int) string {
		h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>")
		}))
		h.Config.Protocols = new(http.Protocols)
		h.Config.Protocols.SetUnencryptedHTTP2(true)
		h.Start()
		t.Cleanup(h.Close)
		return h.Listener.Addr().String()
	}
	closing := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) })
	silent := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for _, c := range []struct {
		name, url, body string
		more            func(*targets.Spec)
		status          string // "" = none
		class           string
	}{
		{"nobody listens", "grpc://127.0.0.1:1" + rpctest.Path + "EmptyCall", "", nil, "", targets.ClassConnect},
		{"it closes", "grpc://" + closing + rpctest.Path + "EmptyCall", "", nil, "", targets.ClassEOF},
		{"it says nothing", "grpc://" + silent + rpctest.Path + "EmptyCall", "", func(s *targets.Spec) { s.Timeout = 50 * time.Millisecond }, "", targets.ClassTimeout},
		{"it is too slow", s.URL("UnaryCall"), "", func(s *targets.Spec) {
			s.Timeout, s.Headers = 50*time.Millisecond, []targets.Header{{Name: "x-wait", Value: "10s"}}
		}, "", targets.ClassTimeout},
		{"HTTP/1.1", "grpc://" + plain.Listener.Addr().String() + rpctest.Path + "EmptyCall", "", nil, "", targets.ClassProtocol},
		{"not gRPC", "grpc://" + web(200) + rpctest.Path + "EmptyCall", "", nil, "", targets.ClassProtocol},
		{"404", "grpc://" + web(404) + rpctest.Path + "EmptyCall", "", nil, "UNIMPLEMENTED", targets.ClassStatus},
		{"503", "grpc://" + web(503) + rpctest.Path + "EmptyCall", "", nil, "UNAVAILABLE", targets.ClassStatus},
		{"TLS on a plain port", "grpcs://" + s.Addr + rpctest.Path + "EmptyCall", "", nil, "", targets.ClassTLS},
		{"it limits itself", s.URL("UnaryCall"), fmt.Sprintf(`{"payload": {"body": "%s"}}`, strings.Repeat("A", 6<<20)), nil, "RESOURCE_EXHAUSTED", targets.ClassStatus},
		{"our limit", s.URL("UnaryCall"), `{"responseSize": 2000}`, func(s *targets.Spec) { s.BodyLimit = 1000 }, "", targets.ClassBodyLimit},
		{"it hurries", s.URL("UnaryCall"), `{"responseStatus": {"code": 4}}`, nil, "DEADLINE_EXCEEDED", targets.ClassStatus},
		{"no message fits", s.URL("UnaryCall"), `{"responseSize": "${uuid}"}`, nil, "", targets.ClassRequest},
	} {
		target := calling(t, c.url, c.body, c.more, targets.Local{})
		for range 2 {
			out := target.Do(t.Context(), targets.Call{})
			if got := strings.TrimPrefix(status.Name(out.Status), "0"); got != c.status || out.Class != c.class {
				t.Errorf("%s: %+v (%s), want %s %s", c.name, out, got, c.status, c.class)
			}
		}
	}
}

// TestGRPCAges: a server that closes connections when they are old loses no call and gets none twice, over TLS and a unix
// socket as well.
func TestGRPCAges(t *testing.T) {
	trust := certtest.New(t)
	certificate, err := tls.LoadX509KeyPair(trust.Issue("localhost"))
	if err != nil {
		t.Fatal(err)
	}
	aging := rpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 20 * time.Millisecond, MaxConnectionAgeGrace: 5 * time.Second})
	for _, network := range []string{"tcp", "tls", "unix"} {
		t.Run(network, func(t *testing.T) {
			options := []rpc.ServerOption{aging}
			scheme := "grpc"
			l, err := net.Listen("tcp", "127.0.0.1:0")
			more := func(*targets.Spec) {}
			switch network {
			case "tls":
				scheme = "grpcs"
				options = append(options, rpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
				more = func(s *targets.Spec) { s.CA, s.ConnectTo = trust.PEM, []string{"localhost:1:" + l.Addr().String()} }
			case "unix":
				l.Close()
				path := filepath.Join(t.TempDir(), "s")
				l, err = net.Listen("unix", path)
				more = func(s *targets.Spec) { s.UnixSocket = path }
			}
			if err != nil {
				t.Fatal(err)
			}
			s := rpctest.Serve(t, l, false, options...)
			if network != "tcp" {
				s.Addr = "localhost:1"
			}
			target := calling(t, scheme+"://"+s.Addr+rpctest.Path+"UnaryCall", `{"payload": {"body": "YWJj"}}`, more, targets.Local{MaxConnections: 4})
			const each, clients = 400, 6
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						if out := target.Do(t.Context(), targets.Call{}); out.Class != "" {
							t.Errorf("%+v", out)
						}
					}
				})
			}
			all.Wait()
			if n := s.Calls(); n != each*clients {
				t.Errorf("%d calls arrived, want %d", n, each*clients)
			}
		})
	}
}

// TestGRPCHalted: a call that is halted while its connection opens is not sent.
func TestGRPCHalted(t *testing.T) {
	s := rpctest.Start(t)
	target := calling(t, s.URL("EmptyCall"), "", nil, targets.Local{Halted: func() bool { return true }})
	if out := target.Do(t.Context(), targets.Call{}); out.Class != targets.ClassCanceled || s.Calls() != 0 {
		t.Errorf("%+v, %d calls", out, s.Calls())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := calling(t, s.URL("UnaryCall"), "", func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "x-wait", Value: "10s"}} }, targets.Local{})
	if out := slow.Do(ctx, targets.Call{}); out.Class != targets.ClassTimeout {
		t.Errorf("%+v", out)
	}
}

// TestTalkHalted: nothing is sent after the worker has halted, on a stream that is open either.
func TestTalkHalted(t *testing.T) {
	s, halted := rpctest.Start(t), false
	target := calling(t, s.URL("FullDuplexCall"), `{"responseParameters": [{"size": 3}]}`, nil, targets.Local{Halted: func() bool { return halted }})
	for range 2 {
		if out := target.Do(t.Context(), targets.Call{}); (out.Class == targets.ClassCanceled) != halted || s.Messages() != 1 {
			t.Errorf("%+v, %d messages", out, s.Messages())
		}
		halted = true
	}
}
