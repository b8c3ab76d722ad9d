package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// A messageServer echoes messages of WebSocket, and counts them and handshakes. It is another implementation than ours.
type messageServer struct {
	url               string
	count, handshakes atomic.Int64
}

func startMessages(t *testing.T) *messageServer {
	t.Helper()
	s := &messageServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" && r.Header.Get("Authorization") != "Bearer s3cr3t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		s.handshakes.Add(1)
		for {
			kind, message, err := c.Read(r.Context())
			if err != nil {
				return
			}
			s.count.Add(1)
			if c.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	s.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return s
}

// TestOwnRedisIsRefused: load on the Redis that holds the run would slow down what controls it. Nothing is sent, and no
// run is created. The login of a target is in no output.
func TestOwnRedisIsRefused(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	b.redis.SetUser(t, "ann", "on", ">s3cr3t", "~*", "+@all")
	_, port, _ := strings.Cut(b.redis.Addr(), ":")
	for _, host := range []string{"127.0.0.1", "localhost"} { // two names of one server
		url := "redis://ann:s3cr3t@" + host + ":" + port + "/2"
		p := b.worker("own", "--url", url, "-d", "FLUSHALL", "--qps", "10", "--duration", "1s")
		p.wait(104)
		if shown := p.Stderr.String(); !strings.Contains(shown, "the target is the Redis that holds the run; nothing was sent") || strings.Contains(shown, "s3cr3t") {
			t.Error(shown)
		}
	}
	if out := b.loadctl("ls"); strings.Contains(out, "own") {
		t.Error(out)
	}
	other := redistest.Start(t)
	other.SetUser(t, "ann", "on", ">s3cr3t", "~*", "+@all")
	p := b.worker("other", "--url", "redis://ann:s3cr3t@"+other.Addr(), "-d", "SET k s3cr3t", "--qps", "10", "--duration", "1s")
	p.wait(0)
	all := p.Stderr.String() + p.Stdout.String()
	for _, format := range []string{"text", "markdown", "html", "json"} {
		all += b.loadctl("report", "other", "-o", format)
	}
	if strings.Contains(all, "s3cr3t") || strings.Contains(all, "ann:") {
		t.Error("the login is shown")
	}
	// A worker that joins by name reads the target from Redis, and refuses as well.
	b.loadctl("create", "named", "--url", "redis://ann:s3cr3t@"+b.redis.Addr(), "-d", "PING", "--qps", "10", "--duration", "1s")
	b.worker("named", "--allow-any").wait(104)
	// The Redis inside a worker is another one, and says so.
	alone := launch(t, "", "loadworker", "run", "--url", "redis://ann:s3cr3t@"+other.Addr(), "-d", "PING", "--qps", "10", "--duration", "1s")
	alone.wait(0)
	if shown := alone.Stderr.String(); strings.Contains(shown, "level=WARN") {
		t.Error(shown)
	}
}

// TestSocketsInAWorkload: a flow may mix schemes, and thresholds judge its steps.
func TestSocketsInAWorkload(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	cases := protocols(t)
	text := fmt.Sprintf(`base: %s
rate: 300 requests/s
duration: 2s
header: {X-All: "yes"}
flows:
  mixed:
    - page: {get: /page, check: status 200}
    - line: {send: '%s', body: "id=${ordinal}\n", reply: 'until \n', take: {id: 'regex id=(\d+)'}}
    - count: {send: '%s', body: 'INCR n', check: 'size > 0B'}
thresholds: ["errors{step=line}:rate==0%%", "latency{step=count}:max<30s"]
`, b.web.URL(), cases["tcp"].args[1], cases["redis"].args[1])
	file := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.worker("flow", append(patient(), "--workload", file)...).judged()
	if page, line, count := b.web.Count(), cases["tcp"].count(), cases["redis"].count(); page != 200 || line != 200 || count != 200 {
		t.Errorf("%d, %d and %d arrived, want 200 each", page, line, count)
	}
	if r := b.audited("flow"); len(r.Errors) > 0 || len(r.Thresholds) != 2 || r.Thresholds[0].Result == "failed" || len(r.Steps) != 3 || r.Steps[1].Completed != 200 {
		t.Errorf("%+v, %+v", r.Steps, r.Thresholds)
	}
}

// judged waits for the end of a worker whose thresholds may fail on a busy machine: they are about time.
func (p *process) judged() {
	p.t.Helper()
	await.Closed(p.t, "the end of a worker", p.Exited)
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 && code != 98 && code != 99 {
		p.t.Fatalf("exit code %d, %s", code, p.Stderr.String())
	}
}

// audited is report for such a run.
func (b *bed) audited(run string) (r report.Report) {
	b.t.Helper()
	out, stderr, code := b.try("report", run, "-o", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		b.t.Fatalf("%d, %v, %s", code, err, stderr)
	}
	if err := r.CheckAudit(); err != nil {
		b.t.Errorf("audit: %v", err)
	}
	return r
}

// TestSocketsExample: examples/sockets sends lines and datagrams in exact shares.
func TestSocketsExample(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	cases := protocols(t)
	at := func(name string) string {
		_, address, _ := strings.Cut(cases[name].args[1], "://")
		return address
	}
	file, err := filepath.Abs("../../../examples/sockets/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.worker("example", append(patient(), "--workload", file, "--duration", "3s",
		"--connect-to", "127.0.0.1:8080:"+at("tcp"), "--connect-to", "127.0.0.1:8081:"+at("udp"))...).judged()
	if lines, datagrams := cases["tcp"].count(), cases["udp"].count(); lines != 300 || datagrams != 300 {
		t.Errorf("%d lines and %d datagrams arrived, want 300 each", lines, datagrams)
	}
	if r := b.audited("example"); len(r.Errors) > 0 || !r.Complete {
		t.Errorf("%v, complete %v", r.Errors, r.Complete)
	}
}

// TestUnfitFlags: flags that make no sense for a scheme are a clear error of one line.
func TestUnfitFlags(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	for want, args := range map[string][]string{
		"method: tcp has none":                    {"--url", "tcp://127.0.0.1:9", "-d", "x", "-m", "GET"},
		"header: udp has none":                    {"--url", "udp://127.0.0.1:9", "-d", "x", "-H", "A: b"},
		"redirects: only http":                    {"--url", "redis://127.0.0.1:9", "-d", "PING", "--redirects", "1"},
		"unix socket: udp has none":               {"--url", "udp://127.0.0.1:9", "-d", "x", "--unix-socket", "/s"},
		"url: a connection carries many messages": {"--url", "ws://127.0.0.1:9/${ordinal}", "-d", "x"},
		"over ws a message tells where it ends":   {"--url", "ws://127.0.0.1:9", "-d", "x", "--reply", "until x"},
		"reply: only tcp, udp, ws and streams":    {"--url", "http://127.0.0.1:9", "--reply", "any"},
		"--body-hex: write pairs":                 {"--url", "tcp://127.0.0.1:9", "--body-hex", "5"},
		"--body-hex and another body":             {"--url", "tcp://127.0.0.1:9", "--body-hex", "50", "-d", "x"},
		"reach the target: dial tcp 127.0.0.1":    {"--url", "tcp://127.0.0.1:1", "-d", "x"},
	} {
		p := b.worker("unfit", append(args, "--qps", "10", "--duration", "1s")...)
		p.wait(104)
		if shown := p.Stderr.String(); !strings.Contains(shown, want) || strings.Count(shown, "\n") != 1 {
			t.Errorf("%q: %s, want %s", args, shown, want)
		}
	}
}

// TestMessages: handshakes as slots are exact too, a flow may speak WebSocket, and no secret that is sent is shown. A worker
// that is refused says so before the run.
func TestMessages(t *testing.T) {
	nightly(t)
	besides(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	server := startMessages(t)
	b.worker("opens", append(patient(), "--url", server.url, "--no-keep-alive", "--qps", "300", "-n", "600")...).wait(0)
	if r := b.report("opens"); server.handshakes.Load() != 600 || r.Audit.Completed != 600 || r.StatusCodes["101"] != 600 || server.count.Load() != 0 {
		t.Errorf("%d handshakes, %+v, %v", server.handshakes.Load(), r.Audit, r.StatusCodes)
	}
	p := b.worker("refused", "--url", server.url+"/secret", "-d", "x", "--qps", "10", "--duration", "1s")
	p.wait(104)
	if shown := p.Stderr.String(); !strings.Contains(shown, "the server answers 401 Unauthorized; nothing was sent") || strings.Count(shown, "\n") != 1 {
		t.Error(shown)
	}
	p = b.worker("secret", append(patient(), "--url", server.url+"/secret", "-H", "Authorization: Bearer s3cr3t", "-d", `{"password": "pa55word"}`, "--reply", "any", "--preconnect", "5", "--qps", "100", "--duration", "1s")...)
	p.wait(0)
	all := p.Stderr.String() + p.Stdout.String()
	for _, format := range []string{"text", "html", "json"} {
		all += b.loadctl("report", "secret", "-o", format)
	}
	if strings.Contains(all, "s3cr3t") || strings.Contains(all, "pa55word") || server.count.Swap(0) != 100 {
		t.Error("a secret is shown, or messages are missing")
	}
	file, err := filepath.Abs("../../../examples/websocket/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, at, _ := strings.Cut(server.url, "://")
	b.worker("example", append(patient(), "--workload", file, "--duration", "2s", "--connect-to", "127.0.0.1:8080:"+at)...).judged()
	if r := b.audited("example"); len(r.Errors) > 0 || !r.Complete || server.count.Load() != 400 {
		t.Errorf("%v, complete %v, %d messages", r.Errors, r.Complete, server.count.Load())
	}
}
