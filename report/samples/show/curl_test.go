package show_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/samples/show"
)

// recorder is a server of HTTP/1.1 that keeps the bytes of each request. Its answers end the connection.
func recorder(t *testing.T) (address string, received <-chan string) {
	t.Helper()
	needsCurl(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	all := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all <- request(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	}()
	return l.Addr().String(), all
}

// needsCurl leaves a test to make test-all.
func needsCurl(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it: it needs curl")
	}
}

// request reads one request with all its bytes.
func request(c net.Conn) string {
	var text strings.Builder
	r := bufio.NewReader(c)
	length := 0
	for {
		line, err := r.ReadString('\n')
		text.WriteString(line)
		if err != nil || line == "\r\n" {
			break
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	body := make([]byte, length)
	_, _ = io.ReadFull(r, body)
	return text.String() + string(body)
}

// nasty are bodies, and values of headers, with what means something to shells, to curl or to printf.
func nasty() []string {
	return []string{
		`{"a":"it's"}`, `"double"`, `!history !! !$`, "two\nlines\n", "\nfirst empty", "nul\x00inside\x00", "grüße, 世界 🌍", `back\slash \n \\ \'`, "$(touch /tmp/x) ${HOME} $HOME",
		"`id`", "@/etc/hostname", "@-", "100 % %s %d %n", "-d --data -X", "tab\there", "cr\r\nlf\r", "\x1b[2J\x07bell", "zero\u200bwidth \u202eturned", "\xff\xfe no UTF-8 \x80",
		"'''", "a & b ; c | d > e < f", "#comment ~ * ? [a-z] {x,y}", " leading and trailing ", "\\", "--\n", strings.Repeat("long'\x01", 2_000),
	}
}

// TestCurlRepeatsTheRequest runs each command with two shells and real curl. The server gets the same bytes: the request line, all
// headers in their order and case, and the body.
func TestCurlRepeatsTheRequest(t *testing.T) {
	address, received := recorder(t)
	for i, text := range nasty() {
		for _, method := range []string{"GET", "POST", "PATCH"} {
			value := strings.TrimSpace(strings.Map(func(r rune) rune {
				if r < ' ' && r != '\t' || r == utf8.RuneError {
					return 'x'
				}
				return r
			}, text))
			target := fmt.Sprintf("/a/../b//c;d?x=%d&y[0]={z}&q='%%20", i)
			m := &samples.Message{Start: method + " " + target + " HTTP/1.1", Body: text, Length: int64(len(text)), Headers: []samples.Header{
				{Name: "Host", Value: "shop.test"}, {Name: "X-Nasty", Value: value[:min(len(value), 5_000)]}, {Name: "x-lower", Value: "1"}, {Name: "X-EMPTY", Value: ""},
				{Name: "X-Nasty", Value: "again"}, {Name: "Content-Length", Value: strconv.Itoa(len(text))}, {Name: "x-Last", Value: "2"},
			}}
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				m.Body, m.Hex = hex.EncodeToString([]byte(text)), true
			}
			want := m.Start + "\r\n"
			for _, h := range m.Headers {
				want += strings.TrimSuffix(h.Name+": "+h.Value, " ") + "\r\n"
			}
			want += "\r\n" + text
			s := samples.Sample{URL: "http://user:pass@" + address + target, Request: m}
			script := rendered(t, "curl", show.Selection{Samples: []samples.Sample{s}})
			shell := []string{"sh", "bash"}[i%2]
			if got := played(t, shell, script, received); got != want {
				t.Errorf("%s, %s of %q:\n%s\n%q, want\n%q", shell, method, text, script, got, want)
			}
		}
	}
}

// played runs a script and returns what the server received.
func played(t *testing.T, shell, script string, received <-chan string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), shell)
	c.Stdin = strings.NewReader(script)
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	return <-received
}

// TestCurlHead: HEAD and GET without a body, and what curl sends if the body was cut or redacted: it counts the length itself.
func TestCurlHead(t *testing.T) {
	address, received := recorder(t)
	for _, c := range []struct {
		message samples.Message
		want    string
		says    string
	}{
		{samples.Message{Start: "HEAD / HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: "x"}}}, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{samples.Message{Start: "GET * HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: "x"}, {Name: "User-Agent", Value: "loadctl"}}}, "GET * HTTP/1.1\r\nHost: x\r\nUser-Agent: loadctl\r\n\r\n", ""},
		{samples.Message{Start: "PUT /ü HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: "x"}, {Name: "Content-Length", Value: "900"}}, Body: "abc", Length: 900, Cut: true},
			"PUT /ü HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "# the body is not whole: it had 900 bytes\n"},
		{samples.Message{Start: "POST / HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: "x"}, {Name: "Content-Length", Value: "9"}}, Body: "p=[redacted]", Length: 9, Secrets: true},
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\np=[redacted]", "# fill in what is [redacted]\n# the body is not as it was sent: it had 9 bytes\n"},
		{samples.Message{Start: "GET / HTTP/1.1", Headers: []samples.Header{{Name: "Host", Value: "x"}, {Name: "@/etc/hostname", Value: "1"}, {Name: "X", Value: "a\r\nEvil: 1"}}},
			"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "# left out, no header of HTTP: @/etc/hostname\n# left out, no header of HTTP: X\n"},
	} {
		script := rendered(t, "curl", show.Selection{Samples: []samples.Sample{{URL: "http://" + address + "/", Request: &c.message}}})
		if got := played(t, "sh", script, received); got != c.want || !strings.Contains(script, c.says) {
			t.Errorf("%s\n%q, want\n%q", script, got, c.want)
		}
	}
}

// TestCurlHTTP2: over HTTP/2 curl sends these headers and no others, with and without TLS.
func TestCurlHTTP2(t *testing.T) {
	needsCurl(t)
	got := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Proto, " ", r.Method, " ", r.Host, r.RequestURI, " ", r.Header, " ", string(body))
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	s := samples.Sample{
		URL:      server.URL + "/a?b=1",
		Request:  &samples.Message{Start: "POST /a?b=1 HTTP/2", Headers: []samples.Header{{Name: ":authority", Value: "ignored"}, {Name: "x-a", Value: "1"}}, Body: "x=1", Length: 3},
		Response: &samples.Message{Start: "HTTP/2 503"},
	}
	script := rendered(t, "curl", show.Selection{Samples: []samples.Sample{s}})
	host := strings.TrimPrefix(server.URL, "http://")
	if received, want := played(t, "sh", script, got), "HTTP/2.0 POST "+host+"/a?b=1 map[X-A:[1]] x=1"; received != want || !strings.Contains(script, " --http2-prior-knowledge ") {
		t.Errorf("%s\n%s\n%s", script, received, want)
	}
	s.URL = "https://shop.test/a?b=1"
	if script := rendered(t, "curl", show.Selection{Samples: []samples.Sample{s}}); !strings.Contains(script, " --http2 ") {
		t.Error(script)
	}
	s.Response.Start = "HTTP/3 200"
	if script := rendered(t, "curl", show.Selection{Samples: []samples.Sample{s}}); !strings.Contains(script, " --http3 ") {
		t.Error(script)
	}
}

// TestCurlOfOtherProtocols: there is a comment in place of a command.
func TestCurlOfOtherProtocols(t *testing.T) {
	for url, want := range map[string]string{
		"grpc://127.0.0.1:9000/shop.Cart/Add": "# curl cannot repeat a request over gRPC (grpcurl can): grpc://127.0.0.1:9000/shop.Cart/Add\n",
		"ws://127.0.0.1:9000/chat":            "# curl cannot repeat a request over WebSocket: ws://127.0.0.1:9000/chat\n",
		"tcp://127.0.0.1:9000":                "# curl cannot repeat a request over tcp: tcp://127.0.0.1:9000\n",
		"redis://127.0.0.1:6379":              "# curl cannot repeat a request over redis: redis://127.0.0.1:6379\n",
		"":                                    "# its URL is not known\n",
	} {
		s := samples.Sample{Ordinal: 1, Worker: "w", URL: url, Request: &samples.Message{Body: "PING"}}
		if got := rendered(t, "curl", show.Selection{Samples: []samples.Sample{s}}); got != "# request 1 of worker w: ok\n"+want {
			t.Errorf("%q: %s", url, got)
		}
	}
}
