package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCredentialsOfTargetsAreNotShown: this holds for any scheme of the URL, usable or not.
func TestCredentialsOfTargetsAreNotShown(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	const name, word = "bob-the-user", "s3cr3t-word"
	login := name + ":" + word
	shown := func(what string, outputs ...string) {
		t.Helper()
		for _, out := range outputs {
			if strings.Contains(out, word) || strings.Contains(out, name) {
				t.Errorf("%s shows the user or the password: %s", what, out)
			}
		}
	}
	for i, url := range []string{
		"noop://" + login + "@", "noop://" + login + "@host?latency=1ms", "noop:" + login + "@", "http:" + login + "@127.0.0.1:1/", login + "@127.0.0.1:1", "ftp://" + login + "@127.0.0.1/",
		"http://" + login + "@127.0.0.1:1/", "https://" + login + "@127.0.0.1:1/", "http://" + login + "@127.0.0.1:1/%zz", "http://" + login + "@/", "http://" + login + "@127.0.0.1:99999/", "//" + login + "@127.0.0.1:1",
	} {
		run := fmt.Sprint("run-", i)
		for _, extra := range [][]string{nil, {"--preconnect", "5"}, {"--laddr", "127.0.0.1"}, {"--allow-hosts", "127.0.0.2:1"}, {"--connect-to", login + "@127.0.0.1"}, {"--no-check", "--timeout", "100ms"}, {"--url", "noop://other:word@"}, {"--url=" + url}} {
			args := append([]string{"run", "--run", run, "--qps", "20", "-n", "2", "--url", url}, extra...)
			if slices.Contains(extra, "--url") { // it describes another run of that name
				args = append([]string{"run", "--run", run, "--qps", "20", "-n", "2"}, extra...)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "loadworker"), args...)
			cmd.Env = append(cmd.Environ(), "LOADCTL_REDIS="+b.url())
			out, _ := cmd.CombinedOutput()
			shown(strings.Join(args, " "), string(out))
		}
		for _, args := range [][]string{{"create", run + "-created", "--qps", "1", "--url", url}, {"ls"}, {"status", run}, {"workers", run}, {"events", run}, {"report", run}, {"stop", run}} {
			out, stderr, _ := b.try(args...)
			shown(strings.Join(args, " "), out, stderr)
			if args[0] != "create" && args[0] != "stop" {
				out, stderr, _ = b.try(append(args, "-o", "json")...)
				shown(strings.Join(args, " ")+" as JSON", out, stderr)
			}
		}
	}
	for _, url := range []string{"redis", "rediss", "unix", "noop", "http", "redis-sentinel", "x"} {
		for _, rest := range []string{"://" + login + "@127.0.0.1:1", ":" + login + "@127.0.0.1:1", "://" + login + "@127.0.0.1:1/x?y=z", "://" + login + "@/no/such"} {
			for _, command := range []string{"ls", "doctor"} {
				out, stderr, code := b.try(command, "--redis", url+rest)
				if shown(command+" with "+url, out, stderr); code == 0 {
					t.Errorf("%s with %s: exit code 0", command, url+rest)
				}
			}
		}
	}
}

// encrypted starts a TLS server in front of another server, with an untrusted certificate. It returns its address.
func encrypted(t *testing.T, to string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // only to get its certificate
	s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				plain, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer plain.Close()
				go func() {
					_, _ = io.Copy(plain, c)
					plain.Close()
				}()
				_, _ = io.Copy(c, plain)
			}()
		}
	}()
	return l.Addr().String()
}

// TestSkipVerifyWarns: each command warns in one line that the certificate of Redis is not checked; doctor has a
// finding.
func TestSkipVerifyWarns(t *testing.T) {
	nightly(t)
	besides(t)
	b := newBed(t)
	address := "rediss://" + encrypted(t, b.redis.Addr())
	const says = "skip_verify in the Redis URL turns off the check of the server's certificate"
	if _, stderr, code := b.try("ls", "--redis", address); code == 0 || !strings.Contains(stderr, "SSL_CERT_FILE") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	address += "?skip_verify=true"
	p := b.worker("x", "--redis", address, "--url", b.web.URL(), "--qps", "50", "-n", "10")
	p.wait(0)
	if text := p.Stderr.String(); strings.Count(text, says) != 1 || !strings.Contains(text, "level=WARN") {
		t.Errorf("the worker: %s", text)
	}
	for _, args := range [][]string{{"ls"}, {"status", "x"}, {"report", "x"}} {
		_, stderr, code := b.try(append(args, "--redis", address)...)
		if code != 0 || !strings.HasPrefix(stderr, "warning: "+says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", args[0], code, stderr)
		}
	}
	out, stderr, code := b.try("doctor", "--redis", address)
	if code != 0 || !strings.Contains(out, "warn  certificate") || !strings.Contains(out, "SSL_CERT_FILE") || stderr != "" {
		t.Errorf("doctor: exit code %d, %s%s", code, out, stderr)
	}
	if out, _, _ := b.try("doctor"); strings.Contains(out, "certificate") {
		t.Errorf("doctor, without TLS: %s", out)
	}
}
