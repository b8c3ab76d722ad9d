package prepare

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// examined runs doctor with a URL, and returns its findings about the endpoint by their checks.
func examined(t *testing.T, args ...string) map[string]doctor.Finding {
	t.Helper()
	all := map[string]doctor.Finding{}
	for _, f := range examine(t, append([]string{"--max-connections", "10"}, args...)...).Findings {
		all[f.Check] = f
	}
	return all
}

// TestDoctorOfAnEndpoint: doctor takes the flags of a run, and tells of the endpoint as text and as JSON.
func TestDoctorOfAnEndpoint(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	certificate := filepath.Join(t.TempDir(), "cert.pem")
	err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw}), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	server, err := arrivals.Start(arrivals.Options{TLS: &tls.Config{Certificates: known.TLS.Certificates}, HTTP3: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for version, protocol := range map[string]string{"1.1": "HTTP/1.1, agreed by ALPN", "2": "HTTP/2, agreed by ALPN (h2)", "3": "HTTP/3 (QUIC, h3)", "auto": "HTTP/2, agreed by ALPN (h2)"} {
		got := examined(t, server.URL(), "--cacert", certificate, "--http", version)
		if f := got["protocol"]; f.State != doctor.OK || !strings.Contains(f.Found, protocol) {
			t.Errorf("--http %s: %+v", version, got)
		}
		if f := got["endpoint tls"]; !strings.Contains(f.Found, "TLS 1.3") {
			t.Errorf("--http %s: %+v", version, f)
		}
	}
	few := httptest.NewUnstartedServer(http.NotFoundHandler())
	few.EnableHTTP2, few.Config.HTTP2 = true, &http.HTTP2Config{MaxConcurrentStreams: 20}
	few.StartTLS()
	defer few.Close()
	text, stderr, code := execute("doctor", "--max-connections", "10", "--url", few.URL, "-k", "--http", "2", "--streams", "30")
	const want = "warn  streams       the server allows 20 at a time on a connection, and --streams is 30: more wait, or use more connections\n" +
		"                      give --streams 20, or raise MAX_CONCURRENT_STREAMS of the server\n"
	if code != cli.CodeGood || stderr != "" || !strings.Contains(text, want) || !strings.Contains(text, "ok    sent          no request of the run\n") {
		t.Errorf("exit code %d, %q, %s", code, stderr, text)
	}
	if f := examined(t, server.URL())["endpoint"]; f.State != doctor.Bad || !strings.Contains(f.Mend, "--cacert FILE") {
		t.Errorf("%+v", f)
	}
	if n := server.Count(); n != 0 {
		t.Errorf("the server counts %d requests", n)
	}
}

// TestDoctorOfAWorkload: the servers of all flows are contacted, with the data that requests need.
func TestDoctorOfAWorkload(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	lines, err := arrivals.Start(arrivals.Options{Echo: arrivals.Lines})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("users.csv", "name\nann\n")
	file := write("w.yaml", "data:\n  users: {csv: users.csv}\nflows:\n  f:\n    - line: {send: \""+lines.URL()+"\", body: \"${users.name}\\n\", reply: 'until \\n', check: [body has ann]}\n")
	if f := examined(t, "--workload", file)["reply"]; f.State != doctor.OK || !strings.HasPrefix(f.Found, "4 B in ") {
		t.Errorf("%+v", f)
	}
	targets := write("targets.txt", "GET http://"+lines.Addr()+"/a\n\nGET http://"+lines.Addr()+"/b\n")
	if got := examined(t, "--targets", targets); got["endpoint"].State != doctor.OK || !strings.Contains(got["sent"].Found, "no request") || lines.Count() != 1 {
		t.Errorf("%+v, %d requests", got, lines.Count())
	}
}

// TestDoctorRefusesTheRedisOfRuns: a target that is the Redis of --redis is bad.
func TestDoctorRefusesTheRedisOfRuns(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	if f := examined(t, server.URL(), "-d", "PING")["endpoint redis"]; f.State != doctor.Bad || !strings.Contains(f.Found, "holds the runs") {
		t.Errorf("%+v", f)
	}
}
