package targets_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/targets"
)

// certificate returns that of httptest, for 127.0.0.1 and example.com.
func certificate() []tls.Certificate {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates
}

// three is a server of HTTP/3.
type three struct {
	*http3.Server
	url      string
	requests atomic.Int64
}

// startThree starts one.
func startThree(tb testing.TB, handle http.HandlerFunc, change func(*http3.Server)) *three {
	tb.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		tb.Fatal(err)
	}
	s := &three{url: "https://" + socket.LocalAddr().String()}
	s.Server = &http3.Server{
		TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: certificate()}),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests.Add(1)
			handle(w, r)
		}),
	}
	if change != nil {
		change(s.Server)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(socket)
	}()
	tb.Cleanup(func() {
		_ = s.Close()
		<-ended
		socket.Close()
	})
	return s
}

// open returns the target of a spec for HTTP/3.
func openThree(tb testing.TB, spec targets.Spec, local targets.Local) targets.Target {
	tb.Helper()
	spec.HTTP = "3"
	if spec.CA == "" {
		spec.Insecure = true
	}
	target, err := targets.New(spec, local)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	return target
}

func TestThreeAnswers(t *testing.T) {
	s := startThree(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Write(body)
	}, nil)
	target := openThree(t, targets.Spec{URL: s.url + "/a?b=c", Method: "POST", Body: []byte("hello"), Checks: []string{"body has hello", "header x-method = POST"}}, targets.Local{})
	for range 3 {
		out := target.Do(context.Background(), targets.Call{})
		if out.Class != "" || out.Status != 200 {
			t.Fatalf("%+v", out)
		}
	}
	if n := s.requests.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func BenchmarkThree(b *testing.B) {
	s := startThree(b, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }, nil)
	target := openThree(b, targets.Spec{URL: s.url, Timeout: 10 * time.Second}, targets.Local{MaxConnections: 64})
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if out := target.Do(context.Background(), targets.Call{}); out.Class != "" {
				b.Errorf("%+v", out)
				return
			}
		}
	})
}

var _ = quic.Config{}
