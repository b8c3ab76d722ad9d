package targets

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/targets/template"
)

func TestRedis(t *testing.T) {
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
		target := open(t, Spec{URL: server.URL(), Body: []byte(c.command), Checks: c.checks}, Local{})
		for range 2 {
			if got := target.Do(t.Context(), Call{Number: 7}); got.Class != c.class || got.BytesIn == 0 || got.BytesOut == 0 || got.Status != 0 {
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

// TestRedisLogin: the login of the URL is used, never shown, and a wrong one fails each request. Each database is
// another place.
func TestRedisLogin(t *testing.T) {
	server := redistest.Start(t)
	server.SetUser(t, "ann", "on", ">"+secret, "~*", "+@all")
	url := "redis://ann:" + secret + "@" + server.Addr()
	do(t, open(t, Spec{URL: url + "/3", Body: []byte("SET k v")}, Local{}), 0, "")
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys in database 0", n)
	}
	do(t, open(t, Spec{URL: url + "/3", Body: []byte("GET k"), Checks: []string{"body has v"}}, Local{}), 0, "")
	server.SetUser(t, "bob", "on", ">a\r\n*b", "~*", "+@all") // it looks like the beginning of a command
	do(t, open(t, Spec{URL: "redis://bob:a%0D%0A*b@" + server.Addr() + "/3", Body: []byte("GET k"), Checks: []string{"body has v"}, Timeout: 30 * time.Second}, Local{}), 0, "")
	do(t, open(t, Spec{URL: strings.Replace(url, secret, "wrong", 1), Body: []byte("PING")}, Local{}), 0, "reply WRONGPASS")
	do(t, open(t, Spec{URL: url + "/99", Body: []byte("PING")}, Local{}), 0, "reply ERR")
	s := Spec{URL: url + "/3", Body: []byte("SET k " + secret)}
	shown, err := json.Marshal(s.Redacted())
	method, request := s.Request()
	examples, err2 := s.Examples(1, nil, time.Now())
	text := fmt.Sprint(string(shown), method, request, s.Diff(Spec{URL: "redis://ann:x@h", Body: []byte("GET k")}), examples[0].URL)
	if err != nil || err2 != nil || strings.Contains(text, secret) || strings.Contains(text, "ann") || method != "" {
		t.Errorf("%s: %v, %v", text, err, err2)
	}
	refused := Spec{URL: strings.Replace(url, secret, secret+"x", 1), Body: []byte("PING")}
	if err := refused.Reach(t.Context(), Local{}); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

// TestRedisOverTLS: rediss:// checks the certificate.
func TestRedisOverTLS(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue("localhost")
	ca := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(ca, []byte(a.pem), 0o600); err != nil {
		t.Fatal(err)
	}
	port := redistest.FreePort(t)
	server := redistest.Start(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no")
	_ = server
	s := Spec{URL: fmt.Sprintf("rediss://localhost:%d", port), ConnectTo: []string{"localhost::127.0.0.1:"}, Body: []byte("PING"), Checks: []string{"body has PONG"}, CA: a.pem}
	target := open(t, s, Local{})
	do(t, target, 0, "")
	do(t, target, 0, "")
	s.CA = ""
	do(t, open(t, s, Local{}), 0, ClassTLS)
}

// TestRedisServers: a target tells which servers its requests go to.
func TestRedisServers(t *testing.T) {
	server := redistest.Start(t)
	info := server.Client().Info(t.Context(), "server").Val()
	target := open(t, Spec{Flows: []Flow{{Name: "f", Steps: []Step{{Name: "a", URL: server.URL(), Body: []byte("PING")}, {Name: "b", URL: server.URL(), Body: []byte("PING")}}}}}, Local{})
	got, err := target.(*mixTarget).Servers(t.Context())
	if want := []RedisServer{{RunID(info), infoField(info, "redis_version"), server.Addr()}}; err != nil || !slices.Equal(got, want) || len(want[0].ID) != 40 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// TestHostileRedis: a server that announces more than it sends, or sends without end, costs no memory.
func TestHostileRedis(t *testing.T) {
	for text, class := range map[string]string{
		"*2147483647\r\n":                    ClassEOF,
		"$2147483647\r\nx":                   ClassEOF,
		"$3\r\nabcd\r\n":                     ClassProtocol,
		"$-2\r\n":                            ClassProtocol,
		"+OK\n":                              ClassProtocol,
		"HTTP/1.1 400 Bad Request\r\n\r\n":   ClassProtocol,
		"$9999999999\r\n":                    ClassProtocol,
		"-":                                  ClassEOF,
		"*1\r\n$-1\r\n":                      "",
		"*-1\r\n":                            "",
		"*0\r\n":                             "",
		"$0\r\n\r\n":                         "",
		":5\r\n":                             "",
		strings.Repeat("*1\r\n", 1e6) + ":1": ClassEOF,
		"+" + strings.Repeat("x", 70_000):    ClassBodyLimit,
		"-MOVED 1 h:1\r\n":                   "reply MOVED",
		"-\r\n":                              "reply",
	} {
		at := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
			bufio.NewReader(c).ReadString('G')
			c.Write([]byte(text))
			c.(*net.TCPConn).CloseWrite()
			c.Read(make([]byte, 1))
		}).String()
		do(t, open(t, Spec{URL: "redis://" + at, Body: []byte("PING"), Timeout: 30 * time.Second}, Local{}), 0, class)
	}
	at := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		c.Write([]byte("*2147483647\r\n"))
		for {
			if _, err := c.Write([]byte(strings.Repeat("$5\r\nabcde\r\n", 1000))); err != nil {
				return
			}
		}
	}).String()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do(t, open(t, Spec{URL: "redis://" + at, Body: []byte("PING"), Checks: []string{"body has x"}}, Local{}), 0, ClassBodyLimit)
	runtime.GC()
	if runtime.ReadMemStats(&after); after.HeapAlloc > before.HeapAlloc+8<<20 {
		t.Errorf("%d bytes are held", after.HeapAlloc-before.HeapAlloc)
	}
}

// TestRedisIsExact: many at once send each command once, over no more connections than allowed, also if the server
// closes idle ones.
func TestRedisIsExact(t *testing.T) {
	server := redistest.Start(t)
	target := open(t, Spec{URL: server.URL(), Body: []byte("INCR n")}, Local{MaxConnections: 4})
	const callers, each = 16, 200
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range each {
				if i == each/2 {
					server.Client().ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes", "MAXAGE", "1000000")
				}
				do(t, target, 0, "")
			}
		})
	}
	all.Wait()
	if n := server.Client().Get(t.Context(), "n").Val(); n != fmt.Sprint(callers*each) {
		t.Errorf("%s commands arrived, want %d", n, callers*each)
	}
}

func TestSplitCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"GET a":                          {"GET", "a"},
		"  GET\t a \n":                   {"GET", "a"},
		`SET "a b" 'c d'`:                {"SET", "a b", "c d"},
		`SET "" ''`:                      {"SET", "", ""},
		`SET "\x41\n\t\"\\\q" '\''`:      {"SET", "A\n\t\"\\q", "'"},
		`SET a"b c`:                      {"SET", `a"b`, "c"},
		"GET u:${ordinal}:${random 3 3}": {"GET", "u:7:3"},
		"GET ${ordinal}":                 {"GET", "7"},
		`GET "x ${ordinal} y"`:           {"GET", "x 7 y"},
		"GET $${x}":                      {"GET", "${x}"},
		"":                               nil,
	} {
		text, err := template.Parse(line, template.Options{})
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := splitCommand(text)
		var got []string
		for _, a := range arguments {
			got = append(got, string(a.Append(nil, template.Request{Number: 7})))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
}

// FuzzRedisReply: the way in which a reply is split changes nothing, and no reply makes it read on behind its end.
func FuzzRedisReply(f *testing.F) {
	for _, s := range []string{"+OK\r\n", "*2\r\n$1\r\na\r\n:5\r\n", "-ERR x\r\n", "$-1\r\n", "*1\r\n*-1\r\n+x\r\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole, parts := newRedisReading(1000, 100), newRedisReading(1000, 100)
		whole.begin()
		parts.begin()
		used, done, err := whole.feed([]byte(text))
		at = max(0, min(at, len(text)))
		n, partly, failed := parts.feed([]byte(text)[:at])
		if !partly && failed == nil {
			var more int
			more, partly, failed = parts.feed([]byte(text)[at:])
			n += more
		}
		if done != partly || (err == nil) != (failed == nil) || err == nil && (used != n || string(whole.content) != string(parts.content) || whole.class != parts.class) {
			t.Errorf("%q at %d: %d %v %v, in parts %d %v %v", text, at, used, done, err, n, partly, failed)
		}
	})
}
