package client_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loadctl/loadctl/internal/engine/loop"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// A curious Watcher wants every exchange.
type curious struct {
	phases map[targets.Phase][]time.Duration
	gaps   []int64
}

func (c *curious) Worth(*targets.Result) bool  { return true }
func (c *curious) Holds(*targets.Result) int64 { return 0 }
func (c *curious) Phase(p targets.Phase, took int64) {
	c.phases[p] = append(c.phases[p], time.Duration(took))
}

// Gap implements events.Gaps.
func (c *curious) Gap(_ int, ns int64) { c.gaps = append(c.gaps, ns) }

// exchanges sends requests one after the other, over one connection, and returns their results and what was watched.
func exchanges(t *testing.T, spec targets.Spec, requests int, body int) ([]targets.Result, *curious) {
	t.Helper()
	return watch(t, spec, requests, body, pacer.NewClock())
}

// timed is exchanges without messages. at returns when a time of a result was.
func timed(t *testing.T, spec targets.Spec, requests int) (results []targets.Result, watched *curious, at func(ns int64) time.Time) {
	t.Helper()
	clock := pacer.NewClock()
	now, after := clock.Now(), time.Now() // at is never too early
	results, watched = watch(t, spec, requests, -1, clock)
	return results, watched, func(ns int64) time.Time { return after.Add(time.Duration(ns - now)) }
}

// watch is exchanges by a clock.
func watch(t *testing.T, spec targets.Spec, requests int, body int, clock *pacer.Clock) ([]targets.Result, *curious) {
	t.Helper()
	w, err := wire.New(spec, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loop.New(clock, w, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	watcher := &curious{phases: map[targets.Phase][]time.Duration{}}
	c.Watch(watcher, body)
	c.Time(watcher)
	c.Gaps(watcher)
	var all []targets.Result
	for i := range requests {
		for now := c.Now(); !c.Send(now, now, targets.Call{Number: uint64(i)}); now = c.Now() {
			if err := c.Poll(now+int64(time.Millisecond), func(targets.Result) {}); err != nil {
				t.Fatal(err)
			}
		}
		for len(all) <= i {
			if err := c.Poll(c.Now()+int64(time.Second), func(r targets.Result) {
				if r.Events != nil { // the next request has them too
					e := *r.Events
					r.Events = &e
				}
				all = append(all, r)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all, watcher
}

// TestExchangesOfHTTP: over each version a request and its answer are seen as the server sees them, however the answer comes.
func TestExchangesOfHTTP(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", r.Method+" "+r.URL.RequestURI()+" "+string(body))
		if r.URL.Query().Get("n") == "1" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, strings.Repeat("a", 1000))
		if r.URL.Query().Get("n") != "2" {
			http.NewResponseController(w).Flush() // it comes in parts
		}
		_, _ = io.WriteString(w, strings.Repeat("b", 99_000))
	}
	plain, secure := httptest.NewServer(http.HandlerFunc(answer)), httptest.NewTLSServer(http.HandlerFunc(answer))
	defer plain.Close()
	defer secure.Close()
	for name, spec := range map[string]targets.Spec{
		"1.1": {URL: plain.URL}, "1.1 with TLS": {URL: secure.URL, Insecure: true},
		"2": {URL: serve2(t, false, answer), HTTP: "2"}, "2 with TLS": {URL: serve2(t, true, answer), HTTP: "2", Insecure: true},
		"3": {URL: startThree(t, answer, nil).url, HTTP: "3", Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			spec.URL += "/path?n=${ordinal}"
			spec.Headers, spec.Body = []targets.Header{{Name: "X-One", Value: "1"}}, []byte("body ${ordinal}")
			results, watched := exchanges(t, spec, 3, 2000)
			for i, r := range results {
				checkHTTP(t, name, i, r)
			}
			n := len(watched.phases[targets.PhaseConnect])
			if tls := len(watched.phases[targets.PhaseTLS]); n != 1 || tls != map[bool]int{true: 1}[strings.HasSuffix(name, "TLS")] {
				t.Errorf("%d connections, %d handshakes", n, tls)
			}
		})
	}
}

// checkHTTP checks one exchange of TestExchangesOfHTTP.
func checkHTTP(t *testing.T, name string, i int, r targets.Result) {
	t.Helper()
	e, version := r.Exchange, "HTTP/"+strings.Fields(name)[0]
	status := "200"
	if i == 1 {
		status = "500"
	}
	sent := fmt.Sprintf("body %d", i)
	if want := fmt.Sprintf("POST /path?n=%d %s", i, version); e.Sent.Start != want || string(e.Sent.Body) != sent || value(e.Sent.Headers, "x-one") != "1" {
		t.Errorf("request %d: sent %q, %v, %q; want %q", i, e.Sent.Start, e.Sent.Headers, e.Sent.Body, want)
	}
	if !strings.HasPrefix(e.Came.Start, version+" "+status) || value(e.Came.Headers, "x-echo") != fmt.Sprintf("POST /path?n=%d %s", i, sent) {
		t.Errorf("request %d: came %q, %v", i, e.Came.Start, e.Came.Headers)
	}
	if want := strings.Repeat("a", 1000) + strings.Repeat("b", 1000); string(e.Came.Body) != want || e.Came.Length != 100_000 || e.Came.Binary {
		t.Errorf("request %d: a body of %d bytes, %d shown", i, e.Came.Length, len(e.Came.Body))
	}
	if r.First < r.Sent || r.First > r.Done || r.Connection != 1 || r.Reused != (i > 0) || e.Opened == 0 || !strings.HasPrefix(e.Remote, "127.0.0.1:") || e.Error != "" {
		t.Errorf("request %d: %+v, %q opened at %d: %s", i, r, e.Remote, e.Opened, e.Error)
	}
}

// value returns the value of a header.
func value(headers []targets.Header, name string) string {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// TestExchangesOfOthers: the same over the other protocols.
func TestExchangesOfOthers(t *testing.T) {
	rpc, redis := rpctest.Start(t), redistest.Start(t)
	lines := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	datagrams := echotest.Datagrams(t, "127.0.0.1:0", func(b []byte) [][]byte { return [][]byte{append([]byte("> "), b...)} })
	for name, c := range map[string]struct {
		spec       targets.Spec
		sent, came string
	}{
		"tcp":   {targets.Spec{URL: "tcp://" + lines, Body: []byte("line ${ordinal}\n"), Reply: `until \n`}, "line 1\n", "line 1\n"},
		"udp":   {targets.Spec{URL: "udp://" + datagrams, Body: []byte("gram ${ordinal}"), Reply: "any"}, "gram 1", "> gram 1"},
		"redis": {targets.Spec{URL: "redis://" + redis.Addr(), Body: []byte("ECHO number-${ordinal}")}, "*2\r\n$4\r\nECHO\r\n$8\r\nnumber-1\r\n", "$8\r\nnumber-1\r\n"},
		"ws":    {targets.Spec{URL: echoMessages(t, nil), Body: []byte("message ${ordinal}"), Reply: "any"}, "message 1", "message 1"},
		"grpc": {targets.Spec{URL: rpc.URL("UnaryCall"), Body: []byte(`{"responseSize": ${ordinal}}`), Descriptors: rpctest.Descriptors(t)},
			`"responseSize":1`, `"payload":{"type":"COMPRESSABLE","body":"AA=="}`},
	} {
		t.Run(name, func(t *testing.T) {
			results, _ := exchanges(t, c.spec, 2, 2000)
			r := results[1]
			squeeze := strings.NewReplacer(": ", ":", ", ", ",")
			if e := r.Exchange; !strings.Contains(squeeze.Replace(string(e.Sent.Body)), c.sent) || !strings.Contains(squeeze.Replace(string(e.Came.Body)), c.came) || e.Error != "" {
				t.Errorf("sent %q, came %q, %s", e.Sent.Body, e.Came.Body, e.Error)
			}
			if r.First < r.Sent || r.First > r.Done || r.Connection != 1 || !r.Reused {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestExchangesOfFailures: a request that failed has what was sent, what came until then, and why.
func TestExchangesOfFailures(t *testing.T) {
	cut := echotest.Listen(t, "127.0.0.1:0", answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"))
	broken := echotest.Listen(t, "127.0.0.1:0", answer("SSH-2.0-OpenSSH_9.6\r\n"))
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	wrong := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok": false}`) })
	hangUp := echoMessages(t, func(c *websocket.Conn, _ *http.Request) { c.Close(websocket.StatusInternalError, "x") })
	for name, c := range map[string]struct {
		spec               targets.Spec
		class, came, fault string
	}{
		"eof":      {targets.Spec{URL: "http://" + cut}, targets.ClassEOF, "only this", "unexpected EOF"},
		"protocol": {targets.Spec{URL: "http://" + broken}, targets.ClassProtocol, "SSH-2.0-OpenSSH_9.6\r\n", "the answer is not of HTTP/1"},
		"timeout":  {targets.Spec{URL: slow.URL, Timeout: 300 * time.Millisecond}, targets.ClassTimeout, "half", "i/o timeout"},
		"check":    {targets.Spec{URL: wrong.URL, Checks: []string{"json ok = true", "status 200"}}, "check json ok = true", `{"ok": false}`, ""},
		"connect":  {targets.Spec{URL: "http://127.0.0.1:1"}, targets.ClassConnect, "", "connection refused"},
		"closed":   {targets.Spec{URL: hangUp, Body: []byte("x"), Reply: "any"}, "closed 1011", "", "the server closed the connection with 1011"},
	} {
		t.Run(name, func(t *testing.T) {
			results, watched := exchanges(t, c.spec, 1, 2000)
			r := results[0]
			e := r.Exchange
			if r.Outcome.Class != c.class || name != "closed" && string(e.Came.Body) != c.came || !strings.Contains(e.Error, c.fault) || len(e.Sent.Body)+len(e.Sent.Start) == 0 {
				t.Errorf("%s: sent %q, came %q, %q", r.Outcome.Class, e.Sent.Start, e.Came.Body, e.Error)
			}
			if closed := len(watched.phases[targets.PhaseClosed]); closed != map[string]int{"eof": 1, "closed": 1}[name] {
				t.Errorf("the server closed %d connections", closed)
			}
			if name == "check" && (len(e.Checks) != 2 || e.Checks[0].Passed || e.Checks[0].Got != "false" || !e.Checks[1].Passed || e.Checks[1].Got != "200") {
				t.Errorf("%+v", e.Checks)
			}
		})
	}
}

// TestPhases: each phase takes at least as long as the server delays it, and the others are not counted in it.
func TestPhases(t *testing.T) {
	const delay = 50 * time.Millisecond
	handle := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(delay)
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		time.Sleep(2 * delay)
		_, _ = io.WriteString(w, "end")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(handle))
	server.Listener = slowTLS{server.Listener, 3 * delay}
	server.StartTLS()
	defer server.Close()
	results, watched := exchanges(t, targets.Spec{URL: server.URL, Insecure: true}, 2, -1)
	for i, r := range results {
		opening := time.Duration(0)
		if i == 0 {
			opening = 3 * delay
		}
		first, rest := time.Duration(r.First-r.Sent), time.Duration(r.Done-r.First)
		// A busy client notices a byte late: then the rest is short, but the whole never is.
		if first < opening+delay || first+rest < opening+3*delay || await.Acceptance() && rest < 2*delay || rest < 0 || r.Exchange != nil {
			t.Errorf("request %d: the first byte after %v, the rest after %v", i, first, rest)
		}
	}
	// A busy client notices late that it is connected: then the handshake is short, but both together never are.
	connect, tls := watched.phases[targets.PhaseConnect], watched.phases[targets.PhaseTLS]
	if len(connect) != 1 || len(tls) != 1 || tls[0] <= 0 || connect[0]+tls[0] < 3*delay || await.Acceptance() && tls[0] < 3*delay {
		t.Errorf("connected after %v, handshakes of %v", connect, tls)
	}
	if known := slices.Sorted(maps.Keys(watched.phases)); !slices.Equal(known, []targets.Phase{targets.PhaseConnect, targets.PhaseTLS}) {
		t.Errorf("phases %v", known)
	}
}

// slowTLS delays the first byte of each connection.
type slowTLS struct {
	net.Listener
	delay time.Duration
}

func (l slowTLS) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &slowConn{Conn: c, delay: l.delay}, nil
}

// A slowConn waits before its first read.
type slowConn struct {
	net.Conn
	delay time.Duration
}

func (c *slowConn) Read(b []byte) (int, error) {
	time.Sleep(c.delay)
	c.delay = 0
	return c.Conn.Read(b)
}

// TestExchangeOfARefusedHandshake: of a server that opens no WebSocket the handshake and its status are seen, and no message.
func TestExchangeOfARefusedHandshake(t *testing.T) {
	url := serve(t, http.NotFound).URL
	results, _ := exchanges(t, targets.Spec{URL: "ws" + strings.TrimPrefix(url, "http") + "/chat", Body: []byte("hello"), Reply: "any"}, 1, 2000)
	if e := results[0].Exchange; e.Sent.Start != "GET /chat HTTP/1.1" || len(e.Sent.Body) > 0 || value(e.Sent.Headers, "Upgrade") != "websocket" || e.Came.Start != "HTTP/1.1 404 Not Found" {
		t.Errorf("%+v", e)
	}
}
