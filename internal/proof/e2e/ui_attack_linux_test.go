package e2e

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestUIRefusesForeignOrigins: no page of another server gives commands, though browsers may send the cookie along.
func TestUIRefusesForeignOrigins(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	v := b.ui("--control").viewer()
	for name, change := range map[string]func(http.Header){
		"another host":              func(h http.Header) { h.Set("Origin", "http://attacker.example") },
		"another port of this host": func(h http.Header) { h.Set("Origin", "http://127.0.0.1:1") },
		"no origin":                 func(h http.Header) { h.Set("Origin", "null") },
		"by metadata, cross-site":   func(h http.Header) { h.Set("Sec-Fetch-Site", "cross-site") },
		"by metadata, same-site":    func(h http.Header) { h.Set("Sec-Fetch-Site", "same-site") },
	} {
		a := v.do("POST", "/api/v1/runs/x/pause", `{}`, func(r *http.Request) { change(r.Header) })
		if a.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	if s := b.status("x"); s.Phase != "running" {
		t.Errorf("the run is %s", s.Phase)
	}
	own := func(r *http.Request) {
		r.Header.Set("Origin", v.ui.base)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if a := v.do("POST", "/api/v1/runs/x/pause", `{}`, own); a.status != http.StatusOK {
		t.Errorf("the page itself: %d %s", a.status, a.text)
	}
	if cors := v.get("/api/v1/runs").header; cors.Get("Access-Control-Allow-Origin") != "" || cors.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("others may read the answers: %v", cors)
	}
}

// TestUIRefusesOtherHosts: a name of an attacker that points to this machine (DNS rebinding) gets nothing.
func TestUIRefusesOtherHosts(t *testing.T) {
	nightly(t)
	t.Parallel()
	v := newBed(t).ui("--control", "--allow-host", "load.example").viewer()
	_, port, _ := net.SplitHostPort(v.ui.address())
	for host, want := range map[string]int{
		"attacker.example": 403, "attacker.example:" + port: 403, "127.0.0.1.attacker.example:" + port: 403, "10.0.0.1:" + port: 403, "localhost.attacker.example": 403,
		"": 403, "[::2]:" + port: 403, "127.0.0.1:" + port: 200, "localhost:" + port: 200, "LOCALHOST:1": 200, "load.example": 200, "load.example:" + port: 200, "[::1]:" + port: 200,
	} {
		for _, path := range []string{"/", "/api/v1/runs", "/web/uPlot.iife.min.js"} {
			got := raw(t, v.ui.address(), "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nCookie: "+v.cookie.Name+"="+v.cookie.Value+"\r\nConnection: close\r\n\r\n")
			if got != want {
				t.Errorf("Host %q, %s: %d, want %d", host, path, got, want)
			}
		}
		if got := raw(t, v.ui.address(), "GET /login?token=x HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); want == 403 && got != 403 {
			t.Errorf("Host %q may try tokens: %d", host, got)
		}
	}
}

// raw sends bytes, and returns the status of the answer.
func raw(t *testing.T, address, request string) int {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if end, ok := t.Deadline(); ok {
		if err := c.SetDeadline(end.Add(-20 * time.Second)); err != nil { // as package await
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatalf("%.100q: %v", request, err)
	}
	status, err := strconv.Atoi(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// TestUINeedsALogin: without a session, or with a forged one, nothing is shown but how to log in.
func TestUINeedsALogin(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.loadctl("create", "hidden-run", "--url", b.web.URL(), "--qps", "1")
	u := b.ui("--control")
	good := u.viewer().cookie
	other := b.ui().viewer().cookie
	end := strings.LastIndexByte(good.Value, '.')
	longer := strconv.FormatInt(time.Now().Add(9000*time.Hour).Unix(), 10) + good.Value[strings.IndexByte(good.Value, '.'):]
	for name, c := range map[string]*http.Cookie{
		"none": nil, "of another server": other, "of another server, renamed": {Name: good.Name, Value: other.Value}, "empty": {Name: good.Name, Value: ""},
		"without a signature": {Name: good.Name, Value: good.Value[:end+1]}, "longer": {Name: good.Name, Value: longer}, "without dots": {Name: good.Name, Value: "x"},
		"changed": {Name: good.Name, Value: good.Value[:end-1] + "~" + good.Value[end:]},
	} {
		v := &viewer{t: t, ui: u, cookie: c}
		for _, path := range []string{"/", "/web/uPlot.iife.min.js", "/api/v1/runs", "/api/v1/runs/hidden-run", "/api/v1/runs/hidden-run/live", "/api/v1/runs/hidden-run/report", "/api/v1/runs/hidden-run/workers", "/api/v1/runs/hidden-run/samples", "/api/v1/archives/x", "/api/v1/archives/x/samples", "/api/v1/compare?base=run:hidden-run&other=run:hidden-run"} {
			if a := v.get(path); a.status != http.StatusUnauthorized || strings.Contains(a.text, "hidden-run") || !strings.Contains(a.text, "loadctl ui prints") {
				t.Errorf("cookie %s, %s: %d %s", name, path, a.status, a.text)
			}
		}
		if a := v.do("POST", "/api/v1/runs/hidden-run/stop", `{}`, nil); a.status != http.StatusUnauthorized {
			t.Errorf("cookie %s, a stop: %d %s", name, a.status, a.text)
		}
	}
	for _, query := range []string{"", "?token=", "?token=x", "?token=" + url.QueryEscape(strings.Repeat("A", 43)), "?token[]=x"} {
		if a := (&viewer{t: t, ui: u}).get("/login" + query); a.status != http.StatusUnauthorized || len(a.cookies) > 0 {
			t.Errorf("/login%s: %d, %d cookies", query, a.status, len(a.cookies))
		}
	}
}

// TestUITokenWorksOnce: an address that logs in does so for one browser. The next browser gets another one.
func TestUITokenWorksOnce(t *testing.T) {
	nightly(t)
	t.Parallel()
	u := newBed(t).ui()
	address := strings.TrimPrefix(u.login(), u.base)
	if a := (&viewer{t: t, ui: u}).do("HEAD", address, "", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", a.status) // programs that look at links before people do
	}
	v := u.viewer()
	if a := (&viewer{t: t, ui: u}).get(address); a.status != http.StatusUnauthorized || len(a.cookies) > 0 {
		t.Errorf("a second time: %d, %d cookies", a.status, len(a.cookies))
	}
	if a := v.get(address); a.status != http.StatusSeeOther || len(a.cookies) > 0 {
		t.Errorf("a second time in the browser that is logged in: %d, %d cookies", a.status, len(a.cookies))
	}
	c := v.cookie
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Errorf("the cookie: %+v", c)
	}
	u.viewer()
}

// TestUIRefusesForms: a form of another page can send neither JSON nor a header, so it gives no commands. This holds for
// browsers too that do not say where a request comes from.
func TestUIRefusesForms(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	v := b.ui("--control").viewer()
	for kind, body := range map[string]string{
		"application/x-www-form-urlencoded": `{"rate":"1","x":"="}`, "text/plain": `{"rate":"1"}`, "text/plain; application/json": `{"rate":"1"}`,
		"multipart/form-data; boundary=x": `{"rate":"1"}`, "": `{"rate":"1"}`, "application/jsonp": `{"rate":"1"}`,
	} {
		a := v.do("POST", "/api/v1/runs/x/rate", body, func(r *http.Request) { r.Header["Content-Type"] = []string{kind} })
		if a.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", kind, a.status, a.text)
		}
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		if a := v.do(method, "/api/v1/runs/x/pause", "", nil); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" {
			t.Errorf("%s of a command: %d, allowed %q", method, a.status, a.header.Get("Allow"))
		}
	}
	if a := v.do("POST", "/api/v1/runs", `{}`, nil); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET" {
		t.Errorf("POST of the list: %d", a.status)
	}
	if s := b.status("x"); s.Phase != "running" || s.Rate != 100 {
		t.Errorf("the run is %s at %v", s.Phase, s.Rate)
	}
}

// TestUIPathsGoDown: no path leaves the files of the page.
func TestUIPathsGoDown(t *testing.T) {
	nightly(t)
	t.Parallel()
	v := newBed(t).ui().viewer()
	for _, path := range []string{
		"/web/../server.go", "/web/%2e%2e/server.go", "/web/..%2fserver.go", "/web/%2e%2e%2f%2e%2e%2fetc/passwd", "/../../etc/passwd", "/web//etc/passwd", "//etc/passwd",
		`/web/..\..\etc\passwd`, "/web/%5c..%5cetc", "/web/.", "/web/", "/web", "/web/none.js", "/web/dom.js%00.html", "/web/%00", "/web/dom.js/", "/api/v1/../v1/runs",
		"/api/v1/runs/%2e%2e", "/api/v1/runs/..%2f..", "/api/v1/archives/..%2f..%2fetc%2fpasswd", "/api/v1/archives/%2fetc%2fpasswd", "/api/v2/runs", "/debug/pprof/", "/index.html",
		"/api/v1/runs/%7Bload:x%7D", "/api/v1/runs/" + strings.Repeat("a", 65), "/api/v1/runs/x%0d%0aSet-Cookie:%20a=b",
	} {
		got := raw(t, v.ui.address(), "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nCookie: "+v.cookie.Name+"="+v.cookie.Value+"\r\nConnection: close\r\n\r\n")
		if got != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got)
		}
	}
}

// TestUIBodiesAreSmall: large bodies and heads, and those that never end, are refused soon.
func TestUIBodiesAreSmall(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	v := b.ui("--control").viewer()
	large := `{"rate":"` + strings.Repeat("1", 5000) + `"}`
	if a := v.do("POST", "/api/v1/runs/x/rate", large, nil); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("5 kB: %d %s", a.status, a.text)
	}
	session := "Host: localhost\r\nCookie: " + v.cookie.Name + "=" + v.cookie.Value + "\r\nContent-Type: application/json\r\n"
	endless := "Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n" + large
	if got := raw(t, v.ui.address(), "POST /api/v1/runs/x/rate HTTP/1.1\r\n"+session+endless); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without an end: %d", got)
	}
	head := "GET /api/v1/runs HTTP/1.1\r\n" + session + "X: " + strings.Repeat("x", 36_900) + "\r\n\r\n"
	if got := raw(t, v.ui.address(), head); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large head: %d", got)
	}
	begin := time.Now()
	if got := raw(t, v.ui.address(), "POST /api/v1/runs/x/rate HTTP/1.1\r\n"+session+"Content-Length: 100\r\n\r\n{"); got != http.StatusBadRequest {
		t.Errorf("a body that does not come: %d", got)
	}
	if took := time.Since(begin); acceptance() && took > 20*time.Second {
		t.Errorf("a body that does not come was awaited for %v", took)
	}
	if s := b.status("x"); s.Rate != 100 {
		t.Errorf("the rate is %v", s.Rate)
	}
}

// TestUIRefusesSmuggling: requests that a proxy may read differently are refused, and so are two hosts. A head that does
// not end is given up.
func TestUIRefusesSmuggling(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	v := b.ui("--control").viewer()
	session := "Host: localhost\r\nConnection: close\r\nCookie: " + v.cookie.Name + "=" + v.cookie.Value + "\r\nContent-Type: application/json\r\n"
	const post, body = "POST /api/v1/runs/x/rate HTTP/1.1\r\n", `{"rate":"1"}`
	for name, attack := range map[string]struct {
		request string
		status  int
	}{
		"two lengths":            {post + session + "Content-Length: 12\r\nContent-Length: 0\r\n\r\n" + body, 400},
		"a length with a sign":   {post + session + "Content-Length: +12\r\n\r\n" + body, 400},
		"an unknown encoding":    {post + session + "Transfer-Encoding: chunked, identity\r\n\r\n" + body, 501},
		"a space in a name":      {post + session + "Content-Length : 12\r\n\r\n" + body, 400},
		"two hosts":              {"GET / HTTP/1.1\r\nHost: attacker.example\r\n" + session + "\r\n", 400},
		"no host":                {"GET / HTTP/1.1\r\n\r\n", 400},
		"a host in the address":  {"GET http://attacker.example/ HTTP/1.1\r\n" + session + "\r\n", 403},
		"a user in the host":     {"GET / HTTP/1.1\r\nHost: localhost@attacker.example\r\n\r\n", 400},
		"a tunnel":               {"CONNECT attacker.example:80 HTTP/1.1\r\n" + session + "\r\n", 403},
		"a name of the proxy":    {"GET / HTTP/1.1\r\nHost: attacker.example\r\nX-Forwarded-Host: localhost\r\n\r\n", 403},
		"another method by name": {"GET /api/v1/runs/x/pause HTTP/1.1\r\nX-HTTP-Method-Override: POST\r\n" + session + "\r\n", 405},
	} {
		if got := raw(t, v.ui.address(), attack.request); got != attack.status {
			t.Errorf("%s: %d, want %d", name, got, attack.status)
		}
	}
	c, err := net.Dial("tcp", v.ui.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began, head, next := time.Now(), "GET / HTTP/1.1\r\n", time.Time{}
	await.True(t, "the end of a connection whose head does not end", func() bool {
		if time.Now().Before(next) {
			return false
		}
		_, err := io.WriteString(c, head)
		head, next = "X: y\r\n", time.Now().Add(500*time.Millisecond) // slower than any network, and never done
		return err != nil
	})
	if took := time.Since(began); took < 3*time.Second || acceptance() && took > 15*time.Second {
		t.Errorf("a head that does not end was awaited for %v", took)
	}
	if s := b.status("x"); s.Rate != 100 || s.Phase != "running" {
		t.Errorf("the run is %s at %v", s.Phase, s.Rate)
	}
}

// TestUISlowPages: a thousand pages that do not read cost little memory, and another page gets its frames: on a quiet
// machine in time.
func TestUISlowPages(t *testing.T) {
	nightly(t)
	b := newBed(t)
	b.going("x")
	for i := range 500 { // events make frames large
		values := []string{"t", strconv.FormatInt(time.Now().UnixMicro(), 10), "kind", "join", "who", fmt.Sprint("worker-", i), "what", strings.Repeat("x", 200)}
		if err := b.redis.Client().XAdd(t.Context(), &redis.XAddArgs{Stream: run.KeysOf("x").Events, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	u := b.ui()
	v := u.viewer()
	good := v.follow("x")
	whole := good.next("frame")
	before := u.memory()
	for range 1000 {
		v.deaf("x")
	}
	begin, frames := time.Now(), 0
	for last := begin; frames < 12 || acceptance() && time.Since(begin) < 15*time.Second; frames++ {
		good.frame()
		if gap := time.Since(last); acceptance() && gap > 3*time.Second {
			t.Errorf("a good page waited %v for a frame", gap)
		}
		last = time.Now()
	}
	if took := time.Since(begin); acceptance() && took > time.Duration(frames)*15*time.Second/12 {
		t.Errorf("a good page had %d frames in %v", frames, took)
	}
	grown := u.memory() - before
	t.Logf("frames of %d bytes; 1,000 pages that do not read: %d MB more, %d frames for a good one", len(whole), grown>>20, frames)
	if grown > 150<<20 {
		t.Errorf("1,000 pages that do not read cost %d MB", grown>>20)
	}
}

// deaf opens the stream of a run, and reads nothing of it.
func (v *viewer) deaf(name string) {
	v.t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		return cmp.Or(failed, err)
	}}
	c, err := d.DialContext(v.t.Context(), "tcp", v.ui.address())
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "GET /api/v1/runs/%s/live HTTP/1.1\r\nHost: localhost\r\nCookie: %s=%s\r\n\r\n", name, v.cookie.Name, v.cookie.Value); err != nil {
		v.t.Fatal(err)
	}
}

// memory returns the resident memory of the server, in bytes.
func (u *liveUI) memory() int64 {
	u.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", u.Cmd.Process.Pid))
	if err != nil {
		u.t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		u.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestUINamesAreText: scripts in names, and control characters, arrive as text, and no answer is taken for HTML.
func TestUINamesAreText(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	const script = "</script><img src=x onerror=alert(1)>"
	b.worker("x", "--url", b.web.URL()+"/"+url.PathEscape(script), "--qps", "50", "--duration", "3s")
	await.True(t, "the run", func() bool { return b.read("x").Phase != "" })
	v := b.ui("--control").viewer()
	v.follow("x").next("end")
	b.spoil("x")
	if err := b.redis.Client().ZAdd(t.Context(), "load:runs", redis.Z{Member: script}, redis.Z{Member: steering}).Err(); err != nil {
		t.Fatal(err)
	}
	v = b.ui("--control").viewer() // another one, which has no frame yet
	for _, path := range []string{
		"/api/v1/runs", "/api/v1/runs/x", "/api/v1/runs/x/workers", "/api/v1/runs/x/report", "/api/v1/runs/x/samples?class=" + url.QueryEscape(script), "/api/v1/runs/x/samples?slowest=" + url.QueryEscape(script), "/api/v1/runs/" + url.PathEscape(script), "/api/v1/archives/" + url.PathEscape(script),
		"/api/v1/compare?base=run:" + url.QueryEscape(script) + "&other=x", "/" + url.PathEscape(script), "/login?token=" + url.QueryEscape(script), "/api/v1/runs/x/report?format=" + url.QueryEscape(script),
	} {
		a := v.get(path)
		unsteered(t, path, a.text)
		if kind := a.header.Get("Content-Type"); kind != "application/json" && a.status != http.StatusSeeOther || !strings.Contains(path, "/x/report") && strings.ContainsAny(a.text, "<>") {
			t.Errorf("%s: %d, type %s: %.2000s", path, a.status, kind, a.text)
		}
		if a.status != http.StatusSeeOther && !json.Valid([]byte(a.text)) {
			t.Errorf("%s: no JSON: %.500s", path, a.text)
		}
	}
	for _, path := range []string{"/api/v1/runs/x/workers/" + url.PathEscape(script) + "/remove", "/api/v1/runs/x/rate"} {
		a := v.do("POST", path, `{"rate":"<b>\u001b[31m"}`, nil)
		if unsteered(t, path, a.text); a.status == 200 || strings.ContainsAny(a.text, "<>") || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	if a := v.get("/api/v1/runs/x/report?format=html"); a.status == 200 && (a.header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment")) {
		t.Errorf("a report as HTML would be shown beside the page: %v", a.header)
	}
}

// TestUIListensSafely: an address that others can reach needs TLS, or somebody who says that it is fine.
func TestUIListensSafely(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	cert, key := certificate(t)
	for _, args := range [][]string{
		{"--listen", ":0"}, {"--listen", "0.0.0.0:0"}, {"--listen", "[::]:0"}, {"--listen", "192.0.2.1:8089"}, {"--listen", "example.com:8089"},
		{"--listen", "127.0.0.1"}, {"--listen", "x"}, {"--tls-cert", cert}, {"--tls-key", key}, {"--tls-cert", "none", "--tls-key", "none"}, {"--tls-cert", key, "--tls-key", cert},
		{"--allow-host", "a:8089"}, {"--allow-host", ""}, {"--allow-host", "http://a"}, {"--metrics-token-file", "none"}, {"none.loadctl"}, {"--redis", "http://127.0.0.1"},
	} {
		out, stderr, code := b.try(append([]string{"ui"}, args...)...)
		if code != 104 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, stderr)
		}
	}
	u := b.ui("--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(u.base, "https://") {
		t.Errorf("the page is at %s", u.base)
	}
	res, err := tlsClient(t, cert).Get(u.login())
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if c := res.Cookies(); len(c) != 1 || !c[0].Secure || res.TLS.Version < 0x0303 {
		t.Errorf("cookies %v", c)
	}
}

// TestUIReadsOnly: without --control the page changes nothing.
func TestUIReadsOnly(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	b.going("x")
	b.loadctl("create", "waiting", "--url", b.web.URL(), "--qps", "1")
	v := b.ui().viewer()
	for _, path := range []string{"x/rate", "x/pause", "x/resume", "x/stop", "waiting/start", "x/workers/w/remove", "none/stop"} {
		a := v.do("POST", "/api/v1/runs/"+path, `{"rate":"1"}`, nil)
		if a.status != http.StatusForbidden || !strings.Contains(a.text, "start loadctl ui with --control") {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	if s, w := b.status("x"), b.status("waiting"); s.Phase != "running" || s.Rate != 100 || w.Phase != "waiting" {
		t.Errorf("the runs are %s at %v, and %s", s.Phase, s.Rate, w.Phase)
	}
	var frame ui.Frame
	if v.read("/api/v1/runs/x", &frame); frame.Control {
		t.Error("the page believes that it may give commands")
	}
}

// TestUIShowsNoSecrets: no answer has values of headers, bodies, logins of URLs, or the password of Redis.
func TestUIShowsNoSecrets(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	if err := b.redis.Client().Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">redis-s3cr3t", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	b.as = "reader:redis-s3cr3t"
	secrets := []string{"redis-s3cr3t", "header-s3cr3t", "body-s3cr3t", "user-s3cr3t", "password-s3cr3t"}
	b.worker("x", "--url", strings.Replace(b.web.URL(), "://", "://user-s3cr3t:password-s3cr3t@", 1), "-m", "POST", "-H", "Authorization: Bearer header-s3cr3t", "-d", "password=body-s3cr3t", "--qps", "50")
	await.True(t, "the run", func() bool { return b.read("x").Phase != "" })
	u := b.ui("--control")
	v := u.viewer()
	f := v.follow("x")
	f.until("answers", func(f ui.Frame) bool { return f.Report.Audit.Completed+f.Report.Audit.Failed > 0 })
	var texts []string
	paths := []string{"/api/v1/runs", "/api/v1/runs/x", "/api/v1/runs/x/workers", "/api/v1/runs/x/report?format=json", "/api/v1/runs/x/report?format=html", "/api/v1/runs/x/report?format=text", "/api/v1/compare?base=run:x&other=run:x&force=1"}
	for _, path := range paths {
		texts = append(texts, v.get(path).text)
	}
	texts = append(texts, string(f.next("frame")), v.do("POST", "/api/v1/runs/x/rate", `{"rate":"60"}`, nil).text)
	b.redis.Kill()
	texts = append(texts, string(f.next("trouble")))
	fresh := b.ui("--control")
	v = fresh.viewer()
	for _, path := range append(paths, "/api/v1/runs/y") {
		texts = append(texts, v.get(path).text)
	}
	texts = append(texts, v.do("POST", "/api/v1/runs/x/stop", `{}`, nil).text, u.Stdout.String(), u.Stderr.String(), fresh.Stdout.String(), fresh.Stderr.String())
	for i, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("answer %d shows %s: %.2000s", i, secret, text)
			}
		}
	}
	if info, err := os.Stat(u.key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key of sessions: %v, %v", info.Mode(), err)
	}
	loose := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(loose, []byte(strings.Repeat("k", 64)), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := b.uiAt("127.0.0.1:0", loose); !strings.Contains(p.Stderr.String(), "others can read") {
		t.Errorf("a key that others can read was used: %s", p.Stderr.String())
	}
}

// certificate writes a certificate for 127.0.0.1, which is its own authority, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // only to get its certificate
	s.Close()
	pair := s.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", secret)
}

// tlsClient trusts a certificate.
func tlsClient(t *testing.T, cert string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c := client()
	c.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
	return c
}
