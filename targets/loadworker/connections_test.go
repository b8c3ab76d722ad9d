package loadworker

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// dialled is a server that records who connects, and how many connections came before the first request.
type dialled struct {
	*httptest.Server
	mu       sync.Mutex
	from     map[string]int // connections by address
	ahead    int            // connections before the first request
	requests int
}

// dial starts a server, plain or with TLS.
func dial(t *testing.T, start func(*httptest.Server)) *dialled {
	t.Helper()
	d := &dialled{from: map[string]int{}}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.requests++
	}))
	d.Config.ConnState = func(c net.Conn, s http.ConnState) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if s == http.StateNew {
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			d.from[host]++
			if d.requests == 0 {
				d.ahead++
			}
		}
	}
	start(d.Server)
	t.Cleanup(d.Close)
	return d
}

// TestConnections: connections are opened before the first request, from the addresses in turn, and are no requests;
// with the event loop and with TLS.
func TestConnections(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "tls": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			d := dial(t, start)
			args := append([]string{"run", "--run", name, "--url", d.URL, "-k", "--qps", "100", "-n", "20", "--max-connections", "40", "--no-check"}, patient()...)
			cores := runtime.GOMAXPROCS(0) // each worker of this process before may have raised it
			stdout, stderr, code := execute(append(args, "--preconnect", "40", "--laddr", "127.0.0.2", "--laddr", "::1", "--laddr", "127.0.0.3")...)
			if code != cli.CodeGood || !strings.Contains(stderr, `msg="connections are open" open=40`) || !strings.Contains(stdout, "200: 20") {
				t.Fatalf("exit code %d, %s%s", code, stderr, stdout)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.requests != 20 || d.ahead != 40 || d.from["127.0.0.2"]+d.from["127.0.0.3"] != 40 {
				t.Errorf("%d requests, %d connections before them, from %v", d.requests, d.ahead, d.from)
			}
			if n := d.from["127.0.0.2"]; 2*max(n-20, 20-n) > max(2, cores) { // each core takes turns on its own
				t.Errorf("%d of 40 connections from one of two addresses", n)
			}
		})
	}
}

// TestPreconnectInVain: the worker starts even if the server refuses these connections. All requests fail, which is an
// error.
func TestPreconnectInVain(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	args := []string{"run", "--run", "x", "--url", "http://127.0.0.1:9/", "--qps", "100", "-n", "5", "--no-check", "--preconnect", "10"}
	stdout, stderr, code := execute(append(args, patient()...)...)
	if code != cli.CodeOther || !strings.Contains(stderr, "open=0 preconnect=10") || !strings.Contains(stdout, "errors      connect      5") {
		t.Errorf("exit code %d, %s%s", code, stderr, stdout)
	}
}
