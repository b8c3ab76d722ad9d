package rawtest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets"
)

// testRedis: commands, their replies as checks see them, and errors with classes of their own.
func testRedis(t *testing.T, open Open) {
	server := redistest.Start(t)
	client := server.Client()
	for _, c := range []struct {
		command string
		checks  []string
		class   string
	}{
		{"PING", []string{"body has PONG", "size < 5B"}, ""},
		{"SET user:${ordinal} 'a b'", []string{"body has OK"}, ""},
		{"GET user:${ordinal}", []string{`body matches /^a b$/`}, ""},
		{`get "user:${ordinal}"` + "\n", nil, ""},
		{"GET nobody", []string{"size > 0B"}, "check size > 0B"},
		{`SET blob "\x00\xff\r\n"`, nil, ""},
		{"STRLEN blob", []string{"body matches /^4$/"}, ""},
		{"RPUSH list a '' \"c\"", nil, ""},
		{"LRANGE list 0 -1", []string{`body matches /^a\n\nc$/`}, ""},
		{`EVAL "return {1, {2, 'x', {}}, false}" 0`, []string{`body matches /^1\n2\nx\n$/`}, ""},
		{"INCR list", nil, "reply WRONGTYPE"},
		{"NOSUCH", nil, "reply ERR"},
		{`EVAL "return redis.error_reply('SECRETCODE hidden')" 0`, nil, "reply"},
		{`EVAL "return {redis.error_reply('ERR inside')}" 0`, []string{"body has inside"}, ""},
		{"SET json '{\"a\": [1, ${ordinal}]}'", nil, ""},
		{"GET json", []string{"json a.1 = 7"}, ""},
		{"SET long ${uuid}${uuid}", nil, ""},
	} {
		do := open(t, targets.Spec{URL: server.URL(), Body: []byte(c.command), Checks: c.checks, Timeout: patient}, targets.Local{})
		for range 2 {
			if got := do(targets.Call{Number: 7}); got.Class != c.class || got.BytesIn == 0 || got.BytesOut == 0 || got.Status != 0 {
				t.Errorf("%s: %+v, want %q", c.command, got, c.class)
			}
			if c.command[0] == 'R' {
				break // else the list is longer
			}
		}
	}
	if blob := client.Get(t.Context(), "blob").Val(); blob != "\x00\xff\r\n" {
		t.Errorf("%q", blob)
	}
	if long := client.Get(t.Context(), "long").Val(); len(long) != 72 || long[:36] == long[36:] {
		t.Errorf("%q", long)
	}
}

// testLogin: the login of the URL is used, and a wrong one fails each request. Each database is another place.
func testLogin(t *testing.T, open Open) {
	const secret = "s3cr3t"
	server := redistest.Start(t)
	server.SetUser(t, "ann", "on", ">"+secret, "~*", "+@all")
	server.SetUser(t, "bob", "on", ">a\r\n*b", "~*", "+@all") // it looks like the beginning of a command
	ann, bob := "redis://ann:"+secret+"@"+server.Addr(), "redis://bob:a%0D%0A*b@"+server.Addr()
	for _, c := range []struct{ url, command, check, class string }{
		{ann + "/3", "SET k v", "body has OK", ""},
		{ann + "/3", "GET k", "body has v", ""},
		{bob + "/3", "GET k", "body has v", ""},
		{strings.Replace(ann, secret, "wrong", 1), "PING", "body has PONG", "reply WRONGPASS"},
		{ann + "/99", "PING", "body has PONG", "reply ERR"},
	} {
		do := open(t, targets.Spec{URL: c.url, Body: []byte(c.command), Checks: []string{c.check}, Timeout: patient}, targets.Local{})
		for range 2 {
			expect(t, do(targets.Call{}), c.class)
		}
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys in database 0", n)
	}
}

// testSecureRedis: rediss:// checks the certificate, and logs in over TLS.
func testSecureRedis(t *testing.T, open Open) {
	a := certtest.New(t)
	cert, key := a.Issue("localhost")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(a.PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	port := redistest.FreePort(t)
	redistest.Start(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no")
	s := targets.Spec{
		URL: fmt.Sprintf("rediss://localhost:%d/2", port), ConnectTo: []string{"localhost::127.0.0.1:"}, Body: []byte("PING"),
		Checks: []string{"body has PONG"}, CA: a.PEM, Timeout: patient,
	}
	do := open(t, s, targets.Local{})
	for range 2 {
		expect(t, do(targets.Call{}), "")
	}
	s.CA = ""
	expect(t, open(t, s, targets.Local{})(targets.Call{}), targets.ClassTLS)
}

// testHostileRedis: a server that announces more than it sends, or sends without end, costs no memory.
func testHostileRedis(t *testing.T, open Open) {
	for text, class := range map[string]string{
		"*2147483647\r\n":                    targets.ClassEOF,
		"$2147483647\r\nx":                   targets.ClassEOF,
		"$3\r\nabcd\r\n":                     targets.ClassProtocol,
		"$-2\r\n":                            targets.ClassProtocol,
		"+OK\n":                              targets.ClassProtocol,
		"HTTP/1.1 400 Bad Request\r\n\r\n":   targets.ClassProtocol,
		"$9999999999\r\n":                    targets.ClassProtocol,
		"-":                                  targets.ClassEOF,
		"*1\r\n$-1\r\n":                      "",
		"*-1\r\n":                            "",
		"*0\r\n":                             "",
		"$0\r\n\r\n":                         "",
		":5\r\n":                             "",
		strings.Repeat("*1\r\n", 1e6) + ":1": targets.ClassEOF,
		"+" + strings.Repeat("x", 70_000):    targets.ClassBodyLimit,
		"-MOVED 1 h:1\r\n":                   "reply MOVED",
		"-\r\n":                              "reply",
	} {
		at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('G')
			_, _ = c.Write([]byte(text))
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = c.Read(make([]byte, 1))
		})
		got := open(t, targets.Spec{URL: "redis://" + at, Body: []byte("PING"), Timeout: patient}, targets.Local{})(targets.Call{})
		if got.Class != class {
			t.Errorf("%.40q: %+v, want %q", text, got, class)
		}
	}
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		_, _ = c.Write([]byte("*2147483647\r\n"))
		for {
			if _, err := c.Write([]byte(strings.Repeat("$5\r\nabcde\r\n", 1000))); err != nil {
				return
			}
		}
	})
	bounded(t, func() {
		do := open(t, targets.Spec{URL: "redis://" + at, Body: []byte("PING"), Checks: []string{"body has x"}, Timeout: patient}, targets.Local{})
		expect(t, do(targets.Call{}), targets.ClassBodyLimit)
	})
}
