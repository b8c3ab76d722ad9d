package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/samples"
)

// troubled is a server that fails in five ways at one path, and holds the first requests of three others until it is told to
// answer them.
type troubled struct {
	sync.Mutex
	held     map[string][]uint64 // ordinals by path
	failed   map[string][]uint64 // the same by class
	answered int
	release  chan struct{}
}

// mostHeld is how many requests of each path it holds: as many as workers keep of the slowest.
const mostHeld = 10

func (s *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ordinal, err := strconv.ParseUint(r.URL.Query().Get("n"), 10, 64)
	if err != nil {
		http.Error(w, "no ordinal", http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Ordinal", fmt.Sprint(ordinal))
	if r.URL.Path != "/faults" {
		if s.hold(r.URL.Path, ordinal) {
			<-s.release
		}
		fmt.Fprintf(w, "ok %d", ordinal)
		return
	}
	switch class := s.fault(ordinal); class {
	case "status":
		http.Error(w, fmt.Sprintf("no stock for %d", ordinal), http.StatusInternalServerError)
	case "check":
		fmt.Fprintf(w, "sorry %d", ordinal)
	case "timeout":
		<-r.Context().Done()
	case "reset", "protocol":
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		if class == "protocol" {
			fmt.Fprintf(c, "SSH-2.0-OpenSSH_%d\r\n", ordinal)
		} else {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		c.Close()
	default:
		fmt.Fprintf(w, "ok %d", ordinal)
	}
}

// hold reports whether a request is one of the first of its path.
func (s *troubled) hold(path string, ordinal uint64) bool {
	s.Lock()
	defer s.Unlock()
	if len(s.held[path]) == mostHeld {
		s.answered++
		return false
	}
	s.held[path] = append(s.held[path], ordinal)
	return true
}

// fault returns how a request is to fail; "" = it is not.
func (s *troubled) fault(ordinal uint64) string {
	s.Lock()
	defer s.Unlock()
	for _, class := range []string{"status", "check", "timeout", "reset", "protocol"} {
		if len(s.failed[class]) < 6 {
			s.failed[class] = append(s.failed[class], ordinal)
			return class
		}
	}
	return ""
}

// done reports whether all are held and failed that are to be, and others were answered.
func (s *troubled) done() bool {
	s.Lock()
	defer s.Unlock()
	return len(s.held) == 3 && s.answered > 300 && len(s.failed["protocol"]) == 6 && !slices.ContainsFunc([]string{"/a", "/b", "/c"}, func(p string) bool { return len(s.held[p]) < mostHeld })
}

// TestSamples: five kinds of failures and three slow paths. Each class has its samples, and the slowest of each path are those
// that the server held, also if a worker is killed. All formats show them.
func TestSamples(t *testing.T) {
	besides(t)
	s := &troubled{held: map[string][]uint64{}, failed: map[string][]uint64{}, release: make(chan struct{})}
	server := httptest.NewServer(s)
	defer server.Close()
	b := &bed{t: t, redis: redistest.Start(t)}
	file := filepath.Join(t.TempDir(), "targets.txt")
	var text strings.Builder
	for _, path := range []string{"a", "b", "c", "faults"} {
		fmt.Fprintf(&text, "GET %s/%s?n=${ordinal} name=%s\n\n", server.URL, path, path)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(steadfast(), "--targets", file, "--qps", "300", "--min-workers", "3", "--timeout", "20s", "--check", `body has "ok"`)
	var ps []*process
	for _, name := range []string{"dead", "w2", "w3"} {
		ps = append(ps, b.worker("x", append(args, "--id", name)...))
	}
	await.True(t, "all that is to be held and to fail", s.done)
	b.loadctl("pause", "x")
	await.True(t, "the end of all that is not held", func() bool { return b.samplesReport("x").Audit.InFlight <= 3*mostHeld+6 })
	close(s.release)
	await.True(t, "the samples of all that was held", func() bool { return s.sampled(b.samplesReport("x").Samples) })
	ps[0].Cmd.Process.Kill()
	await.True(t, "the timeouts", func() bool { return len(of(b.samplesReport("x").Samples, "faults", "timeout", samples.First)) >= 3 })
	b.loadctl("workers", "rm", "x", "dead", "--force")
	b.loadctl("stop", "x")
	for _, p := range ps[1:] {
		await.Closed(t, "the end of a worker", p.Exited)
	}
	r, _, _ := b.judged("x")
	if !s.sampled(r.Samples) {
		t.Errorf("the slowest are not those that were held: %v", s.held)
	}
	for class, ordinals := range s.failed {
		if class == "check" {
			class = `check body has "ok"`
		}
		first := of(r.Samples, "faults", class, samples.First)
		if len(first) != 3 || slices.ContainsFunc(first, func(o uint64) bool { return !slices.Contains(ordinals, o) }) || len(of(r.Samples, "faults", class, samples.Random)) < 3 {
			t.Errorf("class %s: first %v, of %v", class, first, ordinals)
		}
	}
	for _, one := range r.Samples {
		checkSample(t, &one)
	}
	b.showAlike("x", r.Samples)
}

// showAlike checks that each format shows these samples.
func (b *bed) showAlike(name string, all []samples.Sample) {
	b.t.Helper()
	want := map[uint64]int{}
	for _, s := range all {
		want[s.Ordinal]++
	}
	page := b.loadctl("samples", name, "-o", "json")
	if out, _, _ := b.try("report", name, "-o", "html"); !strings.Contains(out, `"samples":[`) {
		b.t.Error("the HTML report has no samples")
	}
	for format, ordinal := range map[string]*regexp.Regexp{
		"text": regexp.MustCompile(`(?m)^(\d+) `), "json": regexp.MustCompile(`"ordinal": (\d+)`), "har": regexp.MustCompile(`"_ordinal": (\d+)`), "curl": regexp.MustCompile(`(?m)^curl .*\?n=(\d+)'`),
	} {
		out, got := page, map[uint64]int{}
		if format != "json" {
			out = b.loadctl("samples", name, "-o", format)
		}
		for _, found := range ordinal.FindAllStringSubmatch(out, -1) {
			n, _ := strconv.ParseUint(found[1], 10, 64)
			got[n]++
		}
		if !maps.Equal(got, want) {
			b.t.Errorf("%s shows %v, want %v", format, got, want)
		}
	}
}

// hostile answers in ways that no server should: the ordinal says in which.
func hostile(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	long := strings.Repeat("<script>alert(1)</script>\x1b[2J\x00\u202e", 1<<15)
	switch n % 5 {
	case 0:
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
	case 1:
		for i := range 20_000 {
			w.Header().Set(fmt.Sprint("X-", i), "y")
		}
	case 2:
		for { // an endless body
			if _, err := io.WriteString(w, long); err != nil {
				return
			}
		}
	}
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, long)
}

// TestSamplesOfHostileEndpoints: whatever an endpoint answers, a worker keeps no more than it may, and nothing steers a terminal.
func TestSamplesOfHostileEndpoints(t *testing.T) {
	besides(t)
	server := httptest.NewServer(http.HandlerFunc(hostile))
	defer server.Close()
	b := &bed{t: t, redis: redistest.Start(t)}
	p := b.worker("x", append(steadfast(), "--url", server.URL+"/?n=${ordinal}", "--qps", "200", "-n", "400", "--sample-body", "64KiB", "--body-limit", "2MB", "--no-check")...)
	await.Closed(t, "the end of the worker", p.Exited)
	kept, err := b.redis.Client().HGetAll(t.Context(), run.KeysOf("x").Samples).Result()
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d fields, %v", len(kept), err)
	}
	for who, text := range kept {
		if len(text) > samples.MostBytes {
			t.Errorf("%s: %d bytes", who, len(text))
		}
	}
	r := b.samplesReport("x")
	whole := 0
	for _, s := range r.Samples {
		if s.Whole() {
			whole++
		}
	}
	if whole == 0 || whole > samples.MostWhole || r.Audit.Sent != 400 {
		t.Errorf("%d whole samples of %d", whole, r.Audit.Sent)
	}
	for _, line := range [][]string{{"samples", "x"}, {"samples", "x", "-o", "json"}, {"samples", "x", "-o", "curl"}, {"report", "x"}, {"samples", "x", "--ordinal", fmt.Sprint(r.Samples[0].Ordinal)}} {
		if out := b.loadctlAny(line...); strings.ContainsAny(out, "\x1b\x00\u202e") {
			t.Errorf("%v: control characters", line)
		}
	}
}

// loadctlAny runs a command, and returns what it printed, whatever its exit code.
func (b *bed) loadctlAny(args ...string) string {
	b.t.Helper()
	out, says, _ := b.try(args...)
	return out + says
}

// sampled reports whether the slowest of each path are those that were held.
func (s *troubled) sampled(all []samples.Sample) bool {
	s.Lock()
	defer s.Unlock()
	for path, held := range s.held {
		if !slices.Equal(of(all, path[1:], "", samples.Slow), slices.Sorted(slices.Values(held))) {
			return false
		}
	}
	return true
}

// of returns the ordinals of the samples of a step and class that are kept for a reason.
func of(all []samples.Sample, step, class, why string) (found []uint64) {
	for _, s := range all {
		if s.Step == step && s.Class == class && slices.Contains(s.Why, why) {
			found = append(found, s.Ordinal)
		}
	}
	slices.Sort(found)
	return found
}

// samplesReport returns the report of a run so far.
func (b *bed) samplesReport(name string) (r report.Report) {
	b.t.Helper()
	out, stderr, _ := b.try("report", name, "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		b.t.Fatal(err, stderr)
	}
	return r
}

// checkSample checks what a sample shows against its ordinal.
func checkSample(t *testing.T, s *samples.Sample) {
	t.Helper()
	path := fmt.Sprintf("/%s?n=%d", s.Step, s.Ordinal)
	if s.Request == nil || s.Request.Start != "GET "+path+" HTTP/1.1" || !strings.HasSuffix(s.URL, path) || s.Latency != s.Lag+s.Service {
		t.Errorf("%+v, %+v", s, s.Request)
		return
	}
	body := map[string]string{"": "ok %d", "status": "no stock for %d\n", `check body has "ok"`: "sorry %d", "protocol": "SSH-2.0-OpenSSH_%d\r\n"}[s.Class]
	switch {
	case body == "":
		if s.Response != nil || s.Error == "" {
			t.Errorf("%s: %+v, %s", s.Class, s.Response, s.Error)
		}
	case s.Response == nil || s.Response.Body != fmt.Sprintf(body, s.Ordinal):
		t.Errorf("%s: %+v", s.Class, s.Response)
	}
	if cmp.Or(s.Class, "x")[:1] == "c" && (len(s.Checks) != 1 || s.Checks[0].Passed) {
		t.Errorf("%+v", s.Checks)
	}
}
