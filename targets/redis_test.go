package targets

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets/template"
)

// TestRedisServers: a target tells which servers its requests go to.
func TestRedisServers(t *testing.T) {
	server := redistest.Start(t)
	info := server.Client().Info(t.Context(), "server").Val()
	spec := Spec{Flows: []Flow{{Name: "f", Steps: []Step{{Name: "a", URL: server.URL(), Body: []byte("PING")}, {Name: "b", URL: server.URL(), Body: []byte("PING")}}}}}
	got, err := spec.RedisServers(t.Context(), Local{})
	if want := []RedisServer{{RunID(info), infoField(info, "redis_version"), server.Addr()}}; err != nil || !slices.Equal(got, want) || len(want[0].ID) != 40 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
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
