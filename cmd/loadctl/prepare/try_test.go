package prepare

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/try"
	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/internal/server/shop"
	"github.com/loadctl/loadctl/internal/server/site"
)

// tried runs try as JSON, and checks its exit code.
func tried(t *testing.T, code int, args ...string) try.Done {
	t.Helper()
	stdout, stderr, got := execute(append([]string{"try", "-o", "json"}, args...)...)
	var d try.Done
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || got != code || d.OK != (code == cli.CodeGood) || d.OK != (stderr == "") {
		t.Fatalf("%q: exit code %d, %q, %v\n%s", args, got, stderr, err, stdout)
	}
	return d
}

// shown runs try as text, and checks its exit code and that it has all of says in this order.
func shown(t *testing.T, code int, args, says []string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, got := execute(append([]string{"try"}, args...)...)
	if got != code {
		t.Errorf("%q: exit code %d, %q\n%s", args, got, stderr, stdout)
	}
	rest := stdout
	for _, text := range says {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q: %q is not there, or not behind the text before it\n%s", args, text, stdout)
			continue
		}
		rest = after
	}
	return stdout, stderr
}

// started starts a server.
func started(t *testing.T, o arrivals.Options) *arrivals.Server {
	t.Helper()
	s, err := arrivals.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// shopping starts a shop, and writes a workload file with these flows and a data file of users.
func shopping(t *testing.T, flows string) (file string, server *arrivals.Server) {
	t.Helper()
	routes, err := site.New(0, shop.Routes())
	if err != nil {
		t.Fatal(err)
	}
	server = started(t, arrivals.Options{Site: routes})
	dir := t.TempDir()
	written(t, dir, "users.csv", "name,password\nann,first-secret\nbo,second-secret\ncy,third-secret\n")
	return written(t, dir, "shop.yaml", "base: "+server.URL()+"\ndata: {users: {csv: users.csv}}\nflows:\n"+flows), server
}

func written(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// buying is a flow of two steps that uses data, and another flow that does not.
const buying = `  look:
    - list: {get: /items}
  buy:
    - login: {post: /login, json: {user: "${users.name}", password: "${users.password}"}, check: [status 200, body has "token"], take: {token: json token}}
    - cart: {after: 1h, post: /cart, header: {Authorization: "Bearer ${token}"}, json: {user: "${users.name}", item: 7}, check: 'body has "total"'}
`

// TestTryProtocols: each protocol is tried by the engine of the workers, and tells what was sent and what came.
func TestTryProtocols(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	web := started(t, arrivals.Options{})
	calls := started(t, arrivals.Options{Echo: arrivals.Calls})
	messages, lines := started(t, arrivals.Options{Echo: arrivals.Messages}), started(t, arrivals.Options{Echo: arrivals.Lines})
	datagrams := started(t, arrivals.Options{Echo: arrivals.Datagrams})
	redis := redistest.Start(t)
	socket := filepath.Join(t.TempDir(), "s")
	started(t, arrivals.Options{Addr: "unix:" + socket})
	for _, c := range []struct {
		args       []string
		sent, came string // the first lines
		result     string
	}{
		{[]string{web.URL() + "/a?b=c"}, "GET /a?b=c HTTP/1.1", "HTTP/1.1 200 OK", "ok: 200, "},
		{[]string{"--url", web.URL(), "--http", "2", "-d", "x"}, "POST / HTTP/2", "HTTP/2 200", "ok: 200, "},
		{[]string{calls.URL() + "/loadctl.Echo/Say", "-d", `{"text": "hi"}`}, "POST /loadctl.Echo/Say HTTP/2", "HTTP/2 200", "ok: OK, "},
		{[]string{calls.URL() + "/loadctl.Echo/Talk", "-d", `{"text": "hi"}`}, "POST /loadctl.Echo/Talk HTTP/2", "HTTP/2 200", "ok: "},
		{[]string{messages.URL() + "/x", "-d", "hello", "--reply", "any"}, "hello", "hello", "ok: "},
		{[]string{lines.URL(), "-d", "hello\n", "--reply", `until \n`}, "hello", "hello", "ok: "},
		{[]string{datagrams.URL(), "-d", "hello", "--reply", "any"}, "hello", "hello", "ok: "},
		{[]string{redis.URL(), "-d", "ECHO hello"}, "*2", "$5", "ok: "},
		{[]string{"http://h.test/unix", "--unix-socket", socket}, "GET /unix HTTP/1.1", "HTTP/1.1 200 OK", "ok: 200, "},
	} {
		_, stderr := shown(t, cli.CodeGood, c.args, []string{"* address  ", ", connection 1, new\n", "> " + c.sent + "\n", "< " + c.came + "\n", "* times    ", "first byte after ", "total ", "* result   " + c.result})
		if stderr != "" {
			t.Errorf("%q: %q", c.args, stderr)
		}
		d := tried(t, cli.CodeGood, c.args...)
		h := d.Requests[0].Hops[0]
		if now := h.Times; now.Connect == 0 || now.First == 0 || now.Wait == 0 || now.First > now.Total || h.Remote == "" || h.Unsent {
			t.Errorf("%q: %+v", c.args, h)
		}
	}
	if n := web.Count(); n != 4 {
		t.Errorf("%d requests came, and 2 were tried twice", n)
	}
	shown(t, cli.CodeGood, []string{datagrams.URL(), "-d", "no reply"}, []string{"> no reply\n", "* times    connect ", "* result   ok: 8 B out, 0 B in"})
	_, port, _ := net.SplitHostPort(web.Addr())
	shown(t, cli.CodeGood, []string{"http://localhost:" + port + "/"}, []string{"* address  127.0.0.1:" + port + ", connection 1, new\n", "* times    dns ", ", connect ", ", wait "})
	shown(t, cli.CodeGood, []string{"noop:"}, []string{"* nothing is sent: a URL with noop only waits, here ", "* result   ok: 0 B out, 0 B in"})
}

// TestTryStream: of an answer in pieces try shows how many events came and when, the tokens, and which goals were met.
func TestTryStream(t *testing.T) {
	const usage = `data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}` + "\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprint(w, `data: {"choices": [{"delta": {"content": "a"}}]}`+"\n\n")
			http.NewResponseController(w).Flush()
		}
		if r.URL.Path == "/usage" {
			fmt.Fprint(w, usage)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer server.Close()
	args := func(path string, more ...string) []string {
		return append([]string{server.URL + path, "--preset", "openai", "-d", `{"stream": true}`, "--goal", "ttft<1h", "--goal", "stream<1ns"}, more...)
	}
	r := tried(t, cli.CodeGood, args("/usage")...).Requests[0]
	s := r.Stream
	if s == nil || s.Events != 3 || s.First <= 0 || s.Last < s.First || s.Last > r.Total || s.Longest < s.Gap || s.Tokens == nil {
		t.Fatalf("%+v", r.Stream)
	}
	if want := (try.Tokens{In: 7, Out: 5, Usage: true}); *s.Tokens != want {
		t.Errorf("%+v, want %+v", *s.Tokens, want)
	}
	if want := []try.Goal{{Goal: "ttft<1h", Met: true}, {Goal: "stream<1ns"}}; !slices.Equal(r.Goals, want) {
		t.Errorf("%+v, want %+v", r.Goals, want)
	}
	shown(t, cli.CodeGood, args("/usage"), []string{"* events   3, first after ", "last after ", " at most\n", "* tokens   in 7, out 5, by the usage of the answer\n", "* goal     ok      ttft<1h\n", "* goal     FAILED  stream<1ns\n", "* result   ok: 200"})
	shown(t, cli.CodeGood, args("/"), []string{"* tokens   out 3, one for each event\n"})
	shown(t, cli.CodeThreshold, args("/", "--stream-limit", "20"), []string{"* events   0\n", "* goal     FAILED  ttft<1h\n", "* result   FAILED: "})
	if r := tried(t, cli.CodeGood, server.URL).Requests[0]; r.Stream != nil || r.Goals != nil {
		t.Errorf("an answer without events: %+v, %+v", r.Stream, r.Goals)
	}
}

// TestTryTLS: TLS is shown with its version, cipher, protocol and certificate, over TCP and over QUIC.
func TestTryTLS(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	authority := certtest.New(t)
	cert, key := authority.Issue("shop.test")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := started(t, arrivals.Options{TLS: &tls.Config{Certificates: []tls.Certificate{pair}}, HTTP3: true})
	_, port, _ := net.SplitHostPort(server.Addr())
	trusted := written(t, t.TempDir(), "ca.pem", authority.PEM)
	url := []string{"https://shop.test:" + port + "/", "--connect-to", "shop.test:" + port + ":" + server.Addr()}
	for version, want := range map[string][2]string{"1.1": {"http/1.1", "HTTP/1.1 200 OK"}, "2": {"h2", "HTTP/2 200"}, "auto": {"h2", "HTTP/2 200"}, "3": {"h3", "HTTP/3 200"}} {
		d := tried(t, cli.CodeGood, append(url, "--cacert", trusted, "--http", version)...)
		h := d.Requests[0].Hops[0]
		if s := h.TLS; s == nil || s.Version != "TLS 1.3" || s.Cipher == "" || s.Protocol != want[0] || s.Server != "shop.test" || s.Subject != "CN=test" || s.Issuer != "CN=test authority" || s.NotAfter.IsZero() || s.Resumed || h.Came.Start != want[1] {
			t.Errorf("--http %s: %+v, %+v", version, h.TLS, h)
		}
		if quic := version == "3"; h.Times.Connect == 0 || quic != (h.Times.TLS == 0) {
			t.Errorf("--http %s: %+v", version, h.Times)
		}
		if version == "auto" {
			refused(t, append([]string{"try", "--http", "auto"}, url...), "cannot ask the server for its version")
			continue
		}
		shown(t, cli.CodeThreshold, append(url, "--http", version), []string{"* address  " + server.Addr(), "* server   CN=test, issued by CN=test authority, until ", "* sent     nothing; it was to be:\n> GET / ", "* result   FAILED: tls: "})
	}
	file := written(t, t.TempDir(), "two.yaml", fmt.Sprintf("flows: {f: [{a: {get: '%[1]s'}}, {b: {get: '%[1]s'}}]}\n", url[0]))
	d := tried(t, cli.CodeGood, "--workload", file, "--no-keep-alive", "--cacert", trusted, url[1], url[2])
	if a, b := d.Requests[0].Hops[0].TLS, d.Requests[1].Hops[0].TLS; a.Resumed || !b.Resumed || b.Subject != "CN=test" {
		t.Errorf("%+v, then %+v", a, b)
	}
	shown(t, cli.CodeGood, append(url, "-k"), []string{"* tls      TLS 1.3, TLS_", ", ALPN http/1.1, server name shop.test, a new session\n* server   CN=test, issued by CN=test authority, until ", " UTC\n> GET / HTTP/1.1\n", ", tls "})
}

// TestTryFlow: the steps of a flow follow each other with what earlier ones took, and each tells its phases and checks.
func TestTryFlow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	file, server := shopping(t, buying)
	stdout, _ := shown(t, cli.CodeGood, []string{"--workload", file, "--flow", "buy", "--row", "2"}, []string{
		"* slot 3, flow buy, row 2 of users\n* step login, 1 of 2\n* address  " + server.Addr() + ", connection 1, new\n> POST /login HTTP/1.1\n",
		`> {"user":"bo","password":"[redacted]"}` + "\n", "< HTTP/1.1 200 OK\n", `< {"token":"[redacted]",`,
		"* times    connect ", "* check    ok      status 200 (found 200)\n", "* check    ok      body has \"token\"\n", "* take     ok      token = [redacted], from json token\n",
		"* secrets  not shown; --show-secrets shows them\n", "* result   ok: 200, ",
		"\n\n* step cart, 2 of 2\n", ", connection 1, used before\n", "> Authorization: [redacted]\n", `> {"user":"bo","item":7}`, "* check    ok      body has \"total\"\n",
	})
	if strings.Contains(stdout, "second-secret") || strings.Contains(stdout, "Bearer") {
		t.Errorf("it shows a secret\n%s", stdout)
	}
	shown(t, cli.CodeGood, []string{"--workload", file, "--ordinal", "1", "--show-secrets"}, []string{
		"row 1 of users", `"password":"first-secret"`, "Set-Cookie: session=", "token = ", "Authorization: Bearer ",
	})
	d := tried(t, cli.CodeGood, "--workload", file, "--flow", "look")
	if d.Flow != "look" || d.Slot != 0 || len(d.Rows) != 0 || len(d.Requests) != 1 || d.Requests[0].Step != "list" {
		t.Errorf("%+v", d)
	}
	d = tried(t, cli.CodeGood, "--workload", file, "--flow", "buy", "--row", "3")
	if r := d.Requests; d.Slot != 5 || d.Rows[0] != (try.Row{Data: "users", Row: 3}) || len(r) != 2 || !r[0].Takes[0].Found || len(r[0].Checks) != 2 || len(r[1].Checks) != 1 || len(r[0].Hidden) != 2 {
		t.Errorf("%+v", d)
	}
}

// TestTryFlowFails: a flow ends with a step that failed, and the steps after it are named.
func TestTryFlowFails(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	for flow, want := range map[string]string{
		"    - login: {post: /login, json: {user: ann}, take: {token: json nothing}}\n    - list: {get: '/items?${token}'}\n": "step login failed: take token: the answer has no json nothing",
		"    - login: {post: /login, json: {user: ann}, check: 'json user = \"bo\"'}\n    - list: {get: /items}\n":            "step login failed: check json user = \"bo\" (found \"ann\")",
		"    - login: {post: /cart, json: {user: ann}}\n    - list: {get: /items}\n":                                          "step login failed: status 401 is not expected",
		"    - login: {get: 'http://127.0.0.1:1/', header: {A: b}}\n    - list: {get: /items}\n":                              "step login failed: connect: dial tcp: connect: connection refused",
	} {
		file, server := shopping(t, "  buy:\n"+flow)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		file = written(t, filepath.Dir(file), "plain.yaml", strings.Replace(string(text), "data: {users: {csv: users.csv}}\n", "", 1))
		_, stderr := shown(t, cli.CodeThreshold, []string{"--workload", file}, []string{"* result   FAILED: ", "\n\n* not sent: list\n"})
		if !strings.HasPrefix(stderr, "error: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q, want %q", stderr, want)
		}
		if d := tried(t, cli.CodeThreshold, "--workload", file); len(d.Requests) != 1 || len(d.NotSent) != 1 || d.Requests[0].OK || d.Requests[0].Class == "" {
			t.Errorf("%+v", d)
		}
		if n := server.Count(); n > 2 {
			t.Errorf("%d requests came", n)
		}
	}
}

// TestTryFollowsConditions asserts that a trial asks until a job is done, and goes on as the answers say.
func TestTryFollowsConditions(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	const flow = "    - create: {post: /jobs, json: {user: '${users.name}'}, take: {job: json id, state: json state}}\n" +
		"    - status: {get: '/jobs/${job}', while: '${state} != \"done\" && ${loop} < %s', after: 1ms, take: {state: json state}}\n" +
		"    - if: ${state} != \"done\"\n      steps: [{fail: not done}]\n      else: [{result: {get: '/jobs/${job}/result'}}]\n    - list: {get: /items}\n"
	steps := func(d try.Done) (names []string) {
		for _, r := range d.Requests {
			names = append(names, r.Step)
		}
		return names
	}
	file, _ := shopping(t, "  buy:\n"+strings.Replace(flow, "%s", "9", 1))
	if d := tried(t, cli.CodeGood, "--workload", file); !slices.Equal(steps(d), []string{"create", "status", "status", "status", "status", "result", "list"}) || len(d.NotSent)+len(d.Bypassed) != 0 {
		t.Errorf("%q, %+v", steps(d), d)
	}
	file, _ = shopping(t, "  buy:\n"+strings.Replace(flow, "%s", "2", 1))
	d := tried(t, cli.CodeThreshold, "--workload", file)
	if !slices.Equal(steps(d), []string{"create", "status", "status"}) || d.Requests[2].Class != "flow not done" || !slices.Equal(d.NotSent, []string{"list"}) || !slices.Equal(d.Bypassed, []string{"result"}) {
		t.Errorf("%q, %+v", steps(d), d)
	}
	_, stderr := shown(t, cli.CodeThreshold, []string{"--workload", file}, []string{"\n\n* not sent: list\n", "* left out by conditions: result\n"})
	if !strings.HasPrefix(stderr, "error: step status failed: flow not done") {
		t.Error(stderr)
	}
}

// TestTryFails: what is wrong is one clear line, the exit code is 99, and what is known is shown.
func TestTryFails(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	web := started(t, arrivals.Options{Status: 503})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1000)
			n, _ := c.Read(b)
			switch path := strings.Fields(string(b[:n]) + " x x")[1]; path {
			case "/reset":
				_ = c.(*net.TCPConn).SetLinger(0)
				_ = c.Close()
			case "/half":
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: blue\r\n\r\nhal\x1b[2Jf"))
				_ = c.Close()
			case "/odd":
				_, _ = c.Write([]byte("what?\n"))
			case "/slow": // never
			default:
				_ = c.Close()
			}
		}
	}()
	odd := "http://" + listener.Addr().String()
	for _, c := range []struct {
		args   []string
		reason string
		says   []string
	}{
		{[]string{"http://127.0.0.1:1/"}, "connect: dial tcp: connect: connection refused; start the server, or check host, port and firewalls\n", []string{"* address  127.0.0.1:1, connection none\n* sent     nothing; it was to be:\n> GET / HTTP/1.1\n"}},
		{[]string{"http://no.invalid/"}, "dns: dial tcp: lookup no.invalid", []string{"* address  not known, connection none\n"}},
		{[]string{odd + "/slow", "--timeout", "500ms"}, "timeout: ", []string{"> GET /slow HTTP/1.1\n", "* times    connect "}},
		{[]string{odd + "/reset"}, "reset: ", []string{"> GET /reset HTTP/1.1\n", "* closed   by the server\n"}},
		{[]string{odd + "/half"}, "eof: ", []string{"< HTTP/1.1 200 OK\n", "< X-A: [redacted]\n", "<\n< hal [2Jf\n", "* closed   by the server\n"}},
		{[]string{odd + "/half", "--show-secrets"}, "eof: ", []string{"< X-A: blue\n", "< hal [2Jf\n"}},
		{[]string{odd + "/odd"}, "protocol: ", []string{"< what?\n"}},
		{[]string{"https://" + web.Addr() + "/"}, "eof: EOF", []string{"* sent     nothing; it was to be:\n"}},
		{[]string{web.URL()}, "status 503 is not expected", []string{"< HTTP/1.1 503 "}},
		{[]string{web.URL(), "--expect", "503", "--check", "body has nothing", "--check", "size > 0B"}, `check body has nothing`, []string{"* check    FAILED  body has nothing\n* check    ok      size > 0B (found 2B)\n"}},
		{[]string{web.URL(), "--expect", "503", "--check", "size > 1kB"}, "check size > 1kB (found 2B)", nil},
		{[]string{"udp://127.0.0.1:1", "-d", "x", "--reply", "any", "--timeout", "200ms"}, "connect: ", nil},
	} {
		stdout, stderr := shown(t, cli.CodeThreshold, c.args, append(c.says, "* result   FAILED: "+strings.SplitN(c.reason, ";", 2)[0]))
		if !strings.HasPrefix(stderr, "error: the request failed: "+c.reason) || strings.Count(stderr, "\n") != 1 || strings.ContainsRune(stdout, '\x1b') {
			t.Errorf("%q: %q\n%s", c.args, stderr, stdout)
		}
	}
}

// TestTryRedirects: each redirect that was followed is shown with its connection, and so is one that was not.
func TestTryRedirects(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b?token=hunter2hunter2", http.StatusFound)
		case "/b":
			http.Redirect(w, r, "/c", http.StatusMovedPermanently)
		}
	}))
	defer server.Close()
	for _, version := range []string{"1.1", "2"} {
		if version == "2" {
			server = httptest.NewUnstartedServer(server.Config.Handler)
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			defer server.Close()
		}
		stdout, _ := shown(t, cli.CodeGood, []string{server.URL + "/a", "--redirects", "2", "--http", version}, []string{
			"> GET /a HTTP/" + version, "< HTTP/" + version + " 302", "ocation: /b?token=redacted\n", "* redirect 1, followed\n* address  ", ", connection 1, used before\n",
			"> GET /b?token=redacted HTTP/" + version, "* redirect 2, followed\n", "> GET /c HTTP/" + version, "< HTTP/" + version + " 200", "* result   ok: 200, ",
		})
		if strings.Contains(stdout, "hunter2") {
			t.Errorf("it shows a secret\n%s", stdout)
		}
		d := tried(t, cli.CodeGood, server.URL+"/a", "--redirects", "2", "--http", version)
		r := d.Requests[0]
		var sum int64
		for _, h := range r.Hops {
			sum += h.Times.Total
		}
		if len(r.Hops) != 3 || sum != r.Total || r.Hops[0].Came.Start == "" {
			t.Errorf("%+v", r)
		}
		_, stderr := shown(t, cli.CodeThreshold, []string{server.URL + "/a", "--redirects", "1", "--http", version}, []string{"* redirect 1, followed\n", "> GET /b"})
		if !strings.Contains(stderr, "the request failed: redirect") {
			t.Errorf("%q", stderr)
		}
	}
}

// TestTrySecrets: secrets of headers, URLs, bodies, data files and --auth are shown only if that is asked for.
func TestTrySecrets(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Tenant", "tenant-7")
		_, _ = fmt.Fprintf(w, `{"echo": %q, "tenant": "tenant-7"}`, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	t.Setenv("TRY_TOKEN", "env-token-secret")
	all := []string{"env-token-secret", "query-secret", "json-secret", "header-secret"}
	args := []string{server.URL + "/?api_key=query-secret&page=3", "-d", `{"password": "json-secret", "n": 1}`, "-H", "X-Own: header-secret", "--auth", "bearer:@env:TRY_TOKEN", "--check", "json tenant = \"tenant-7\""}
	for _, format := range []string{"text", "json"} {
		stdout, stderr, code := execute(append([]string{"try", "-o", format}, args...)...)
		for _, s := range all {
			if code != cli.CodeGood || strings.Contains(stdout+stderr, s) {
				t.Errorf("exit code %d, it shows %s: %s\n%s", code, s, stderr, stdout)
			}
		}
		if !strings.Contains(stdout, "page=3") {
			t.Errorf("%s", stdout)
		}
		stdout, _, _ = execute(append([]string{"try", "-o", format, "--show-secrets"}, args...)...)
		for _, s := range all {
			if !strings.Contains(stdout, s) {
				t.Errorf("it does not show %s\n%s", s, stdout)
			}
		}
		if stdout, stderr, _ := execute(append([]string{"try", "-o", format, "--redact", "tenant"}, args...)...); strings.Contains(stdout[strings.Index(stdout, "HTTP/1.1 200"):], `"tenant-7"}`) {
			t.Errorf("--redact tenant: %s\n%s", stderr, stdout)
		}
	}
}

// TestTryBody: --body-bytes says how much of a body is shown, and a body that is no text is shown in hex, or base64 in JSON.
func TestTryBody(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bytes" {
			_, _ = w.Write([]byte{0, 1, 2, 255})
			return
		}
		_, _ = w.Write([]byte(strings.Repeat("0123456789", 10_000)))
	}))
	defer server.Close()
	for size, want := range map[string]int{"": 2048, "0": 0, "10": 10, "64KiB": 64 << 10} {
		args := []string{server.URL}
		if size != "" {
			args = append(args, "--body-bytes", size)
		}
		if m := tried(t, cli.CodeGood, args...).Requests[0].Hops[0].Came; len(m.Body) != want || !m.Cut || m.Bytes != 100_000 {
			t.Errorf("%s: %d bytes of %d, cut %t", size, len(m.Body), m.Bytes, m.Cut)
		}
	}
	shown(t, cli.CodeGood, []string{server.URL, "--body-bytes", "10"}, []string{"<\n< 0123456789\n* body     10 B of 100 kB; --body-bytes shows more\n"})
	shown(t, cli.CodeGood, []string{server.URL + "/bytes"}, []string{"< 00000000  00 01 02 ff "})
	if m := tried(t, cli.CodeGood, server.URL+"/bytes").Requests[0].Hops[0].Came; m.Body != "AAEC/w==" || !m.Base64 || m.Cut {
		t.Errorf("%+v", m)
	}
}

// TestTryRow: --row and --ordinal choose the slot whose data a run would send.
func TestTryRow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	server := started(t, arrivals.Options{})
	data := written(t, t.TempDir(), "u.csv", "name\na\nb\nc\n")
	for _, pick := range []string{"cycle", "once", "shuffle"} {
		for row, name := range []string{"a", "b", "c"} {
			d := tried(t, cli.CodeGood, server.URL()+"/${u.name}", "--data", data+",pick="+pick, "--row", fmt.Sprint(row+1))
			if got := d.Requests[0].Hops[0].Sent.Start; got != "GET /"+name+" HTTP/1.1" || pick != "shuffle" && d.Slot != uint64(row) {
				t.Errorf("%s: row %d: %s, slot %d", pick, row+1, got, d.Slot)
			}
		}
	}
	if d := tried(t, cli.CodeGood, server.URL()+"/${ordinal}", "--ordinal", "48213"); d.Requests[0].Hops[0].Sent.Start != "GET /48213 HTTP/1.1" || d.Slot != 48213 {
		t.Errorf("%+v", d)
	}
}

// TestTryRefuses: each wrong input is one line that says what to do, and nothing is sent.
func TestTryRefuses(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	file, server := shopping(t, buying)
	url := server.URL()
	data := written(t, t.TempDir(), "u.csv", "name\na\nb\nc\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--url: give what to request"},
		{[]string{"x"}, "url: is not a URL"},
		{[]string{url, url}, "usage: loadctl try"},
		{[]string{url, "--url", url}, "--url: is given twice"},
		{[]string{"ftp://h/"}, "url: there is no target for scheme ftp"},
		{[]string{url, "--qps", "5"}, "unknown flag: --qps"},
		{[]string{url, "--flow", "buy"}, "--flow buy: a URL alone has no flows"},
		{[]string{url, "--flow", ""}, "--flow: give the name of a flow"},
		{[]string{"--workload", file, "--flow", "pay"}, `--flow "pay": there is no such flow; there are look, buy`},
		{[]string{"--workload", file, "--flow", "look", "--ordinal", "1"}, "--ordinal 1: this slot starts the flow buy"},
		{[]string{"--workload", file, "--row", "1"}, "--row 1: no request of the flow look uses a data file"},
		{[]string{"--workload", file, "--flow", "buy", "--row", "4"}, "--row 4: users has 3 rows"},
		{[]string{url, "--row", "1"}, "--row 1: no request uses a data file; choose the slot with --ordinal"},
		{[]string{url, "--row", "0"}, "--row: give a number from 1"},
		{[]string{url, "--row", "-1"}, "--row: give a number from 1"},
		{[]string{url, "--row", "x"}, "--row"},
		{[]string{url, "--ordinal", "-1"}, "--ordinal: give a number from 0"},
		{[]string{"--workload", file, "--row", "1", "--ordinal", "1"}, "--row and --ordinal: both choose the slot"},
		{[]string{url + "/${u.name}", "--data", data + ",pick=once", "--ordinal", "3"}, "--ordinal 3: the run ends with slot 2"},
		{[]string{url, "--body-bytes", "65KiB"}, "--body-bytes: give 0 to 64KiB"},
		{[]string{url, "--body-bytes", "-1"}, "--body-bytes: give 0 to 64KiB"},
		{[]string{url, "--body-bytes", "much"}, "is no number of bytes"},
		{[]string{url, "--redact", " "}, "--redact: give the name"},
		{[]string{url, "-o", "har"}, "--output"},
		{[]string{url, "--check", "boddy has x"}, "check"},
		{[]string{url, "--header", "none"}, "--header"},
		{[]string{url, "--cert", "x"}, "client certificate: give both"},
		{[]string{url, "--cert", "none.pem", "--key", "none.pem"}, "none.pem"},
		{[]string{url, "--cacert", "none.pem"}, "--cacert: open none.pem"},
		{[]string{url, "--auth", "bearer:@none"}, "--auth: "},
		{[]string{url, "--http", "4"}, "http"},
		{[]string{url, "--timeout", "-1s"}, "--timeout"},
		{[]string{url, "--redirects", "99"}, "redirects"},
		{[]string{"--workload", "none.yaml"}, "--workload: open none.yaml"},
		{[]string{"--targets", file, "--workload", file}, "give one of them"},
		{[]string{"grpc://127.0.0.1:1/a.B/C"}, "127.0.0.1:1"},
		{[]string{"https://127.0.0.1:1/", "--http", "auto"}, "cannot ask the server for its version"},
		{[]string{url + "/${no.name}"}, "there is no data file"},
	} {
		refused(t, append([]string{"try"}, c.args...), c.says)
	}
	if n := server.Count(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
