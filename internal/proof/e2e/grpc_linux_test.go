package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// echoes starts a server of loadctl.Echo.
func echoes(t *testing.T) *arrivals.Server {
	t.Helper()
	s, err := arrivals.Start(arrivals.Options{Echo: arrivals.Calls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestGRPCReports: reports have the names of statuses, thresholds judge them, and no output has a secret. A worker that
// joins by name needs no description.
func TestGRPCReports(t *testing.T) {
	nightly(t)
	besides(t)
	s := rpctest.Start(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	b.loadctl(append([]string{"create", "named", "--min-workers", "1"}, append(steadfast(), "--url", s.URL("UnaryCall"), "-d", `{"responseStatus": {"code": 5, "message": "gone"}}`, "-H", "x-key: s3cr3t", "--qps", "200", "--duration", "1s",
		"--expect", "OK,NOT_FOUND", "--threshold", "status{code=NOT_FOUND}:rate>99%")...)...)
	b.worker("named", "--allow-any").judged()
	r := b.audited("named")
	if s.Calls() != 200 || r.StatusCodes["NOT_FOUND"] != 200 || len(r.Errors) > 0 || r.Thresholds[0].Result == "failed" {
		t.Errorf("%d calls, %v, errors %v, %+v", s.Calls(), r.StatusCodes, r.Errors, r.Thresholds)
	}
	b.worker("failing", append(steadfast(), "--url", s.URL("UnaryCall"), "-d", `{"responseStatus": {"code": 8}}`, "-n", "50", "--qps", "200", "--check", "status OK")...).wait(1)
	if r := b.audited("failing"); r.StatusCodes["RESOURCE_EXHAUSTED"] != 50 || r.Errors["check status OK"] != 50 {
		t.Errorf("%v, %v", r.StatusCodes, r.Errors)
	}
	for _, format := range []string{"text", "markdown", "html", "json", "openmetrics"} {
		out, _, _ := b.try("report", "named", "-o", format)
		if strings.Contains(out, "s3cr3t") || !strings.Contains(out, "NOT_FOUND") {
			t.Errorf("%s: %.3000s", format, out)
		}
	}
}

// TestGRPCInAWorkload: a flow may mix calls and requests of HTTP, and give values from one to the other.
func TestGRPCInAWorkload(t *testing.T) {
	nightly(t)
	besides(t)
	b, s := newBed(t), echoes(t)
	text := fmt.Sprintf(`base: %s
rate: 200 requests/s
duration: 2s
header: {X-All: "yes"}
flows:
  mixed:
    - page: {get: /page, check: status 200}
    - say: {send: '%s/loadctl.Echo/Say', json: {text: "id ${ordinal}", number: 7}, header: {x-a: b}, check: 'json number = 7', take: {text: json text}}
    - again: {send: '%s/loadctl.Echo/Repeat', body: '{"text": "${text}", "times": 3}', check: body has "id ", expect: OK}
thresholds: ["errors{step=say}:rate==0%%"]
`, b.web.URL(), s.URL(), s.URL())
	file := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.loadctl("workload", "check", file) // without asking a server
	b.worker("flow", append(steadfast(), "--workload", file)...).judged()
	if page, calls := b.web.Count(), s.Count(); page < 133 || page > 134 || calls != 2*page {
		t.Errorf("%d requests and %d calls arrived", page, calls)
	}
	if r := b.audited("flow"); len(r.Errors) > 0 || len(r.Steps) != 3 || r.StatusCodes["OK"] != 2*r.StatusCodes["200"] {
		t.Errorf("%v, %+v, %+v", r.Errors, r.StatusCodes, r.Steps)
	}
}

// TestUnfitCalls: what cannot be called is a clear error of one line.
func TestUnfitCalls(t *testing.T) {
	nightly(t)
	besides(t)
	b, s := newBed(t), echoes(t)
	say := s.URL() + "/loadctl.Echo/Say"
	for want, args := range map[string][]string{
		`there is no service "a.B"; there is loadctl.Echo`:                             {"--url", s.URL() + "/a.B/C"},
		`service loadctl.Echo has no method "Sing"; it has Say, Repeat, Collect, Talk`: {"--url", s.URL() + "/loadctl.Echo/Sing"},
		`message loadctl.Words has no field "txt" at line 1, column 2; it has text`:    {"--url", say, "-d", `{"txt": "a"}`},
		"connection refused; start the server, or give --proto FILE":                   {"--url", "grpc://127.0.0.1:1/a.B/C"},
		"it speaks HTTP/2, but not gRPC":                                               {"--url", "grpc" + strings.TrimPrefix(b.web.URL(), "http") + "/a.B/C"},
		"--proto: only gRPC needs it":                                                  {"--url", b.web.URL(), "--proto", "x.proto"},
		"--proto-path: give --proto FILE too":                                          {"--url", say, "--proto-path", "."},
		"expect: \"200\" is not a status of gRPC":                                      {"--url", say, "--expect", "200"},
		"reply: /loadctl.Echo/Say takes one message":                                   {"--url", say, "--reply", "any"},
		"http: gRPC needs HTTP/2":                                                      {"--url", say, "--http", "1.1"},
	} {
		p := b.worker("unfit", append(args, "--qps", "10", "--duration", "1s")...)
		p.wait(104)
		if shown := p.Stderr.String(); !strings.Contains(shown, want) || strings.Count(shown, "\n") != 1 {
			t.Errorf("%q: %s, want %s", args, shown, want)
		}
	}
	if n := s.Count(); n > 0 {
		t.Errorf("%d calls arrived", n)
	}
}

// TestGRPCExample: the files of examples/grpc are right.
func TestGRPCExample(t *testing.T) {
	nightly(t)
	besides(t)
	b, s := &bed{t: t, redis: redistest.Start(t)}, echoes(t)
	file, err := filepath.Abs("../../../examples/grpc/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.worker("example", append(steadfast(), "--workload", file, "--proto", filepath.Join(filepath.Dir(file), "echo.proto"), "--duration", "2s",
		"--connect-to", "127.0.0.1:8080:"+s.Addr())...).judged()
	r := b.audited("example")
	if n := s.Count(); n != 400 || len(r.Errors) > 0 || !r.Complete {
		t.Errorf("%d calls arrived, want 400; errors %v, complete %v", n, r.Errors, r.Complete)
	}
}

// nodeServer is a server of the library of gRPC for Node. It says its port, and for each line the number of calls.
const nodeServer = `
const grpc = require("@grpc/grpc-js"), loader = require("@grpc/proto-loader");
const loadctl = grpc.loadPackageDefinition(loader.loadSync(process.argv[2])).loadctl;
let calls = 0;
const server = new grpc.Server();
server.addService(loadctl.Echo.service, {
  Say: (call, answer) => (calls++, answer(null, call.request)),
  Repeat: (call) => { calls++; for (let i = 0; i < call.request.times; i++) call.write(call.request); call.end(); },
  Collect: (call, answer) => { let last, n = 0; call.on("data", (m) => { last = m; n++; }); call.on("end", () => { calls++; answer(null, { ...last, number: n }); }); },
  Talk: (call) => { let first = true; call.on("data", (m) => { if (first) calls++; first = false; call.write(m); }); call.on("end", () => call.end()); },
});
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (err, port) => { if (err) throw err; console.log(port); });
process.stdin.on("data", () => console.log(calls));
`

// TestNodeServer: calls of all kinds to a server of another library, each once.
func TestNodeServer(t *testing.T) {
	nightly(t)
	besides(t)
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "@grpc/grpc-js@1", "@grpc/proto-loader@0.8")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script := filepath.Join(dir, "server.js")
	if err := os.WriteFile(script, []byte(nodeServer), 0o600); err != nil {
		t.Fatal(err)
	}
	proto, err := filepath.Abs("../../../examples/grpc/echo.proto")
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", script, proto)
	ask, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	server, err := child.Start(node, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	said := func() []string { return strings.Fields(server.Stdout.String()) }
	await.True(t, "a port", func() bool { return len(said()) > 0 })
	address := "grpc://127.0.0.1:" + said()[0]
	b := &bed{t: t, redis: redistest.Start(t)}
	sent := int64(0)
	for _, c := range []struct{ method, body, reply, check string }{
		{"Say", `{"text": "a ${ordinal}"}`, "", "body has a "}, {"Repeat", `{"text": "b", "times": 3}`, "", "json text = b"},
		{"Collect", `{"text": "c"}`, "end", "json number = 1"}, {"Talk", `{"text": "d"}`, "end", "json text = d"},
	} {
		b.worker(c.method, append(steadfast(), "--url", address+"/loadctl.Echo/"+c.method, "--proto", proto, "-d", c.body, "--reply", c.reply, "--check", c.check, "--qps", "500", "-n", "300")...).wait(0)
		r := b.audited(c.method)
		if r.StatusCodes["OK"] != 300 || len(r.Errors) > 0 || r.Audit.Sent != 300 {
			t.Errorf("%s: %v, %v, %+v", c.method, r.StatusCodes, r.Errors, r.Audit)
		}
		sent += r.Audit.Sent
	}
	if _, err := fmt.Fprintln(ask); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the count", func() bool { return len(said()) > 1 })
	if n := said()[1]; n != fmt.Sprint(sent) {
		t.Errorf("%s calls arrived, want %d", n, sent)
	}
}
