package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// A cloakroom gives each login a number, as a cookie, and notes what every request brings.
type cloakroom struct {
	*httptest.Server
	mu     sync.Mutex
	logins int
	seen   []string // "/path Cookie|Cookie" of each request
}

func newCloakroom(t *testing.T) *cloakroom {
	t.Helper()
	c := new(cloakroom)
	c.Server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, strings.TrimSpace(r.URL.Path+" "+strings.Join(r.Header["Cookie"], "|")))
		switch r.URL.Path {
		case "/login":
			c.logins++
			w.Header().Add("Set-Cookie", fmt.Sprintf("sid=%d; Path=/; HttpOnly", c.logins))
			w.Header().Add("Set-Cookie", "cart=empty; Path=/cart")
		case "/logout":
			w.Header().Add("Set-Cookie", "sid=; Path=/; Max-Age=0")
		case "/domain":
			w.Header().Add("Set-Cookie", "d=1; Domain=shop.test; Path=/")
		case "/moved", "/away":
			w.Header().Add("Set-Cookie", "m=1; Path=/")
			to := "/home"
			if r.URL.Path == "/away" {
				to = strings.Replace(c.URL, "127.0.0.1", "127.0.0.2", 1) + "/home"
			}
			http.Redirect(w, r, to, http.StatusFound)
		}
	})
	return c
}

// walk sends all steps of a flow, one after the other.
func walk(t *testing.T, target targets.Target, session *targets.Session, steps int) {
	t.Helper()
	for step := range steps {
		if out := target.Do(t.Context(), targets.Call{Step: step, Session: session}); out.Class != "" {
			t.Fatalf("step %d: %+v", step, out)
		}
	}
}

func TestCookiesOfAFlow(t *testing.T) {
	for _, c := range []struct {
		name    string
		paths   []string
		headers []targets.Header // of the last step
		spec    targets.Spec
		want    string
	}{
		{"kept", []string{"/login", "/cart", "/"}, nil, targets.Spec{Cookies: true}, "/login, /cart cart=empty; sid=1, / sid=1"},
		{"off", []string{"/login", "/"}, nil, targets.Spec{}, "/login, /"},
		{"deleted", []string{"/login", "/logout", "/"}, nil, targets.Spec{Cookies: true}, "/login, /logout sid=1, /"},
		{"replaced", []string{"/login", "/login", "/"}, nil, targets.Spec{Cookies: true}, "/login, /login sid=1, / sid=2"},
		{"paths with placeholders", []string{"/login", "/${ordinal}", "/cart/${ordinal}"}, nil, targets.Spec{Cookies: true}, "/login, /0 sid=1, /cart/0 cart=empty; sid=1"},
		{"own cookies stay", []string{"/login", "/"}, []targets.Header{{Name: "cookie", Value: "a=1"}, {Name: "Cookie", Value: "b=${ordinal}"}}, targets.Spec{Cookies: true}, "/login, / a=1; b=0; sid=1"},
		{"own cookies win", []string{"/login", "/"}, []targets.Header{{Name: "Cookie", Value: "sid=own"}}, targets.Spec{Cookies: true}, "/login, / sid=own"},
		{"own cookies without others", []string{"/", "/"}, []targets.Header{{Name: "Cookie", Value: "a=1"}}, targets.Spec{Cookies: true}, "/, / a=1"},
		{"header Host", []string{"/domain", "/"}, []targets.Header{{Name: "Host", Value: "www.shop.test:80"}}, targets.Spec{Cookies: true}, "/domain, / d=1"},
		{"after redirects", []string{"/moved", "/"}, nil, targets.Spec{Cookies: true, Redirects: 1}, "/moved, /home m=1, / m=1"},
		{"redirects off", []string{"/moved", "/"}, nil, targets.Spec{Cookies: true}, "/moved, / m=1"},
		{"one step", []string{"/moved"}, nil, targets.Spec{Cookies: true, Redirects: 1}, "/moved, /home m=1"},
		{"to another host", []string{"/away", "/"}, nil, targets.Spec{Cookies: true, Redirects: 1, ConnectTo: []string{"127.0.0.2::127.0.0.1:"}}, "/away, /home, / m=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newCloakroom(t)
			spec := visits(server.URL, c.paths...)
			spec.Cookies, spec.Redirects, spec.ConnectTo = c.spec.Cookies, c.spec.Redirects, c.spec.ConnectTo
			steps := spec.Flows[0].Steps
			steps[len(steps)-1].Headers = c.headers
			if c.name == "header Host" {
				steps[0].Headers = []targets.Header{{Name: "Host", Value: "shop.test"}}
			}
			target := open(t, spec, targets.Local{AllowHost: func(string) bool { return true }})
			var session *targets.Session
			if len(steps) > 1 {
				session = new(targets.Session)
			}
			walk(t, target, session, len(steps))
			if got := strings.Join(server.seen, ", "); got != c.want {
				t.Errorf("the server saw %q, want %q", got, c.want)
			}
		})
	}
}

// TestCookiesOfFlows: no flow sees the cookies of another one, also not of one that used its session before.
func TestCookiesOfFlows(t *testing.T) {
	const flows = 20
	server := newCloakroom(t)
	target := open(t, visits(server.URL, "/login", "/"), targets.Local{})
	var sessions [flows]targets.Session
	for round := range 2 {
		for step := range 2 {
			for i := range sessions {
				if out := target.Do(t.Context(), targets.Call{Step: step, Session: &sessions[i]}); out.Class != "" {
					t.Fatalf("%+v", out)
				}
			}
		}
		for i, line := range server.seen[round*2*flows:] {
			want := "/login"
			if i >= flows {
				want = fmt.Sprintf("/ sid=%d", round*flows+i-flows+1)
			}
			if line != want {
				t.Errorf("round %d: %q, want %q", round, line, want)
			}
		}
		for i := range sessions {
			sessions[i].Reset()
		}
	}
}

// TestCookiesOverTLS: the blocking target sends Secure cookies with TLS, and not to another port without it.
func TestCookiesOverTLS(t *testing.T) {
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Cookie"))
		w.Header().Add("Set-Cookie", "s=1; Secure; Domain=shop.test")
		w.Header().Add("Set-Cookie", "p=1; Domain=shop.test")
	}))
	defer server.Close()
	plain := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Get("Cookie")) })
	spec := visits("https://shop.test", "/", "/", "/")
	spec.Flows[0].Steps[1].URL = "http://www.shop.test/"
	spec.Insecure = true
	spec.ConnectTo = []string{"shop.test:443:" + server.Listener.Addr().String(), "www.shop.test:80:" + plain.Listener.Addr().String()}
	walk(t, open(t, spec, targets.Local{}), new(targets.Session), 3)
	if got := strings.Join(seen, ", "); got != ", p=1, s=1; p=1" {
		t.Errorf("%q", got)
	}
}

// TestHostileCookies: an answer with a head full of cookies leaves a jar within its bounds, and the flow goes on.
func TestHostileCookies(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.Header.Get("Cookie")); n > 16<<10+2*50 {
			t.Errorf("%d bytes of cookies", n)
		}
		for i := range 1000 {
			w.Header().Add("Set-Cookie", fmt.Sprintf("c%d=%s", i, strings.Repeat("x", i%20)))
		}
		w.Header().Add("Set-Cookie", "long="+strings.Repeat("x", 20_000))
		_, _ = io.WriteString(w, "ok")
	})
	walk(t, open(t, visits(server.URL, "/", "/", "/"), targets.Local{}), new(targets.Session), 3)
}

// visits returns a spec with one flow of these paths.
func visits(url string, paths ...string) targets.Spec {
	f := targets.Flow{Name: "f"}
	for i, path := range paths {
		f.Steps = append(f.Steps, targets.Step{Name: fmt.Sprint(i), URL: url + path})
	}
	return targets.Spec{Flows: []targets.Flow{f}, Cookies: true}
}

// TestSignedCookies: a signed request has the cookies of its flow, and its signature is right: it does not cover them.
func TestSignedCookies(t *testing.T) {
	setting, credential, v := sigV4(t, "execute-api", "")
	check := &verified{v: v}
	var seen []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Cookie"))
		w.Header().Set("Set-Cookie", "sid=1")
		check.ServeHTTP(w, r)
	})
	spec := visits(server.URL, "/a", "/b?${ordinal}")
	spec.Auth, spec.Flows[0].Steps[1].Body = setting, []byte("${ordinal}")
	local := targets.Local{Credential: credential}
	session := new(targets.Session)
	walk(t, open(t, spec, local), session, 2)
	if got := strings.Join(seen, ", "); got != ", sid=1" || len(check.errs) > 0 {
		t.Errorf("%q, %v", got, check.errs)
	}
	w, err := wire.New(spec, local)
	if err != nil {
		t.Fatal(err)
	}
	text := w.Step(1).Fill(nil, targets.Call{Step: 1, Session: session})
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err == nil {
		err = v.Check(r)
	}
	if err != nil || r.Header.Get("Cookie") != "sid=1" {
		t.Errorf("%v of\n%s", err, text)
	}
}
