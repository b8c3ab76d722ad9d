//go:build linux

package loop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
)

// redirector answers /3 with a redirect to /2, and so on to /0, which is 200.
type redirector struct {
	*twoServer
	mu   sync.Mutex
	seen []string // "METHOD /path body [secret]" of each request
}

// newRedirector serves HTTP/1.1 and HTTP/2.
func newRedirector(t *testing.T, secure bool, status int) *redirector {
	t.Helper()
	r := new(redirector)
	r.twoServer = serveVersions(t, secure, true, nil, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", req.Method, req.URL.Path, body))
		if req.Header.Get("Authorization") != "" {
			line += " secret"
		}
		r.mu.Lock()
		r.seen = append(r.seen, line)
		r.mu.Unlock()
		var n int
		if _, err := fmt.Sscanf(req.URL.Path, "/%d", &n); err == nil && n > 0 {
			w.Header().Set("Location", fmt.Sprintf("/%d", n-1))
			w.WriteHeader(status)
		}
	})
	return r
}

// requests returns what has arrived since the last call.
func (r *redirector) requests() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := strings.Join(r.seen, ", ")
	r.seen = nil
	return seen
}

// TestRedirects: redirects are followed as the spec says, over the connection that there is.
func TestRedirects(t *testing.T) {
	type spec = targets.Spec
	for _, c := range []struct {
		name   string
		status int // of the redirects
		spec   spec
		want   int
		class  string
		seen   string
	}{
		{"off", 302, spec{URL: "/1"}, 302, "", "GET /1"},
		{"followed", 302, spec{URL: "/2", Redirects: 2}, 200, "", "GET /2, GET /1, GET /0"},
		{"too many", 302, spec{URL: "/2", Redirects: 1}, 302, targets.ClassRedirect, "GET /2, GET /1"},
		{"post becomes get", 302, spec{URL: "/1", Redirects: 1, Body: []byte("b")}, 200, "", "POST /1 b, GET /0"},
		{"put stays", 302, spec{URL: "/1", Redirects: 1, Method: "PUT", Body: []byte("b")}, 200, "", "PUT /1 b, PUT /0 b"},
		{"see other", 303, spec{URL: "/1", Redirects: 1, Method: "PUT", Body: []byte("b")}, 200, "", "PUT /1 b, GET /0"},
		{"see other of head", 303, spec{URL: "/1", Redirects: 1, Method: "HEAD"}, 200, "", "HEAD /1, HEAD /0"},
		{"post stays", 307, spec{URL: "/1", Redirects: 1, Body: []byte("b")}, 200, "", "POST /1 b, POST /0 b"},
		{"placeholders stay", 307, spec{URL: "/1", Redirects: 1, Body: []byte("a ${ordinal}")}, 200, "", "POST /1 a 0, POST /0 a 0"},
		{
			"secrets stay on the host", 302,
			spec{URL: "/1", Redirects: 1, Headers: []targets.Header{{Name: "Authorization", Value: "x"}}}, 200, "", "GET /1 secret, GET /0 secret",
		},
	} {
		for _, version := range []string{targets.HTTP1, targets.HTTP2} {
			for _, secure := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s,tls=%v", c.name, version, secure), func(t *testing.T) {
					s := newRedirector(t, secure, c.status)
					spec := c.spec
					spec.URL, spec.HTTP, spec.Insecure = s.URL+c.spec.URL, version, true
					r := newRig(t, spec, targets.Local{}, 1)
					for range 2 {
						r.sent = 0
						expect(t, r.do(), c.want, c.class)
						if got := s.requests(); got != c.seen {
							t.Errorf("the server saw %q, want %q", got, c.seen)
						}
					}
					if n := s.opened(); n != 1 {
						t.Errorf("%d connections", n)
					}
				})
			}
		}
	}
}

// TestRedirectToAnotherHost: a redirect leads to another host only if that is allowed, and without secrets. With two
// connections both are kept; with one it changes its host each time.
func TestRedirectToAnotherHost(t *testing.T) {
	end := newRedirector(t, false, 302)
	elsewhere := strings.Replace(end.URL, "127.0.0.1", "127.0.0.2", 1) // the same server under another name
	begin := serveVersions(t, false, true, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere+"/0")
		w.WriteHeader(http.StatusFound)
	})
	other, real := strings.TrimPrefix(elsewhere, "http://"), strings.TrimPrefix(end.URL, "http://")
	allow := func(hosts ...string) func(string) bool {
		return func(host string) bool { return strings.Contains(strings.Join(hosts, " "), host) }
	}
	for _, version := range []string{targets.HTTP1, targets.HTTP2} {
		for _, c := range []struct {
			name        string
			allow       func(string) bool
			connections int
			opened      int
			status      int
			class       string
		}{
			{"no rule", nil, 2, 1, 302, targets.ClassRedirect},
			{"not allowed", allow(), 2, 1, 302, targets.ClassRedirect},
			{"name allowed, address not", allow(other), 2, 1, 302, targets.ClassRedirect},
			{"both allowed", allow(other, real), 2, 2, 200, ""},
			{"one connection", allow(other, real), 1, 6, 200, ""},
		} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				before := begin.opened() + end.opened()
				r := newRig(t, targets.Spec{
					URL: begin.URL, HTTP: version, Redirects: 1, ConnectTo: []string{"127.0.0.2::127.0.0.1:"},
					Headers: []targets.Header{{Name: "Authorization", Value: "x"}, {Name: "Host", Value: "a"}},
				}, targets.Local{AllowHost: c.allow}, c.connections)
				for range 3 {
					expect(t, r.do(), c.status, c.class)
					if got := end.requests(); got != "" && (got != "GET /0" || c.class != "") {
						t.Errorf("the other host saw %q", got)
					}
				}
				if n := begin.opened() + end.opened() - before; n != c.opened {
					t.Errorf("%d connections, want %d", n, c.opened)
				}
			})
		}
	}
}

// TestRedirectsAreExact: of many requests at once, with a redirect to another host each, every one arrives once at each.
func TestRedirectsAreExact(t *testing.T) {
	for _, version := range []string{targets.HTTP1, targets.HTTP2} {
		t.Run(version, func(t *testing.T) {
			var mu sync.Mutex
			came := [2]map[string]int{{}, {}}
			count := func(i int, r *http.Request) int {
				mu.Lock()
				defer mu.Unlock()
				came[i][r.URL.Path]++
				return len(came[i])
			}
			end := serveVersions(t, false, true, nil, func(_ http.ResponseWriter, r *http.Request) { count(1, r) })
			begin := serveVersions(t, false, true, nil, func(w http.ResponseWriter, r *http.Request) {
				if count(0, r)%50 == 0 && version == targets.HTTP1 {
					w.Header().Set("Connection", "close")
				}
				http.Redirect(w, r, end.URL+r.URL.Path, http.StatusFound)
			})
			r := newRig(t, targets.Spec{URL: begin.URL + "/${ordinal}", HTTP: version, Redirects: 1, Timeout: time.Hour}, targets.Local{}, 8)
			const n = 2000
			for r.sent < n {
				if !r.send() {
					r.poll(time.Millisecond)
				}
			}
			r.pollFor(n)
			for _, x := range r.got {
				expect(t, x.Outcome, 200, "")
			}
			mu.Lock() // the sockets of the loop order nothing for the race detector
			defer mu.Unlock()
			for i := range came {
				for path, times := range came[i] {
					if times != 1 {
						t.Errorf("%s came %d times to server %d", path, times, i)
					}
				}
				if len(came[i]) != n {
					t.Errorf("%d requests came to server %d, want %d", len(came[i]), i, n)
				}
			}
		})
	}
}

// TestRedirectToAName: the address of a host is looked up while other requests go on.
func TestRedirectToAName(t *testing.T) {
	end := newRedirector(t, false, 302)
	_, port, _ := net.SplitHostPort(end.Listener.Addr().String())
	names := startNames(t, "127.0.0.1")
	begin := serveVersions(t, false, true, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "http://elsewhere.test:"+port+"/0", http.StatusFound)
		}
	})
	spec := targets.Spec{Flows: []targets.Flow{
		{Name: "a", Weight: 1, Steps: []targets.Step{{Name: "a", URL: begin.URL + "/first"}}},
		{Name: "b", Weight: 1, Steps: []targets.Step{{Name: "b", URL: begin.URL + "/second"}}},
	}, Redirects: 1, Timeout: time.Hour}
	r := newRig(t, spec, targets.Local{AllowHost: func(string) bool { return true }}, 4)
	r.mix = spec.Mix()
	for range 10 {
		expect(t, r.do(), 200, "")
	}
	if got := end.requests(); strings.Count(got, "GET /0") != 5 {
		t.Errorf("the other host saw %q", got)
	}
	if n := names.lookups("elsewhere.test"); n != 1 {
		t.Errorf("%d lookups", n)
	}
}

// TestRedirectToNowhere: a redirect to a host without address, or to one that does not answer, ends as such a request does.
// The bytes of the answers before count.
func TestRedirectToNowhere(t *testing.T) {
	mute := serve(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	for location, want := range map[string]string{
		mute:                     targets.ClassTimeout,
		"http://nobody.invalid/": targets.ClassDNS,
		"http://127.0.0.1:9/":    targets.ClassConnect,
		"ftp://127.0.0.1/":       targets.ClassRedirect,
		"http://%zz/":            targets.ClassRedirect,
	} {
		redirect := "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + "\r\n\r\n"
		r := newRig(t, targets.Spec{URL: serve(t, answer(redirect)), Redirects: 5, Timeout: time.Hour}, targets.Local{AllowHost: func(string) bool { return true }}, 1)
		r.mustSend()
		if want == targets.ClassTimeout {
			cn := r.c.conns[0]
			r.pollUntil("the second request", func() bool { return cn.hops == 1 && cn.state == reading })
			r.timeOut()
		}
		r.pollFor(1)
		status := 0
		if want == targets.ClassRedirect {
			status = 302
		}
		got := r.got[0].Outcome
		if expect(t, got, status, want); got.BytesIn != int64(len(redirect)) {
			t.Errorf("%s: %d bytes in, want those of the first answer, %d", location, got.BytesIn, len(redirect))
		}
	}
}

// TestRedirectHalted: what a redirect asks for is not sent after Halted.
func TestRedirectHalted(t *testing.T) {
	var halted atomic.Bool
	var came atomic.Int64
	url := serve(t, func(c *net.TCPConn) {
		for br := bufio.NewReader(c); request(br); {
			came.Add(1)
			halted.Store(true)
			io.WriteString(c, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /next\r\n\r\n")
		}
	})
	r := newRig(t, targets.Spec{URL: url, Redirects: 5}, targets.Local{Halted: halted.Load}, 1)
	expect(t, r.do(), 0, targets.ClassCanceled)
	if came.Load() != 1 {
		t.Errorf("%d requests", came.Load())
	}
}

// TestRedirectsInTurn: however many requests are led to a server at once, no more connections to it are opened at the same
// time than to any other. The others wait for their turn.
func TestRedirectsInTurn(t *testing.T) {
	const connections = 2 * openingAtOnce
	end := deaf(t)
	all := make(chan struct{})
	url := serve(t, func(c *net.TCPConn) {
		if request(bufio.NewReader(c)) {
			<-all
			fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nLocation: http://%s/\r\n\r\n", end)
		}
	})
	r := newRig(t, targets.Spec{URL: url, Redirects: 1, Timeout: time.Hour}, targets.Local{}, connections)
	if n := r.c.Preconnect(t.Context(), connections, 0); n != connections {
		t.Fatalf("%d connections", n)
	}
	for range connections {
		r.mustSend()
	}
	close(all)
	r.c.closedInARow = -connections // as if the server kept connections in general
	r.pollUntil("all redirects", func() bool { return r.c.opening+len(r.c.awaiting) == connections })
	if r.c.opening != openingAtOnce {
		t.Errorf("%d connections are being opened, want %d", r.c.opening, openingAtOnce)
	}
	first := r.c.inFlight.first
	first.deadline = 0
	r.pollFor(1)
	expect(t, r.got[0].Outcome, 0, targets.ClassTimeout)
	r.pollUntil("the turn of the next one", func() bool { return r.c.opening == openingAtOnce })
	if n := len(r.c.awaiting); n != connections-1-openingAtOnce {
		t.Errorf("%d wait", n)
	}
	r.timeOut()
	r.pollFor(connections)
	if r.c.opening != 0 || len(r.c.awaiting) != 0 {
		t.Errorf("%d connections are being opened, %d wait", r.c.opening, len(r.c.awaiting))
	}
}

// TestRedirectsToManyServers: what is kept of the servers that redirects led to is bounded. Up to the bound all are kept.
func TestRedirectsToManyServers(t *testing.T) {
	for _, version := range []string{targets.HTTP1, targets.HTTP2} {
		var others []*redirector
		for range mostRedirected + 5 {
			others = append(others, newRedirector(t, false, 302))
		}
		var next, some atomic.Int64
		begin := serveVersions(t, false, true, nil, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, others[(next.Add(1)-1)%some.Load()].URL+"/0", http.StatusFound)
		})
		r := newRig(t, targets.Spec{URL: begin.URL, HTTP: version, Redirects: 1}, targets.Local{}, 2*mostRedirected)
		some.Store(mostRedirected)
		for range 2 * mostRedirected {
			expect(t, r.do(), 200, "")
		}
		for _, s := range others[:mostRedirected] {
			if n := s.opened(); n != 1 {
				t.Fatalf("%d connections to one of %d servers", n, mostRedirected)
			}
		}
		some.Store(int64(len(others)))
		for range 2 * len(others) {
			expect(t, r.do(), 200, "")
		}
		if n := len(r.c.hosts); n != 1+mostRedirected {
			t.Errorf("%d servers are known, want %d", n, 1+mostRedirected)
		}
		open := 0
		for _, cn := range r.c.conns {
			if cn.Socket.IsOpen() {
				open++
			}
		}
		if open != 1+mostRedirected {
			t.Errorf("%d connections are open, want %d", open, 1+mostRedirected)
		}
		await.True(t, "the end of the others", func() bool {
			left := 0
			for _, s := range others {
				s.twoServer.mu.Lock()
				left += len(s.conns)
				s.twoServer.mu.Unlock()
			}
			return left == mostRedirected
		})
	}
}
