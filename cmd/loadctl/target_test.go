package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/cmd/loadctl/target"
	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/cli/clitest"
)

// targetRoot is loadctl with only the command target.
func targetRoot() *cobra.Command {
	root := &cobra.Command{Use: "loadctl"}
	root.AddCommand(target.New())
	return root
}

// counter is a running `loadctl target`.
type counter struct {
	*testing.T
	url            string
	stdout, stderr child.Output
	code           chan int
}

// counting starts a target and waits until it prints where it listens; with JSON it does so on stderr.
func counting(t *testing.T, args ...string) *counter {
	t.Helper()
	c := &counter{T: t, code: make(chan int, 1)}
	go func() {
		c.code <- cli.Main(targetRoot(), append([]string{"target", "--listen", "127.0.0.1:0"}, args...), &c.stdout, &c.stderr)
	}()
	says := &c.stdout
	if slices.Contains(args, "json") {
		says = &c.stderr
	}
	c.until("it listens", func() bool { return strings.HasSuffix(says.String(), "\n") })
	line, _, _ := strings.Cut(says.String(), "\n")
	url, ok := strings.CutPrefix(line, "counting at ")
	if !ok {
		t.Fatalf("says %q", line)
	}
	c.url = url
	return c
}

// until waits for a condition.
func (c *counter) until(what string, done func() bool) {
	c.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("waited for: %s; stdout %q, stderr %q", what, c.stdout.String(), c.stderr.String())
		}
	}
}

// get sends n requests, one after the other, and counts the statuses.
func (c *counter) get(client *http.Client, n int) map[int]int {
	c.Helper()
	statuses := make(map[int]int)
	for range n {
		resp, err := client.Get(c.url)
		if err != nil {
			c.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body) // to its end, so that the connection is reused
		resp.Body.Close()
		if err != nil {
			c.Fatal(err)
		}
		statuses[resp.StatusCode]++
	}
	return statuses
}

// end interrupts the target as Ctrl-C does, and returns its stdout.
func (c *counter) end() string {
	c.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		c.Fatal(err)
	}
	if code := <-c.code; code != cli.CodeGood {
		c.Errorf("exit code %d, stderr %q", code, c.stderr.String())
	}
	return c.stdout.String()
}

// client is one connection; it is closed with the test.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// decodeSummary decodes target's JSON, and checks it against the published schema and for consistency.
func decodeSummary(t *testing.T, text string) arrivals.Summary {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if err := targetSchema(t).Validate(instance); err != nil {
		t.Error(err)
	}
	var s arrivals.Summary
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, second := range s.PerSecond {
		sum += second.Requests
	}
	if sum != s.Total || len(s.Windows) != 5 || s.Windows[0].Length != time.Millisecond || s.Windows[4].Length != 10*time.Second {
		t.Errorf("does not add up: %+v", s)
	}
	if s.Total > 0 && (s.First.Before(s.Began) || s.Last.Before(s.First) || !s.PerSecond[0].At.Equal(s.First)) {
		t.Errorf("times do not fit: %+v", s)
	}
	return s
}

// targetSchema returns the published schema. It allows new members; here an unknown member is an error.
func targetSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("../../docs/schema/target.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	schema, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(schema)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("target.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("target.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// closeObjects forbids members without a name in the schema.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, v := range s {
			closeObjects(v)
		}
	case []any:
		for _, v := range s {
			closeObjects(v)
		}
	}
}

func TestTargetText(t *testing.T) {
	c := counting(t)
	c.get(client(t), 20)
	c.until("a line for the second", func() bool { return strings.Contains(c.stdout.String(), " in this second, ") })
	c.get(client(t), 5)
	text := c.end()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	printed, sum, all := 0, 0, 0
	for _, line := range lines[1:] {
		var at string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d in this second, %d in all", &at, &n, &all); err != nil {
			break
		}
		if _, err := time.Parse(time.RFC3339, at); err != nil || n == 0 {
			t.Errorf("%q: %v", line, err)
		}
		printed++
		if sum += n; sum != all {
			t.Errorf("%q: want %d in all", line, sum)
		}
	}
	if printed < 2 || sum != 25 {
		t.Errorf("%d lines with %d requests, want at least 2 with 25: %s", printed, sum, text)
	}
	summary := strings.Join(lines[1+printed:], "\n")
	for _, want := range []string{"total        25 requests\n", "seconds      ", "mean rate    ", "connections  2\n", "\nWINDOW  MOST ", "\n1ms     ", "\n10s     25"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
	if c.stderr.String() != "" {
		t.Errorf("stderr %q", c.stderr.String())
	}
}

func TestTargetJSON(t *testing.T) {
	c := counting(t, "-o", "json", "--status", "201", "--error-share", "0.29", "--error-status", "503", "--latency", "1ms", "--jitter", "1ms")
	statuses := c.get(client(t), 100)
	if statuses[503] != 29 || statuses[201] != 71 {
		t.Errorf("statuses %v", statuses)
	}
	if c.stdout.String() != "" {
		t.Errorf("prints %q before the end", c.stdout.String())
	}
	s := decodeSummary(t, c.end())
	if s.URL != c.url || s.Total != 100 || s.Connections != 1 || s.ErrorsAnswered != 29 || s.Windows[4].Most != 100 {
		t.Errorf("%+v", s)
	}
	// One at a time, each answered after at least 1 ms.
	if want := 99 / s.Last.Sub(s.First).Seconds(); s.MeanRate < want*0.999 || s.MeanRate > want*1.001 || s.MeanRate > 1000 {
		t.Errorf("mean rate %v, want %v", s.MeanRate, want)
	}
	if s.Windows[0].Most > 2 {
		t.Errorf("%d in 1 ms", s.Windows[0].Most)
	}
}

// TestTargetFor: --for ends the command normally, even if nothing arrived.
func TestTargetFor(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		stdout, stderr, code := clitest.Execute(targetRoot(), "target", "--listen", "127.0.0.1:0", "--for", "20ms", "-o", format)
		if code != cli.CodeGood || !strings.Contains(stdout+stderr, "counting at http://127.0.0.1:") {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
		}
		if format == "text" {
			if !strings.Contains(stdout, "total        0 requests\n") {
				t.Errorf("prints %q", stdout)
			}
			continue
		}
		if s := decodeSummary(t, stdout); s.Total != 0 || !s.First.IsZero() || s.MeanRate != 0 || s.PerSecond == nil {
			t.Errorf("%+v", s)
		}
	}
}

func TestTargetUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	c := counting(t, "--listen", "unix:"+path)
	url, socket, _ := strings.Cut(c.url, ", unix socket ")
	if c.url = url; socket != path {
		t.Errorf("says %q and %q", url, socket)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	c.get(&http.Client{Transport: transport}, 3)
	clitest.Refused(t, targetRoot(), []string{"target", "--listen", "unix:" + path}, "--listen unix:", "address already in use", "remove the file")
	if text := c.end(); !strings.Contains(text, "3 requests\n") {
		t.Errorf("prints %q", text)
	}
}

// writePair writes the certificate of package httptest and its key.
func writePair(t *testing.T) (certificate, key string, trusted *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	return certificate, key, trusted
}

func TestTargetTLS(t *testing.T) {
	certificate, key, trusted := writePair(t)
	c := counting(t, "--tls-cert", certificate, "--tls-key", key)
	if !strings.HasPrefix(c.url, "https://127.0.0.1:") {
		t.Errorf("listens at %s", c.url)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	defer transport.CloseIdleConnections()
	c.get(&http.Client{Transport: transport}, 3)
	if text := c.end(); !strings.Contains(text, "3 requests\n") {
		t.Errorf("prints %q", text)
	}
	for _, args := range [][]string{{"--tls-cert", certificate}, {"--tls-key", key}, {"--tls-cert", key, "--tls-key", key}, {"--tls-cert", "nowhere", "--tls-key", key}} {
		clitest.Refused(t, targetRoot(), append([]string{"target"}, args...), "--tls-cert", "--tls-key")
	}
}

// TestTargetStall: a client that asks repeatedly meets each stall once.
func TestTargetStall(t *testing.T) {
	const length = time.Second
	c := counting(t, "--stall", "1500ms:1s", "--stall", "50ms:1s")
	held := 0
	asking := client(t)
	c.until("two stalls", func() bool {
		began := time.Now()
		c.get(asking, 1)
		if took := time.Since(began); took > length*3/4 {
			held++
		}
		return held == 2
	})
	began := time.Now()
	if c.get(asking, 1); time.Since(began) > length/2 {
		t.Errorf("answered %v after the last stall", time.Since(began))
	}
	c.end()
}

// TestTargetCapacity: six clients and two servers, so the rate is 2/service-time.
func TestTargetCapacity(t *testing.T) {
	c := counting(t, "-o", "json", "--capacity", "2", "--service-time", "30ms")
	var all sync.WaitGroup
	for range 6 {
		asking := client(t)
		all.Go(func() {
			if statuses := c.get(asking, 10); statuses[200] != 10 {
				t.Errorf("statuses %v", statuses)
			}
		})
	}
	all.Wait()
	if s := decodeSummary(t, c.end()); s.Total != 60 || s.MeanRate > 1.15*2/0.030 || s.MeanRate < 0.7*2/0.030 {
		t.Errorf("%d requests at %v/s, want %v/s", s.Total, s.MeanRate, 2/0.030)
	}
}

// TestTargetEndsDuringAStall: the end does not wait for requests that are held back, and counts them.
func TestTargetEndsDuringAStall(t *testing.T) {
	c := counting(t, "--stall", "0s:1h")
	asking, sent := client(t), 0
	asking.Timeout = time.Second
	c.until("no answer", func() bool {
		resp, err := asking.Get(c.url)
		sent++
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	began := time.Now()
	text := c.end()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	if !strings.Contains(text, fmt.Sprintf("total        %d requests\n", sent)) {
		t.Errorf("of %d: %s", sent, text)
	}
}

func TestTargetRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"more"}, "usage: loadctl target"},
		{[]string{"-o", "csv"}, `--output "csv": there are text, json`},
		{[]string{"--listen", "127.0.0.1"}, `--listen "127.0.0.1": write HOST:PORT, such as 127.0.0.1:8080, or unix:/path`},
		{[]string{"--listen", ""}, "--listen"},
		{[]string{"--listen", "127.0.0.1:"}, "write HOST:PORT"},
		{[]string{"--listen", "::1:80:80"}, "write HOST:PORT"},
		{[]string{"--listen", "unix:"}, "write HOST:PORT"},
		{[]string{"--listen", "unix:/" + long}, "--listen unix:/xxx"},
		{[]string{"--listen", "127.0.0.1:99999"}, "--listen 127.0.0.1:99999: address 99999: invalid port; write an address of this machine"},
		{[]string{"--listen", "192.0.2.1:0"}, "--listen 192.0.2.1:0: bind: cannot assign requested address; write an address of this machine"},
		{[]string{"--listen", taken.Addr().String()}, "--listen " + taken.Addr().String() + ": bind: address already in use; give another port, or 0 for a free one"},
		{[]string{"--for", "-1s"}, `--for: "-1s" is not a duration; write 30s`},
		{[]string{"--latency", "-1ms"}, `--latency: "-1ms" is not a duration`},
		{[]string{"--latency", "366d"}, "--latency, --jitter: give at most 365d"},
		{[]string{"--jitter", "-1ms"}, `--jitter: "-1ms" is not a duration`},
		{[]string{"--jitter", "soon"}, `--jitter: "soon" is not a duration`},
		{[]string{"--error-share", "-0.1"}, "--error-share -0.1: give a share from 0 to 1, such as 0.01"},
		{[]string{"--error-share", "1.01"}, "--error-share 1.01: give a share"},
		{[]string{"--error-share", "NaN"}, "--error-share NaN: give a share"},
		{[]string{"--error-share", "1%"}, `--error-share "1%": not a value of type float64`},
		{[]string{"--status", "199"}, "--status 199: give a status from 200 to 599"},
		{[]string{"--status", "600"}, "--status 600: give a status"},
		{[]string{"--status", "OK"}, `--status "OK": not a value of type int`},
		{[]string{"--error-status", "0"}, "--error-status 0: give a status from 200 to 599"},
		{[]string{"--stall", "10s"}, `--stall: "10s": write AT:LENGTH, such as 10s:2s`},
		{[]string{"--stall", "10s:"}, "write AT:LENGTH"},
		{[]string{"--stall", "10:2"}, "write AT:LENGTH"},
		{[]string{"--stall", "10s:-2s"}, "write AT:LENGTH"},
		{[]string{"--stall", "10s:2s:3s"}, "write AT:LENGTH"},
		{[]string{"--stall", "1s:366d"}, "at most 365d"},
		{[]string{"--stall", long}, "write AT:LENGTH"},
		{[]string{"--capacity", "-1"}, "--capacity -1: give a number up to 1000000, or 0 to serve all at once"},
		{[]string{"--capacity", "1000001"}, "--capacity 1000001: give a number up to"},
		{[]string{"--capacity", "8", "--service-time", "2h"}, "--service-time 2h0m0s: give at most 1h"},
		{[]string{"--service-time", "10ms"}, "--service-time: give --capacity N too, the number of requests served at the same time"},
	} {
		clitest.Refused(t, targetRoot(), append([]string{"target"}, c.args...), c.says)
	}
}

// TestTargetHelp: the help says how to let others send requests, and how to check a rate.
func TestTargetHelp(t *testing.T) {
	help, _, code := clitest.Execute(targetRoot(), "target", "--help")
	help = strings.Join(strings.Fields(help), " ") // however lines are wrapped
	for _, want := range []string{"R·W + 1 arrivals in any window", "all who can reach this machine can", "--stall AT:LENGTH", "--listen HOST:PORT", "the counts of its last 86400", "--capacity N", "65536 others"} {
		if code != cli.CodeGood || !strings.Contains(help, want) {
			t.Errorf("exit code %d, the help does not say %q:\n%s", code, want, help)
		}
	}
}

// failingWriter is a full disk.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("write: no space") }

// TestTargetSaysThatTheSummaryIsLost: the exit code must not look like success.
func TestTargetSaysThatTheSummaryIsLost(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var stderr bytes.Buffer
		code := cli.Main(targetRoot(), []string{"target", "--listen", "127.0.0.1:0", "--for", "1ms", "-o", format}, failingWriter{}, &stderr)
		if code != cli.CodeOther || !strings.Contains(stderr.String(), "error: write: no space\n") {
			t.Errorf("%s: exit code %d, %q", format, code, stderr.String())
		}
	}
}
