package targets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/echotest"
)

// redirector answers /3 with a redirect to /2, and so on to /0, which is 200.
type redirector struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // "METHOD /path body [secret]" of each request
}

func newRedirector(t *testing.T, status int) *redirector {
	r := new(redirector)
	r.Server = serve(t, func(w http.ResponseWriter, req *http.Request) {
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

func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int // of the redirects
		spec   Spec
		want   int
		class  string
		seen   string
	}{
		{"off", 302, Spec{URL: "/1"}, 302, "", "GET /1"},
		{"followed", 302, Spec{URL: "/2", Redirects: 2}, 200, "", "GET /2, GET /1, GET /0"},
		{"too many", 302, Spec{URL: "/2", Redirects: 1}, 302, ClassRedirect, "GET /2, GET /1"},
		{"post becomes get", 302, Spec{URL: "/1", Redirects: 1, Body: []byte("b")}, 200, "", "POST /1 b, GET /0"},
		{"put stays", 302, Spec{URL: "/1", Redirects: 1, Method: "PUT", Body: []byte("b")}, 200, "", "PUT /1 b, PUT /0 b"},
		{"see other", 303, Spec{URL: "/1", Redirects: 1, Method: "PUT", Body: []byte("b")}, 200, "", "PUT /1 b, GET /0"},
		{"see other of head", 303, Spec{URL: "/1", Redirects: 1, Method: "HEAD"}, 200, "", "HEAD /1, HEAD /0"},
		{"post stays", 307, Spec{URL: "/1", Redirects: 1, Body: []byte("b")}, 200, "", "POST /1 b, POST /0 b"},
		{
			"secrets stay on the host", 302,
			Spec{URL: "/1", Redirects: 1, Headers: []Header{{"Authorization", "x"}}}, 200, "", "GET /1 secret, GET /0 secret",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRedirector(t, c.status)
			c.spec.URL = r.URL + c.spec.URL
			do(t, open(t, c.spec, Local{}), c.want, c.class)
			if got := strings.Join(r.seen, ", "); got != c.seen {
				t.Errorf("the server saw %q, want %q", got, c.seen)
			}
		})
	}
}

// A redirect leads to another host only if that is allowed, and without secrets.
func TestRedirectToAnotherHost(t *testing.T) {
	end := newRedirector(t, 302)
	// The same server under another name.
	elsewhere := strings.Replace(end.URL, "127.0.0.1", "127.0.0.2", 1)
	begin := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere+"/0")
		w.WriteHeader(http.StatusFound)
	})
	otherAddr := strings.TrimPrefix(elsewhere, "http://")
	realAddr := strings.TrimPrefix(end.URL, "http://")
	allow := func(hosts ...string) func(string) bool {
		return func(host string) bool { return strings.Contains(strings.Join(hosts, " "), host) }
	}
	for _, c := range []struct {
		name   string
		allow  func(string) bool
		status int
		class  string
	}{
		{"no rule", nil, 302, ClassRedirect},
		{"not allowed", allow(), 302, ClassRedirect},
		{"name allowed, address not", allow(otherAddr), 302, ClassRedirect},
		{"both allowed", allow(otherAddr, realAddr), 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			end.seen = nil
			spec := Spec{
				URL: begin.URL, Redirects: 1, Headers: []Header{{"Authorization", "x"}, {"Host", "a"}},
				ConnectTo: []string{"127.0.0.2::127.0.0.1:"},
			}
			// One connection: the idle one to the first host must be closed first.
			do(t, open(t, spec, Local{AllowHost: c.allow, MaxConnections: 1}), c.status, c.class)
			if c.class == "" && (len(end.seen) != 1 || end.seen[0] != "GET /0") {
				t.Errorf("the other host saw %q", end.seen)
			}
			if c.class != "" && len(end.seen) != 0 {
				t.Errorf("a host that is not allowed saw %q", end.seen)
			}
		})
	}
}

func TestBadRedirects(t *testing.T) {
	for _, location := range []string{"http://%zz/", "ftp://127.0.0.1/", "mailto:a", "http:///"} {
		addr := echotest.Listen(t, "127.0.0.1:0", answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "+location+"\r\n\r\n"))
		do(t, open(t, Spec{URL: "http://" + addr, Redirects: 5}, Local{}), 302, ClassRedirect)
	}
	// Without a location the redirect itself is the answer.
	addr := echotest.Listen(t, "127.0.0.1:0", answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"))
	do(t, open(t, Spec{URL: "http://" + addr, Redirects: 5}, Local{}), 302, "")
}
