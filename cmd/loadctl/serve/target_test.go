package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
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

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/internal/server/site"
)

// targetRoot is loadctl with only the command target.
func targetRoot() *cobra.Command { return clitest.Loadctl(&cli.Redis{}, NewTargetCommand()) }

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
	await.True(t, "a target that listens", func() bool { return strings.HasSuffix(says.String(), "\n") || len(c.code) > 0 })
	line, _, _ := strings.Cut(says.String(), "\n")
	url, ok := strings.CutPrefix(line, "counting at ")
	if !ok {
		t.Fatalf("says %q, stderr %q", line, c.stderr.String())
	}
	c.url = url
	return c
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
	if code := await.Receive(c, "the end of the target", c.code); code != cli.CodeGood {
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
	file, err := os.Open("../../../docs/schema/target.schema.json")
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
	await.True(t, "a line for the second", func() bool { return strings.Contains(c.stdout.String(), " in this second, ") })
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
	if s.URL != c.url || s.Total != 100 || s.Connections != 1 || s.ErrorsAnswered != 29 {
		t.Errorf("%+v", s)
	}
	// A window of ten seconds holds at least those of ten seconds in a row, and at most those of eleven.
	if most := int64(s.Windows[4].Most); most < inARow(s.PerSecond, 10) || most > inARow(s.PerSecond, 11) {
		t.Errorf("%d in 10 s, of %+v", most, s.PerSecond)
	}
	// One at a time, each answered after at least 1 ms.
	if want := 99 / s.Last.Sub(s.First).Seconds(); s.MeanRate < want*0.999 || s.MeanRate > want*1.001 || s.MeanRate > 1000 {
		t.Errorf("mean rate %v, want %v", s.MeanRate, want)
	}
	if s.Windows[0].Most > 2 {
		t.Errorf("%d in 1 ms", s.Windows[0].Most)
	}
}

// inARow returns the most requests in so many seconds in a row.
func inARow(seconds []arrivals.Second, n int) (most int64) {
	for i := range seconds {
		sum := int64(0)
		for _, second := range seconds[i:min(i+n, len(seconds))] {
			sum += second.Requests
		}
		most = max(most, sum)
	}
	return most
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

// TestTargetHTTP3: the same port serves https over TCP and HTTP/3 over UDP.
func TestTargetHTTP3(t *testing.T) {
	certificate, key, trusted := writePair(t)
	c := counting(t, "--tls-cert", certificate, "--tls-key", key, "--http3")
	config := &tls.Config{RootCAs: trusted}
	patient := &quic.Config{HandshakeIdleTimeout: time.Hour, MaxIdleTimeout: time.Hour}
	three, one := &http3.Transport{TLSClientConfig: config, QUICConfig: patient}, &http.Transport{TLSClientConfig: config}
	defer three.Close()
	defer one.CloseIdleConnections()
	c.get(&http.Client{Transport: three}, 5)
	c.get(&http.Client{Transport: one}, 3)
	if text := c.end(); !strings.Contains(text, "8 requests\n") {
		t.Errorf("prints %q", text)
	}
	clitest.Refused(t, targetRoot(), []string{"target", "--http3"}, "--http3: give --tls-cert and --tls-key too")
	clitest.Refused(t, targetRoot(), []string{"target", "--udp", "--http3"}, "an echo takes only")
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

// TestTargetStall: a client that asks repeatedly meets each stall, and is answered at once after the last one.
func TestTargetStall(t *testing.T) {
	const length = 2 * time.Second
	c := counting(t, "--stall", "2500ms:2s", "--stall", "50ms:2s")
	asking := client(t)
	took := func() time.Duration {
		began := time.Now()
		c.get(asking, 1)
		return time.Since(began)
	}
	held := 0
	await.Polled(t, "two stalls", func() {
		if took() > length/2 {
			held++
		}
	}, func() bool { return held == 2 })
	await.True(t, "an answer at once", func() bool { return took() < length/2 })
	c.end()
}

// TestTargetCapacity: two servers serve two requests side by side, and six clients no faster than 2/service-time.
func TestTargetCapacity(t *testing.T) {
	const service = 50 * time.Millisecond
	c := counting(t, "-o", "json", "--capacity", "2", "--service-time", service.String())
	asked := int64(0)
	ask := func(clients, each int) time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		for range clients {
			asking := client(t)
			all.Go(func() {
				if statuses := c.get(asking, each); statuses[200] != each {
					t.Errorf("statuses %v", statuses)
				}
			})
		}
		all.Wait()
		asked += int64(clients * each)
		return time.Since(began)
	}
	await.True(t, "two that are served side by side", func() bool { return ask(2, 1) < 2*service })
	if took := ask(6, 4); took < 6*4/2*service {
		t.Errorf("24 requests took %v, want 600ms for two servers", took)
	}
	if s := decodeSummary(t, c.end()); s.Total != asked {
		t.Errorf("%d requests counted, %d sent", s.Total, asked)
	}
}

// send sends a request with these headers, as name and value by turns, and returns status and body.
func (c *counter) send(client *http.Client, method, path, body string, headers ...string) (int, string) {
	c.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// routeOf returns the summary of a route.
func (c *counter) routeOf(s arrivals.Summary, name string) arrivals.RouteSummary {
	c.Helper()
	i := slices.IndexFunc(s.Routes, func(r arrivals.RouteSummary) bool { return r.Route == name })
	if i < 0 {
		c.Fatalf("no route %q in %+v", name, s)
	}
	return s.Routes[i]
}

// TestTargetRoutes: each route answers as it is told, and is counted.
func TestTargetRoutes(t *testing.T) {
	c := counting(t, "-o", "json", "--status", "404", "--route", "/slow/*=latency=30ms,jitter=1ms,status=503", "--route", `GET /user/{id}=body={"name": "Ann", "id": 7}`,
		"--route", "/none=status=204", "--unique", "path", "--unique", "query n")
	asking := client(t)
	for _, e := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/slow/a?n=1", 503, "ok"}, {"POST", "/slow/b/c?n=2", 503, "ok"}, {"GET", "/user/7?n=1", 200, `{"name": "Ann", "id": 7}`}, {"POST", "/user/7", 404, "ok"},
		{"GET", "/none", 204, ""}, {"GET", "/", 404, "ok"}, {"GET", "/slowly", 404, "ok"},
	} {
		began := time.Now()
		status, body := c.send(asking, e.method, e.path, "")
		if took := time.Since(began); status != e.status || body != e.body || status == 503 && took < 30*time.Millisecond {
			t.Errorf("%s %s: %d %q after %v", e.method, e.path, status, body, took)
		}
	}
	s := decodeSummary(t, c.end())
	for name, want := range map[string]int64{"/slow/*": 2, "GET /user/{id}": 1, "/none": 1, "other": 3} {
		if r := c.routeOf(s, name); r.Requests != want || len(r.Statuses) != 1 || r.Statuses[0].Answers != want || name == "/slow/*" && r.Latency.Min < 29_900_000 {
			t.Errorf("%+v", r)
		}
	}
	if s.Total != 7 || len(s.Routes) != 4 || !slices.Equal(s.Unique, []site.UniqueCount{{Of: "path", Values: 6, Twice: 1}, {Of: "query n", Values: 2, Twice: 1, Without: 4}}) {
		t.Errorf("%+v", s)
	}
}

// TestTargetShop: a flow through the shop, whose payment is made slow by a route.
func TestTargetShop(t *testing.T) {
	c := counting(t, "--shop", "--route", "POST /pay=latency=30ms", "--unique", "json user")
	asking := client(t)
	_, body := c.send(asking, "POST", "/login", `{"user": "ann"}`)
	token := gjson.Get(body, "token").String()
	began := time.Now()
	for i, want := range []int{200, 409} {
		if status, body := c.send(asking, "POST", "/pay", "", "Authorization", "Bearer "+token, "Idempotency-Key", "k"); status != want {
			t.Errorf("payment %d: %d %s", i, status, body)
		}
	}
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("two slow payments took %v", took)
	}
	if status, body := c.send(asking, "GET", "/items/17", ""); status != 200 || gjson.Get(body, "id").Int() != 17 {
		t.Errorf("%d %s", status, body)
	}
	text := c.end()
	for _, want := range []string{" 4 in all: POST /login 1, GET /items/{id} 1, POST /pay 2\n", "\nunique       json user: values 1, twice 0; requests without 3\n", "\nROUTE  ", "\nPOST /pay  ", "  200: 1, 409: 1\n", "\nother  "} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q:\n%s", want, text)
		}
	}
}

// TestTargetRouteStall: a stalled route does not stall others.
func TestTargetRouteStall(t *testing.T) {
	c := counting(t, "--route", "/brief=stall=0s:300ms,stall=1h:1s", "--route", "/stalled=stall=0s:1h", "--route", "/free=status=201")
	began := time.Now()
	c.send(client(t), "GET", "/brief", "") // the first arrival of all: its stall begins here
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("held back for %v", took)
	}
	stalled, answered := client(t), make(chan error, 1)
	go func() {
		resp, err := stalled.Get(c.url + "/stalled")
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	await.True(t, "the request that is held back", func() bool { return strings.Contains(c.stdout.String(), "/stalled 1") })
	free := client(t)
	for range 10 {
		if status, _ := c.send(free, "GET", "/free", ""); status != 201 {
			t.Errorf("%d", status)
		}
	}
	if len(answered) > 0 {
		t.Error("the stalled route was answered")
	}
	if text := c.end(); !strings.Contains(text, "total        12 requests\n") {
		t.Error(text)
	}
	if err := await.Receive(t, "the end of the stalled request", answered); err == nil {
		t.Error("the stalled request was answered at the end")
	}
}

// TestTargetUniqueAlone: without routes there is no table of them.
func TestTargetUniqueAlone(t *testing.T) {
	c := counting(t, "--unique", "json user", "--status", "201")
	asking := client(t)
	for _, user := range []string{"a", "b", "a"} {
		if status, body := c.send(asking, "POST", "/", `{"user": "`+user+`"}`); status != 201 || body != "ok" {
			t.Errorf("%d %q", status, body)
		}
	}
	if text := c.end(); !strings.Contains(text, "json user: values 2, twice 1\n") || strings.Contains(text, "ROUTE") || strings.Contains(text, "other") {
		t.Error(text)
	}
}

// TestTargetEndsDuringAStall: the end does not wait for requests that are held back, and counts them.
func TestTargetEndsDuringAStall(t *testing.T) {
	c := counting(t, "--stall", "0s:1h")
	asking, sent := client(t), 0
	answers := make(chan error, 1)
	for held := false; !held; { // the first ones may come before the stall
		go func() {
			resp, err := asking.Get(c.url)
			if err == nil {
				resp.Body.Close()
			}
			answers <- err
		}()
		sent++
		await.True(t, "an answer or an arrival", func() bool {
			held = strings.Contains(c.stdout.String(), fmt.Sprintf(" %d in all\n", sent)) // it is told some time after an answer
			return held || len(answers) > 0
		})
		if len(answers) > 0 {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
			held = false
		}
	}
	if text := c.end(); !strings.Contains(text, fmt.Sprintf("total        %d requests\n", sent)) {
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
		{[]string{"--ws", "--udp"}, "--tcp, --udp, --ws and --grpc: give one of them"},
		{[]string{"--tcp", "--udp"}, "--tcp, --udp, --ws and --grpc: give one of them"},
		{[]string{"--udp", "--listen", "unix:/tmp/x"}, "--udp: datagrams need an address"},
		{[]string{"--tcp", "--status", "500"}, "--tcp, --udp, --ws, --grpc: an echo takes only --latency, --jitter and --stall"},
		{[]string{"--udp", "--shop"}, "--tcp, --udp, --ws, --grpc: an echo takes only --latency, --jitter and --stall"},
		{[]string{"--service-time", "10ms"}, "--service-time: give --capacity N too, the number of requests served at the same time"},
	} {
		clitest.Refused(t, targetRoot(), append([]string{"target"}, c.args...), c.says)
	}
}

// TestTargetRoutesRefused: the same for routes, and for what is counted.
func TestTargetRoutesRefused(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var many, several []string
	for i := range 101 {
		many = append(many, "--route", fmt.Sprintf("/%d=status=200", i))
	}
	for i := range 9 {
		several = append(several, "--unique", fmt.Sprintf("query n%d", i))
	}
	const form = `write PATTERN=SETTINGS, such as '/slow/*=latency=50ms,status=503'`
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--route", ""}, `--route: "": ` + form},
		{[]string{"--route", "/slow"}, `--route: "/slow": ` + form},
		{[]string{"--route", "/slow="}, form},
		{[]string{"--route", "=status=200"}, form},
		{[]string{"--route", long}, form},
		{[]string{"--route", "/" + long + "=status=1"}, "status=1: give a status from 200 to 599"},
		{[]string{"--route", "/x\x1b[2J=status=200"}, "use printable characters in a pattern"},
		{[]string{"--route", "/x=speed=3"}, `--route: "/x=speed=3": there is no setting "speed"; use latency, jitter, status, stall and body`},
		{[]string{"--route", "/x=status=200,"}, `there is no setting ""`},
		{[]string{"--route", "/x=status"}, "status=: give a status"},
		{[]string{"--route", "/x=status=OK"}, "status=OK: give a status from 200 to 599"},
		{[]string{"--route", "/x=status=600"}, "give a status from 200 to 599"},
		{[]string{"--route", "/x=status=200,status=201"}, "status is given twice; leave one out"},
		{[]string{"--route", "/x=latency=50"}, "latency=50: give a duration such as 50ms, at most 365d"},
		{[]string{"--route", "/x=latency=-1ms"}, "latency=-1ms: give a duration"},
		{[]string{"--route", "/x=jitter=366d"}, "jitter=366d: give a duration such as 50ms, at most 365d"},
		{[]string{"--route", "/x=stall=10s"}, `stall="10s": write AT:LENGTH, such as 10s:2s`},
		{[]string{"--route", "/x=body="}, "body= has no text; write body=TEXT as the last setting"},
		{[]string{"--route", "/x=body=a,b,status=503"}, "the body has the rest of the text; write status=503 before body="},
		{[]string{"--route", "/x=status=204,body=x"}, "an answer with this status has no body; leave one of them out"},
		{[]string{"--route", "x=status=200"}, `--route "x": at offset 0: host/path missing /; write a path with or without a method`},
		{[]string{"--route", "get /x=status=200"}, `--route "get /x": a method is in capital letters`},
		{[]string{"--route", "/x/*/y=status=200"}, "* stands only at the end"},
		{[]string{"--route", "/x?n=1"}, `there is no setting "1"`},
		{[]string{"--route", "/{x=status=200"}, "bad wildcard segment"},
		{[]string{"--route", "/x=status=200", "--route", "/x=status=201"}, `--route "/x": is given twice; leave one out`},
		{[]string{"--route", "/a/{x}=status=200", "--route", "/{x}/a=status=200"}, `--route "/{x}/a": some requests fit "/a/{x}" too`},
		{many, "give at most 100 routes"},
		{[]string{"--shop=much"}, "--shop"},
		{[]string{"--unique", ""}, `--unique: "": it is not complete or not right; write one of path; query NAME; header NAME; or json PATH, such as json user.id`},
		{[]string{"--unique", "user"}, "write one of path"},
		{[]string{"--unique", "json items[0]"}, "a path is written without $ and brackets, as in items.0.id"},
		{[]string{"--unique", "json a|@this"}, "it is not complete or not right"},
		{[]string{"--unique", "path", "--unique", " path"}, `"path": is given twice; leave one out`},
		{[]string{"--unique", long}, "write one of path"},
		{several, `"query n8": give at most 8`},
	} {
		clitest.Refused(t, targetRoot(), append([]string{"target"}, c.args...), c.says)
	}
}

// TestTargetHelp: the help says how to let others send requests, and how to check a rate.
func TestTargetHelp(t *testing.T) {
	help, _, code := clitest.Execute(targetRoot(), "target", "--help")
	help = strings.Join(strings.Fields(help), " ") // however lines are wrapped
	for _, want := range []string{"R·W + 1 arrivals in any window", "all who can reach this machine can", "--stall AT:LENGTH", "--listen HOST:PORT", "the counts of its last 86400", "--capacity N", "65536 others", "--route PATTERN=SETTINGS", "POST /login", "10000000 values"} {
		if code != cli.CodeGood || !strings.Contains(help, want) {
			t.Errorf("exit code %d, the help does not say %q:\n%s", code, want, help)
		}
	}
}

// TestTargetSaysThatTheSummaryIsLost: the exit code must not look like success.
func TestTargetSaysThatTheSummaryIsLost(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var stderr bytes.Buffer
		code := cli.Main(targetRoot(), []string{"target", "--listen", "127.0.0.1:0", "--for", "1ms", "-o", format}, clitest.FullDisk{}, &stderr)
		if code != cli.CodeOther || !strings.Contains(stderr.String(), "error: no space left\n") {
			t.Errorf("%s: exit code %d, %q", format, code, stderr.String())
		}
	}
}
