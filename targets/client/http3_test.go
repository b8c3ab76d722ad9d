package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/wire"
)

// certificates returns those of httptest, for 127.0.0.1 and example.com, and their authority.
var certificates = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s
})

// threeTLS is the configuration of a server of HTTP/3.
func threeTLS() *tls.Config {
	return http3.ConfigureTLSConfig(&tls.Config{Certificates: certificates().TLS.Certificates})
}

// udpSocket opens a socket at a port of 127.0.0.1; 0 = a free one.
func udpSocket(tb testing.TB, port int) *net.UDPConn {
	tb.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { socket.Close() })
	return socket
}

// A three is a server of HTTP/3.
type three struct {
	*http3.Server
	url                   string
	requests, connections atomic.Int64
}

// startThree starts one.
func startThree(tb testing.TB, handle http.HandlerFunc, change func(*http3.Server)) *three {
	tb.Helper()
	socket := udpSocket(tb, 0)
	s := &three{url: "https://" + socket.LocalAddr().String()}
	s.Server = &http3.Server{
		TLSConfig: threeTLS(),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests.Add(1)
			handle(w, r)
		}),
		ConnContext: func(ctx context.Context, _ *quic.Conn) context.Context {
			s.connections.Add(1)
			return ctx
		},
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
	})
	return s
}

// says answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// openThree returns the target of a spec for HTTP/3. Without a CA it accepts any certificate.
func openThree(tb testing.TB, spec targets.Spec, local targets.Local) targets.Target {
	tb.Helper()
	spec.HTTP = targets.HTTP3
	spec.Insecure = spec.CA == ""
	target, err := client.New(spec, local)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	return target
}

func TestThreeRequests(t *testing.T) {
	type request struct {
		method, uri, host, body string
		header                  http.Header
	}
	came := make(chan request, 1)
	s := startThree(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- request{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		w.Header().Set("X-Seen", "yes")
		_, _ = w.Write(body)
	}, nil)
	target := openThree(t, targets.Spec{
		URL: s.url + "/a?b=${ordinal}", Body: []byte("hello ${ordinal}"), Auth: "basic:ann:secret",
		Headers: []targets.Header{{Name: "X-One", Value: " 1 "}, {Name: "Host", Value: "example.com"}, {Name: "TE", Value: "gzip"}},
		Checks:  []string{"body has hello", "header x-seen = yes", "size > 3B"},
	}, targets.Local{})
	for n := range 3 {
		out := target.Do(context.Background(), targets.Call{Number: uint64(n)})
		if out.Class != "" || out.Status != 200 || out.BytesIn == 0 || out.BytesOut == 0 {
			t.Fatalf("%+v", out)
		}
		number := string(rune('0' + n))
		r := <-came
		if r.method != "POST" || r.uri != "/a?b="+number || r.host != "example.com" || r.body != "hello "+number {
			t.Errorf("%+v", r)
		}
		for name, want := range map[string]string{"X-One": "1", "User-Agent": "loadctl", "Content-Length": "7", "Te": "", "Connection": "", "Authorization": "Basic YW5uOnNlY3JldA=="} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestThreeAnswers(t *testing.T) {
	long := make([]byte, 300<<10)
	s := startThree(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(204)
		case "/early":
			w.WriteHeader(103)
			w.WriteHeader(200)
		case "/bad":
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "busy")
		case "/long":
			_, _ = w.Write(long)
		case "/head":
			for range 100 {
				w.Header().Add("X-Long", string(bytesOf('x', 1000)))
			}
		case "/trailer":
			w.Header().Set("Trailer", "X-End")
			_, _ = io.WriteString(w, "text")
			w.Header().Set("X-End", "1")
		case "/there":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
		case "/abort":
			panic(http.ErrAbortHandler)
		}
	}, nil)
	for _, c := range []struct {
		spec   targets.Spec
		status int
		class  string
	}{
		{targets.Spec{URL: "/"}, 200, ""},
		{targets.Spec{URL: "/none"}, 204, ""},
		{targets.Spec{URL: "/early"}, 200, ""},
		{targets.Spec{URL: "/bad"}, 503, "status"},
		{targets.Spec{URL: "/bad", Expect: "503"}, 503, ""},
		{targets.Spec{URL: "/long", Checks: []string{"size > 307kB"}}, 200, ""},
		{targets.Spec{URL: "/long", Method: "HEAD"}, 200, ""},
		{targets.Spec{URL: "/long", BodyLimit: 1000}, 200, "body-limit"},
		{targets.Spec{URL: "/head"}, 0, "head-limit"},
		{targets.Spec{URL: "/trailer", Checks: []string{"body has text"}}, 200, ""},
		{targets.Spec{URL: "/there"}, 302, ""},
		{targets.Spec{URL: "/there", Redirects: 1}, 200, ""},
		{targets.Spec{URL: "/plain", Redirects: 1}, 302, "redirect"},
		{targets.Spec{URL: "/abort"}, 0, "reset H3_INTERNAL_ERROR"},
		{targets.Spec{URL: "/", Body: bytesOf('b', 1<<20)}, 200, ""},
		{targets.Spec{URL: "/", NoKeepAlive: true}, 200, ""},
	} {
		c.spec.URL = s.url + c.spec.URL
		target := openThree(t, c.spec, targets.Local{})
		do(t, target, c.status, c.class)
		do(t, target, c.status, c.class) // the connection is as good as before
	}
}

func bytesOf(b byte, n int) []byte {
	all := make([]byte, n)
	for i := range all {
		all[i] = b
	}
	return all
}

// TestThreeConnections: there are at most as many connections, and requests on each, as allowed.
func TestThreeConnections(t *testing.T) {
	var now, most atomic.Int64
	release := make(chan struct{})
	s := startThree(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		now.Add(-1)
	}, nil)
	target := openThree(t, targets.Spec{URL: s.url, Streams: 3}, targets.Local{MaxConnections: 2})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { do(t, target, 200, "") })
	}
	await.True(t, "6 requests at a time", func() bool { return now.Load() >= 6 })
	close(release)
	all.Wait()
	if s.connections.Load() != 2 || most.Load() != 6 || s.requests.Load() != 20 {
		t.Errorf("%d connections, %d requests at a time, %d in all", s.connections.Load(), most.Load(), s.requests.Load())
	}
}

// TestThreeFillsConnections: requests that come together share connections, rather than open one each.
func TestThreeFillsConnections(t *testing.T) {
	var now atomic.Int64
	all := make(chan struct{})
	s := startThree(t, func(http.ResponseWriter, *http.Request) {
		if now.Add(1) == 20 {
			close(all)
		}
		<-all
	}, nil)
	target := openThree(t, targets.Spec{URL: s.url, Streams: 8}, targets.Local{MaxConnections: 10})
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() { do(t, target, 200, "") })
	}
	done.Wait()
	if n := s.connections.Load(); n != 3 {
		t.Errorf("%d connections for 20 requests, 8 on each", n)
	}
}

// TestThreeBesideTCP: all connections of a workload are counted together, also if their steps speak different protocols.
func TestThreeBesideTCP(t *testing.T) {
	s := startThree(t, says("ok"), nil)
	lines, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	go func() {
		for {
			c, err := lines.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	target := openThree(t, targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "page", URL: s.url},
		{Name: "line", URL: "tcp://" + lines.Addr().String(), Body: []byte("hello\n"), Reply: `until \n`},
	}}}}, targets.Local{MaxConnections: 1})
	for n := range 6 {
		if out := target.Do(context.Background(), targets.Call{Step: n % 2}); out.Class != "" {
			t.Errorf("%+v", out)
		}
	}
	if n := s.connections.Load(); n != 3 {
		t.Errorf("%d connections of HTTP/3, for 3 requests that had the only place in turn", n)
	}
}

func TestThreePreconnect(t *testing.T) {
	s := startThree(t, says("ok"), nil)
	wire, err := wire.New(targets.Spec{URL: s.url, HTTP: targets.HTTP3, Insecure: true}, targets.Local{Addresses: []string{"127.0.0.2", "::1"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loop.New(pacer.NewClock(), wire, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	open := c.Preconnect(t.Context(), 9, 0)
	if open != 5 || s.connections.Load() != 5 || s.requests.Load() != 0 {
		t.Errorf("%d open, %d connections, %d requests", open, s.connections.Load(), s.requests.Load())
	}
	ended := 0
	for c.Send(c.Now(), c.Now(), targets.Call{}); ended == 0; {
		if err := c.Poll(c.Now()+1e9, func(r targets.Result) {
			if ended++; r.Outcome.Status != 200 {
				t.Errorf("%+v", r)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.connections.Load(); n != 5 {
		t.Errorf("%d connections", n)
	}
}

// TestThreeHalted: nothing is sent when the run has ended meanwhile.
func TestThreeHalted(t *testing.T) {
	s := startThree(t, says("ok"), nil)
	halted := false
	target := openThree(t, targets.Spec{URL: s.url}, targets.Local{Halted: func() bool { return halted }})
	do(t, target, 200, "")
	halted = true
	if out := do(t, target, 0, "canceled"); out.BytesOut != 0 {
		t.Errorf("%+v", out)
	}
	halted = false
	do(t, target, 200, "")
	if s.requests.Load() != 2 || s.connections.Load() != 1 {
		t.Errorf("%d requests on %d connections", s.requests.Load(), s.connections.Load())
	}
}

// TestThreeReach: a handshake shows whether there is a server, and sends no request.
func TestThreeReach(t *testing.T) {
	t.Parallel() // it waits for a timeout
	s := startThree(t, says("ok"), nil)
	reach := func(url, ca string) error {
		spec := targets.Spec{URL: url, CA: ca, Timeout: 3 * time.Second}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		spec.HTTP, spec.Insecure = targets.HTTP3, true
		return probe.Reach(ctx, spec, targets.Local{})
	}
	if err := reach(s.url, ""); err != nil || s.requests.Load() != 0 {
		t.Errorf("%v, %d requests", err, s.requests.Load())
	}
	if err := reach("https://"+udpSocket(t, 0).LocalAddr().String(), ""); err == nil {
		t.Error("a port without a server is reached")
	}
}

func TestThreeSpecs(t *testing.T) {
	for want, spec := range map[string]targets.Spec{
		"http: HTTP/3 needs https":    {URL: "http://127.0.0.1"},
		"unix socket: HTTP/3 goes":    {URL: "https://127.0.0.1", UnixSocket: "/x"},
		"streams: contradicts no-kee": {URL: "https://127.0.0.1", Streams: 2, NoKeepAlive: true},
		"streams: must be 1 to 1000":  {URL: "https://127.0.0.1", Streams: 1001},
	} {
		spec.HTTP = targets.HTTP3
		if err := wire.Validate(spec); err == nil || err.Error()[:len(want)] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func BenchmarkThree(b *testing.B) {
	s := startThree(b, says("ok"), nil)
	target := openThree(b, targets.Spec{URL: s.url, Timeout: 30 * time.Second}, targets.Local{MaxConnections: 64})
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if out := target.Do(context.Background(), targets.Call{}); out.Class != "" {
				b.Errorf("%+v", out)
				return
			}
		}
	})
}

// authority returns the authority of the certificates, PEM.
func authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificates().Certificate().Raw}))
}

// certificateFiles writes a certificate and its key.
func certificateFiles(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(certificates().TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = t.TempDir()+"/cert.pem", t.TempDir()+"/key.pem"
	for file, text := range map[string]string{cert: authority(), key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
