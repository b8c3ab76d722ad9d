package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/sigtest"
)

// verified is a server that computes each signature itself. It answers 403 to requests that have another one.
type verified struct {
	*httptest.Server
	tally    // of those that are right, by method, path and query
	verifier sigtest.Verifier
	wrong    []error
}

func startVerified(t *testing.T, v sigtest.Verifier) *verified {
	t.Helper()
	s := &verified{verifier: v, tally: tally{seen: map[string]int{}}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.verifier.Check(r); err != nil {
			s.wrong = append(s.wrong, fmt.Errorf("%s %s: %w", r.Method, r.RequestURI, err))
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.seen[r.Method+" "+r.RequestURI]++
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSigV4: a fleet of two signs 500 requests that all differ. The server accepts each. One worker knows only the name of
// the run. A worker without the keys does not join, and the keys are nowhere but on the workers.
func TestSigV4(t *testing.T) {
	nightly(t)
	besides(t)
	const name, secret, token = "KEY_OF_E2E", "hunter2/secret+key", "t0ken/of+e2e="
	b := &bed{t: t, redis: redistest.Start(t)}
	web := startVerified(t, sigtest.Verifier{Region: "eu-central-1", Service: "s3", AccessKey: "AKIDEXAMPLE", SecretKey: secret, SessionToken: token})
	setting := "sigv4:region=eu-central-1,service=s3,access_key=AKIDEXAMPLE,secret_key=@env:" + name + ",session_token=@env:" + name + "_TOKEN"
	knows := []string{name + "=" + secret, name + "_TOKEN=" + token}
	ps := []*process{b.workerWith(knows, "x", append(patient(),
		"--url", web.URL+"/items/a%20b+c%2F${ordinal}?tag=b&tag=a&n=${random 1 1000}&at=${now}", "-m", "PUT", "-d", `{"id": "${uuid}"}`,
		"--auth", setting, "--qps", "500", "-n", "500", "--min-workers", "2")...)}
	await.True(t, "the run", func() bool { return b.read("x").Phase != "" })
	late := b.worker("x", "--allow-hosts", "127.0.0.1", "--id", "late")
	late.wait(104)
	if text := late.Stderr.String(); !strings.Contains(text, "secret_key: @env:"+name+": the variable is not set on this machine, or is empty; set it for each worker; nothing was sent") {
		t.Errorf("%s", text)
	}
	ps = append(ps, b.workerWith(knows, "x", "--allow-hosts", "127.0.0.1"))
	for _, p := range ps {
		p.wait(0)
	}
	if all, different := web.count("PUT /items/a%20b+c%2F"); all != 500 || different != 500 {
		t.Errorf("%d requests were right, %d different ones; wrong: %v", all, different, web.wrong)
	}
	for _, w := range b.report("x").Workers {
		if w.Sent == 0 {
			t.Errorf("worker %s sent nothing", w.ID)
		}
	}
	if shown := b.loadctl("report", "x"); !strings.Contains(shown, setting) {
		t.Errorf("the report does not say where keys come from:\n%s", shown)
	}
	b.hides("x", append(ps, late), "hunter2", "t0ken")
	without(t, redistest.Contents(t, b.redis.Client()), "hunter2", "t0ken")
}

// TestSigV4OfSteps: keys in files that are rotated, for all steps of a workload but one that has a header of its own;
// each request may follow a redirect.
func TestSigV4OfSteps(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	v := sigtest.Verifier{Region: "r", Service: "execute-api", AccessKey: "AKID1", SecretKey: "hunter2one"}
	web, own := startVerified(t, v), startGuarded(t)
	id, key := filepath.Join(t.TempDir(), "id"), filepath.Join(t.TempDir(), "key")
	write := func(path, text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(id, "AKID1")
	write(key, "hunter2one\n")
	file := filepath.Join(t.TempDir(), "shop.yaml")
	text := fmt.Sprintf(`flows:
  shop:
    - item: {get: "%[1]s/items/${ordinal}?q=a b/c"}
    - order: {post: "%[1]s/orders", header: {Content-Type: application/json}, body: '{"id": "${uuid}"}'}
    - own: {get: "%[2]s/own", header: {Authorization: own}}
`, web.URL, own.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--workload", file, "--auth", "sigv4:region=r,service=execute-api,access_key=@" + id + ",secret_key=@" + key,
		"--redirects", "1", "--qps", "200", "--min-workers", "2"}
	ps := []*process{b.worker("x", args...), b.worker("x", args...)}
	seen := func(prefix string) func() bool { return func() bool { n, _ := web.count(prefix); return n > 20 } }
	await.True(t, "orders", seen("POST /orders"))
	web.mu.Lock()
	for _, err := range web.wrong {
		t.Error(err)
	}
	web.mu.Unlock()
	write(id, "AKID2")
	write(key, "hunter2two")
	web.mu.Lock()
	web.verifier.AccessKey, web.verifier.SecretKey, web.seen = "AKID2", "hunter2two", map[string]int{}
	web.mu.Unlock()
	await.True(t, "orders with the new keys", seen("POST /orders"))
	await.True(t, "items with the new keys", seen("GET /items/"))
	await.True(t, "the header of the file, which wins", func() bool { n, _ := own.count("/own own"); return n > 0 })
	b.loadctl("stop", "x")
	for _, p := range ps {
		p.wait(0)
	}
	b.hides("x", ps, "hunter2")
	without(t, redistest.Contents(t, b.redis.Client()), "hunter2")
}
