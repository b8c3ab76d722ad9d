package loadworker

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// specOf returns the spec that flags describe.
func specOf(t *testing.T, args ...string) spec.Spec {
	t.Helper()
	f := runflags.Spec{MinWorkers: 1}
	c := &cobra.Command{}
	f.AddFlags(c)
	if !slices.Contains(args, "--url") {
		args = append([]string{"--url", "http://127.0.0.1/"}, args...)
	}
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	s, err := f.Spec(strings.NewReader("from stdin"))
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return s
}

// TestTheSameSpec: command lines with the same meaning are one run.
func TestTheSameSpec(t *testing.T) {
	headers := file(t, "A: b\r\n\nC: d\n")
	for _, c := range []struct {
		a, b []string
		same bool
	}{
		{[]string{"--qps", "1k"}, []string{"--qps", "1000"}, true},
		{[]string{"--qps", "1k"}, []string{"--rate", "1000"}, true},
		{[]string{"--qps", "30/1m"}, []string{"--qps", "0.5"}, true},
		{[]string{"--qps", "1k/s"}, []string{"--qps", "1000"}, true},
		{[]string{"--qps", "30/m"}, []string{"--qps", "0.5"}, true},
		{[]string{"--stage", "1m:60k/m"}, []string{"--stage", "60s:1000"}, true},
		{[]string{"--profile", "sine:mean=1k/s,amplitude=60/m,period=1m"}, []string{"--profile", "sine:mean=1000,amplitude=1,period=60s"}, true},
		{[]string{"--qps", "1k"}, []string{"--qps", "1001"}, false},
		{[]string{"--qps", "1", "--duration", "60s"}, []string{"--qps", "1", "--duration", "1m"}, true},
		{[]string{"--qps", "1", "--duration", "1d"}, []string{"--qps", "1", "--duration", "24h"}, true},
		{[]string{"--qps", "1", "--duration", "0"}, []string{"--qps", "1"}, true},
		{[]string{"--qps", "1", "--duration", "61s"}, []string{"--qps", "1", "--duration", "1m"}, false},
		{[]string{"--stage", "1m:1k"}, []string{"--stage", "60s:1000"}, true},
		{[]string{"--stage", "1m:1k"}, []string{"--stage", "60s:1000", "--stage", "1s:0"}, false},
		{[]string{"--profile", "sine:mean=1k,amplitude=1,period=1m"}, []string{"--profile", "sine:mean=1000,amplitude=1,period=60s"}, true},
		{[]string{"--qps", "1", "--max-lag", "1000ms"}, []string{"--qps", "1"}, true},
		{[]string{"--qps", "1", "--timeout", "30s"}, []string{"--qps", "1"}, true},
		{[]string{"--qps", "1", "-d", "@-"}, []string{"--qps", "1", "-d", "from stdin"}, true},
		{[]string{"--qps", "1", "-H", "@" + headers}, []string{"--qps", "1", "-H", "a:b", "-H", "C: d"}, true},
		{[]string{"--qps", "1", "-H", "A: b"}, []string{"--qps", "1", "-H", "A: c"}, false},
	} {
		if diff := specOf(t, c.a...).Diff(specOf(t, c.b...)); (len(diff) == 0) != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, diff)
		}
	}
}

func TestAllowedHosts(t *testing.T) {
	target := func(url string, more ...string) targets.Spec {
		s := targets.Spec{URL: url}
		for _, m := range more {
			if path, ok := strings.CutPrefix(m, "unix:"); ok {
				s.UnixSocket = path
			} else {
				s.ConnectTo = append(s.ConnectTo, m)
			}
		}
		return s
	}
	for _, c := range []struct {
		spec  targets.Spec
		allow []string
		ok    bool
	}{
		{target("http://example.com/"), []string{"example.com"}, true},
		{target("http://example.com/"), []string{"EXAMPLE.com"}, true},
		{target("http://EXAMPLE.com/"), []string{"example.com"}, true},
		{target("http://example.com/"), []string{"example.com:80"}, true},
		{target("https://example.com/"), []string{"example.com:443"}, true},
		{target("https://example.com/"), []string{"example.com:80"}, false},
		{target("http://example.com:8080/"), []string{"example.com"}, true},
		{target("http://example.com:8080/"), []string{"example.com:8080"}, true},
		{target("http://example.com:8081/"), []string{"example.com:8080"}, false},
		{target("http://example.com/"), []string{"other.com", "example.com"}, true},
		{target("http://example.com/"), []string{"other.com"}, false},
		{target("http://example.com/"), []string{"com"}, false},
		{target("http://example.com/"), []string{"www.example.com"}, false},
		{target("http://www.example.com/"), []string{"example.com"}, false},
		{target("http://example.com@other.com/"), []string{"example.com"}, false},
		{target("http://user:pw@example.com/"), []string{"example.com"}, true},
		{target("http://[::1]:8080/"), []string{"::1"}, true},
		{target("http://[::1]:8080/"), []string{"[::1]"}, true},
		{target("http://[::1]:8080/"), []string{"[::1]:8080"}, true},
		{target("http://[::1]:8081/"), []string{"[::1]:8080"}, false},
		{target("http://[::1]/"), []string{"[::1]:80"}, true},
		{target("http://[::2]/"), []string{"::1"}, false},
		// The address that connections go to counts, and the host in the URL too.
		{target("http://example.com/", "example.com:80:victim.com:80"), []string{"example.com"}, false},
		{target("http://example.com/", "example.com:80:victim.com:80"), []string{"victim.com"}, false},
		{target("http://example.com/", "example.com:80:victim.com:80"), []string{"example.com", "victim.com"}, true},
		{target("http://example.com/", "::victim.com:"), []string{"example.com"}, false},
		{target("http://example.com/", "other.com:80:victim.com:80"), []string{"example.com"}, true},
		{target("http://example.com/", "unix:/run/app"), []string{"example.com"}, false},
		{target("http://example.com/", "unix:/run/app"), []string{"unix:/run/app"}, false},
		{target("http://example.com/", "unix:/run/app"), []string{"example.com", "unix:/run/app"}, true},
		{target("http://example.com/", "unix:/run/APP"), []string{"example.com", "unix:/run/app"}, false},
		{target("noop://"), []string{"example.com"}, true},
		{target("noop://"), nil, true},
		{target("http://example.com/"), nil, false},
	} {
		f := allowFlags{hosts: c.allow}
		if err := f.check(c.spec); (err == nil) != c.ok {
			t.Errorf("%s %v %v with --allow-hosts %q: %v", c.spec.URL, c.spec.ConnectTo, c.spec.UnixSocket, c.allow, err)
		}
		if err := (&allowFlags{any: true}).check(c.spec); err != nil {
			t.Errorf("%s with --allow-any: %v", c.spec.URL, err)
		}
	}
	// A worker that joins by name must be told which hosts it may send to, whatever the target is.
	for ok, f := range map[bool][]allowFlags{false: {{}}, true: {{any: true}, {hosts: []string{"example.com"}}}} {
		for _, f := range f {
			if err := f.checkJoining(); (err == nil) != ok {
				t.Errorf("joining with %q, %v: %v", f.hosts, f.any, err)
			}
		}
	}
}

// fleet is a private Redis and two web servers; the first redirects to the second.
type fleet struct {
	*testing.T
	redis         *redistest.Server
	first, second *httptest.Server
	hits          atomic.Int64 // of the second
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{T: t, redis: redistest.Start(t)}
	t.Setenv("LOADCTL_REDIS", f.redis.URL())
	f.second = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f.hits.Add(1) }))
	elsewhere := strings.Replace(f.second.URL, "127.0.0.1", "localhost", 1) // a different host by name
	f.first = httptest.NewServer(http.RedirectHandler(elsewhere, http.StatusFound))
	t.Cleanup(f.first.Close)
	t.Cleanup(f.second.Close)
	return f
}

// works runs a worker until the run's end and returns its report.
func (f *fleet) works(args ...string) report.Report {
	f.Helper()
	stdout, stderr, code := execute(append([]string{"run", "-o", "json"}, args...)...)
	var r report.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		f.Fatalf("%v: exit code %d, %v: %q, %s", args, code, err, stdout, stderr)
	}
	want := 0
	if r.Success == 0 && len(r.Errors) > 0 {
		want = cli.CodeOther
	}
	if code != want || strings.Contains(stderr, "no answer was as expected") != (want > 0) {
		f.Fatalf("%v: exit code %d, want %d, %s", args, code, want, stderr)
	}
	return r
}

// TestRedirects: a worker that joined follows a redirect only to allowed hosts. A worker that described the run follows
// it only to its own host and those of --allow-hosts.
func TestRedirects(t *testing.T) {
	f := newFleet(t)
	second := "localhost:" + strings.TrimPrefix(f.second.URL, "http://127.0.0.1:")
	described := append(patient(), "--url", f.first.URL, "--redirects", "3", "--qps", "200", "-n", "5")
	for name, c := range map[string]struct {
		args []string
		hits int64
	}{
		"described":         {described, 0},
		"described-allowed": {append([]string{"--allow-any"}, described...), 0}, // that flag concerns joining
		"described-host":    {append([]string{"--allow-hosts", "127.0.0.1"}, described...), 0},
		"described-hosts":   {append([]string{"--allow-hosts", "127.0.0.1,localhost"}, described...), 5},
		"joined":            {[]string{"--allow-hosts", "127.0.0.1"}, 0},
		"joined-port":       {[]string{"--allow-hosts", "127.0.0.1,localhost:1"}, 0},
		"joined-both":       {[]string{"--allow-hosts", "127.0.0.1," + second}, 5},
		"joined-hosts":      {[]string{"--allow-hosts", "127.0.0.1,localhost"}, 5},
		"joined-any":        {[]string{"--allow-any"}, 5},
	} {
		if !strings.HasPrefix(name, "described") {
			spec := specOf(t, described...)
			if _, _, err := run.Create(t.Context(), f.redis.Client(), name, spec, run.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		before := f.hits.Load()
		r := f.works(append(c.args, "--run", name)...)
		if hits := f.hits.Load() - before; r.Audit.Sent != 5 || hits != c.hits {
			t.Errorf("%s: %d sent, %d redirects were followed, want %d", name, r.Audit.Sent, hits, c.hits)
		}
	}
}

// TestJoining: a worker sends to a target that others described only if that is allowed.
func TestJoining(t *testing.T) {
	f := newFleet(t)
	spec := specOf(t, "--url", f.second.URL, "--qps", "200", "-n", "5", "-H", "Authorization: "+secret, "--min-workers", "2")
	r, _, err := run.Create(t.Context(), f.redis.Client(), "x", spec, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, []string{"run", "--run", "x"}, "--allow-hosts HOST,… or --allow-any")
	refused(t, []string{"run", "--run", "x", "--allow-hosts", "example.com"}, "the run sends to 127.0.0.1:", "nothing was sent")
	refused(t, []string{"run", "--run", "x", "--allow-any", "--cert", "missing"}, "certificate and the key")
	described := []string{"run", "--run", "x", "--url", f.second.URL, "-n", "5", "-H", "Authorization: " + secret + "x", "--min-workers", "2"}
	refused(t, append(described, "--qps", "300"), "run x exists with another spec", "qps: 200 there, 300 here", "header Authorization differs", "--new",
		"; or join that run by its name alone: loadworker run --run x --allow-hosts HOST\n")
	s, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Workers) != 0 || s.Phase != "waiting" || f.hits.Load() != 0 {
		t.Errorf("%d requests, %+v", f.hits.Load(), s)
	}
}

// TestWaitingForARunEnds: --start-timeout bounds --wait too, if it is given.
func TestWaitingForARunEnds(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	_, stderr, code := execute("run", "--run", "x", "--wait", "--allow-any", "--start-timeout", "300ms")
	const says = "\nerror: run x: it did not begin: nobody created it within 300ms; create it with loadctl run or loadctl create, or set a longer --start-timeout\n"
	if code != cli.CodeConfig || !strings.HasSuffix(stderr, says) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// patient makes a worker send late instead of dropping, so that counts are exact on a busy machine too.
func patient() []string { return []string{"--catch-up", "20s", "--max-lag", "20s"} }

// TestTheSameNameAgain: a worker that describes a run that has ended gets an error with advice, and never shows that
// run's report as its own. A worker that joins it by name prints the report and succeeds, as after a restart of its
// machine. Neither sends anything.
func TestTheSameNameAgain(t *testing.T) {
	f := newFleet(t)
	args := append(patient(), "--run", "x", "--url", f.second.URL, "--qps", "1k", "--duration", "50ms")
	if r := f.works(args...); r.Audit.Sent != 50 || !r.Complete {
		t.Errorf("%+v", r)
	}
	started := time.Now()
	stdout, stderr, code := execute(append([]string{"run"}, args...)...)
	if code != cli.CodeConfig || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: run x ended at "+started.UTC().Format("2006-")) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	for _, way := range []string{"another name with --run", "--new", "join by name"} {
		if !strings.Contains(stderr, way) {
			t.Errorf("%q does not name %q", stderr, way)
		}
	}
	stdout, stderr, code = execute("run", "--run", "x", "--allow-any")
	if code != 0 || !strings.Contains(stdout, "audit       asked 50 = sent 50\n") || !strings.Contains(stderr, "ended at "+started.UTC().Format("2006-")) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if n := f.hits.Load(); n != 50 {
		t.Errorf("%d requests arrived, want those of the first run, 50", n)
	}
	if r := f.works(append(args, "--new")...); r.Audit.Sent != 50 || r.StartedAt.Before(started) {
		t.Errorf("%+v", r)
	}
}

func TestDefaultID(t *testing.T) {
	a, b := defaultID(), defaultID()
	if a == b || run.ValidateName("--id", a) != nil {
		t.Errorf("%s and %s", a, b)
	}
}
