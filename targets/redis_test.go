package targets

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/targets/template"
)

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
