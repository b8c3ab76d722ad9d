package e2e

import (
	"fmt"
	"io"
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

// guarded is a server that keeps how often each Authorization header came, by path.
type guarded struct {
	*httptest.Server
	tally
}

// A tally counts requests by a text of each. Lock mu to write.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{tally: tally{seen: map[string]int{}}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.seen[r.URL.Path+" "+strings.Join(r.Header["Authorization"], "+")]++
	}))
	t.Cleanup(g.Close)
	return g
}

// count returns how many requests have a text that begins with this, and how many different texts.
func (c *tally) count(prefix string) (requests, different int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line, n := range c.seen {
		if strings.HasPrefix(line, prefix) {
			requests, different = requests+n, different+1
		}
	}
	return requests, different
}

// issuer is a token server, whose tokens live for 1 s. It refuses all who do not have the secret.
func issuer(t *testing.T, secret string) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	issued := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if user, password, _ := r.BasicAuth(); user != "loadtest" || password != secret {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error": "invalid_client"}`)
			return
		}
		issued++
		fmt.Fprintf(w, `{"access_token": "t0ken-%d", "token_type": "bearer", "expires_in": 1}`, issued)
	}))
	t.Cleanup(s.Close)
	return s
}

// hides checks that no output of the commands and no log shows a word.
func (b *bed) hides(run string, ps []*process, words ...string) {
	b.t.Helper()
	texts := map[string]string{}
	for i, p := range ps {
		texts[fmt.Sprint("worker ", i)] = p.Stdout.String() + p.Stderr.String()
	}
	lines := [][]string{{"status", run}, {"workers", run}, {"events", run}, {"ls"}}
	for _, format := range []string{"text", "json", "html", "markdown", "openmetrics", "junit", "csv"} {
		lines = append(lines, []string{"report", run, "-o", format})
	}
	for _, format := range []string{"text", "json", "har", "curl"} {
		lines = append(lines, []string{"samples", run, "-o", format})
	}
	archive := filepath.Join(b.t.TempDir(), "x.loadctl")
	b.try("report", run, "--out", archive)
	lines = append(lines, []string{"samples", archive, "-o", "json"}, []string{"report", archive, "-o", "json"})
	for _, line := range lines {
		stdout, stderr, _ := b.try(line...)
		texts[strings.Join(line, " ")] = stdout + stderr
	}
	without(b.t, texts, words...)
}

// without checks that no text has one of the words.
func without(t *testing.T, texts map[string]string, words ...string) {
	t.Helper()
	for what, text := range texts {
		for _, word := range words {
			if strings.Contains(text, word) {
				t.Errorf("%s shows %s", what, word)
			}
		}
	}
}

// TestAuth: a fleet of two gets tokens of its own, and renews them. One worker knows only the name of the run. A worker
// without the secret does not join. The secret and the tokens are nowhere but on the way.
func TestAuth(t *testing.T) {
	nightly(t)
	besides(t)
	const name, secret = "AUTH_OF_E2E", "hunter2secret"
	b := &bed{t: t, redis: redistest.Start(t)}
	web, tokens := startGuarded(t), issuer(t, secret)
	setting := "oauth2:token_url=" + tokens.URL + "/token,client_id=loadtest,client_secret=@env:" + name
	knows := []string{name + "=" + secret}
	ps := []*process{b.workerWith(knows, "x", "--url", web.URL+"/", "--auth", setting, "--qps", "50", "--timeout", "1h", "--min-workers", "2")}
	await.True(t, "the run", func() bool { _, _, code := b.try("status", "x"); return code == 0 })
	ps = append(ps, b.workerWith(knows, "x", "--allow-hosts", "127.0.0.1"))
	await.True(t, "two tokens and four renewals", func() bool { _, n := web.count("/ Bearer t0ken-"); return n >= 6 })

	for want, args := range map[string][]string{
		"@env:" + name + ": the variable is not set on this machine, or is empty; set it for each worker; nothing was sent": {"--allow-hosts", "127.0.0.1"},
		"which --allow-hosts does not allow; nothing was sent":                                                              {"--allow-hosts", strings.TrimPrefix(web.URL, "http://")},
	} {
		p := b.worker("x", append(args, "--id", "late")...)
		p.wait(104)
		if text := p.Stderr.String(); !strings.Contains(text, want) || strings.Count(text, "error:") != 1 {
			t.Errorf("%s, want %s", text, want)
		}
	}
	refused := b.workerWith([]string{name + "=wrong-" + secret}, "x", "--allow-hosts", "127.0.0.1", "--id", "late")
	refused.wait(104)
	if text := refused.Stderr.String(); !strings.Contains(text, "status 401, invalid_client") {
		t.Errorf("%s", text)
	}
	if all := b.loadctl("workers", "x"); strings.Contains(all, "late") {
		t.Errorf("it joined:\n%s", all)
	}
	b.loadctl("stop", "x")
	for _, p := range ps {
		p.wait(0)
	}
	right, _ := web.count("/ Bearer t0ken-")
	if all, _ := web.count(""); all != right || int64(all) != b.report("x").Audit.Completed {
		t.Errorf("%d requests, %d with a token, %d completed", all, right, b.report("x").Audit.Completed)
	}
	if shown := b.loadctl("report", "x"); !strings.Contains(shown, setting) {
		t.Errorf("the report does not say where tokens come from:\n%s", shown)
	}
	b.hides("x", append(ps, refused), secret, "t0ken-")
	without(t, redistest.Contents(t, b.redis.Client()), secret, "t0ken-")
}

// TestAuthOfSteps: a password in a file that is rotated, for all requests of a mix but one that has a header of its own;
// each request may follow a redirect.
func TestAuthOfSteps(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	web := startGuarded(t)
	password := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(password+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(password+".new", password); err != nil {
			t.Fatal(err)
		}
	}
	write("ann:hunter2one\n")
	file := filepath.Join(t.TempDir(), "targets.txt")
	text := fmt.Sprintf("GET %s/a\n\nGET %s/own\nAuthorization: Bearer own\n", web.URL, web.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--targets", file, "--auth", "basic:@" + password, "--redirects", "1", "--qps", "50", "--min-workers", "2"}
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	await.True(t, "the first password", func() bool { n, _ := web.count("/a Basic YW5uOmh1bnRlcjJvbmU="); return n > 0 })
	write("ann:hunter2two\n")
	await.True(t, "the second one", func() bool { n, _ := web.count("/a Basic YW5uOmh1bnRlcjJ0d28="); return n > 0 })
	b.loadctl("stop", "x")
	for _, p := range ps {
		p.wait(0)
	}
	if _, n := web.count("/own "); n != 1 {
		t.Errorf("the header of the file does not win: %v", web.seen)
	}
	if _, n := web.count(""); n != 3 {
		t.Errorf("%v", web.seen)
	}
	b.hides("x", ps, "hunter2", "YW5uOmh1bnRlcjJ")
	without(t, redistest.Contents(t, b.redis.Client()), "hunter2", "YW5uOmh1bnRlcjJ")
}

// TestAuthInline: a password on the command line is stored with the run, and shown nowhere.
func TestAuthInline(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	web := startGuarded(t)
	p := b.worker("x", append(unhurried(), "--url", web.URL+"/", "--auth", "basic:ann:hunter2", "--qps", "200", "-n", "20")...)
	p.wait(0)
	if n, _ := web.count("/ Basic YW5uOmh1bnRlcjI="); n != 20 {
		t.Errorf("%v", web.seen)
	}
	if shown := b.loadctl("report", "x"); !strings.Contains(shown, "--auth 'basic:[redacted]'") {
		t.Errorf("%s", shown)
	}
	b.hides("x", []*process{p}, "hunter2", "YW5uOmh1bnRlcjI")
}
