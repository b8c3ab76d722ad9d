package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A porter gives each login a cookie with its number and a secret, and changes the secret at each step. It notes
// requests that bring anything but the one cookie that they should.
type porter struct {
	mu      sync.Mutex
	secret  int
	session map[string]string // by number: the cookie that its next request has to bring
	count   map[string]int    // by path
	wrong   []string
}

func (p *porter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := r.URL.Query().Get("n")
	if got, want := strings.Join(r.Header["Cookie"], "|"), p.session[n]; got != want {
		p.wrong = append(p.wrong, fmt.Sprintf("%s of %s: %q, want %q", r.URL.Path, n, got, want))
	}
	p.secret++
	p.session[n] = fmt.Sprintf("sid=%s-%d", n, p.secret)
	p.count[r.URL.Path]++
	secure := ""
	if r.TLS != nil {
		secure = "; Secure"
	}
	w.Header().Add("Set-Cookie", p.session[n]+"; Path=/; HttpOnly; Max-Age=600"+secure)
	w.Header().Add("Set-Cookie", "other=1; Path=/nowhere")
	w.Header().Add("Set-Cookie", "gone=1; Path=/; Max-Age=0")
}

// TestCookies: a fleet of two, of which one worker knows only the name of the run, runs 400 flows with the event loop,
// and as many with TLS. Each request after a login brings the cookie of its own flow, as the answer before it set it.
func TestCookies(t *testing.T) {
	nightly(t)
	besides(t)
	const flows = 400
	b := &bed{t: t, redis: redistest.Start(t)}
	for name, serve := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "tls": httptest.NewTLSServer} {
		p := &porter{session: map[string]string{}, count: map[string]int{}}
		server := serve(p)
		t.Cleanup(server.Close)
		file := filepath.Join(t.TempDir(), "w.yaml")
		text := "base: " + server.URL + `
cookies: true
flows:
  visit:
    - login: {post: "/login?n=${ordinal}"}
    - cart: {get: "/cart?n=${ordinal}", at: 200ms}
    - pay: {post: "/pay?n=${ordinal}", after: 50ms, json: {n: "${ordinal}"}}
`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ps := []*process{b.worker(name, append(unhurried(), "--workload", file, "--insecure", "--qps", "900", "-n", fmt.Sprint(3*flows), "--min-workers", "2")...)}
		await.True(t, "the run", func() bool { _, _, code := b.try("status", name); return code == 0 })
		ps = append(ps, b.worker(name, "--allow-hosts", "127.0.0.1"))
		for _, process := range ps {
			process.wait(0)
		}
		p.mu.Lock()
		if len(p.wrong) > 0 {
			t.Errorf("%s: %d wrong requests: %.300q", name, len(p.wrong), p.wrong)
		}
		if p.count["/login"] != flows || p.count["/cart"] != flows || p.count["/pay"] != flows || len(p.session) != flows {
			t.Errorf("%s: %v of %d flows", name, p.count, len(p.session))
		}
		p.mu.Unlock()
		r := b.report(name)
		if r.Requests != 3*flows || r.Audit.Completed != 3*flows || len(r.Errors) > 0 {
			t.Errorf("%s: %d requests, %v, %+v", name, r.Requests, r.Errors, r.Audit)
		}
		workers := b.loadctl("workers", name)
		if lines := strings.Count(strings.TrimSpace(workers), "\n"); lines < 2 {
			t.Errorf("%s: not two workers\n%s", name, workers)
		}
	}
}
