package e2e

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMismatch: the report distinguishes a URL with the wrong protocol for its port from a failing endpoint, and says
// what to try.
func TestMismatch(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	secure := httptest.NewTLSServer(nil) // only to get its certificate
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)
	h2c := &http.Server{Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	for name, url := range map[string]string{
		"http-to-tls":   "http://" + serving(t, func(l net.Listener) { handshakes(l, secure.TLS) }),
		"http-to-h2c":   "http://" + serving(t, func(l net.Listener) { _ = h2c.Serve(l) }),
		"https-to-http": strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		w := b.worker(name, append(steadfast(), "--url", url, "--qps", "100", "-n", "10", "--no-check")...)
		w.wait(1) // no answer was good
		r := w.printed()
		notes := strings.Join(r.Notes, "\n")
		if r.Audit.Failed != 10 || len(r.StatusCodes) != 0 || !strings.Contains(notes, "no request got an answer of HTTP (") || !strings.Contains(notes, "https://") {
			t.Errorf("%s: %+v, %v, %v: %q", name, r.Audit, r.StatusCodes, r.Errors, notes)
		}
		t.Logf("%s: %v", name, r.Errors)
	}
	w := b.worker("right", append(steadfast(), "--url", plain.URL, "--qps", "100", "-n", "10")...)
	w.wait(1) // each answer is a 404
	if r := w.printed(); len(r.Notes) != 0 {
		t.Errorf("%v", r.Notes)
	}
}

// serving returns the address of a server that accepts connections until the test ends.
func serving(t *testing.T, serve func(net.Listener)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// handshakes is a server for TLS only, like one for another protocol: anything but a handshake ends the connection.
func handshakes(l net.Listener, config *tls.Config) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_ = tls.Server(c, config).Handshake()
			_ = c.Close()
		}()
	}
}
