package site

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/server/seen"
)

func TestUnique(t *testing.T) {
	type sent struct{ target, header, body string }
	for _, c := range []struct {
		text string
		sent []sent
		want UniqueCount
	}{
		{"path", []sent{{target: "/a"}, {target: "/a?x=1"}, {target: "/b"}, {target: "/a"}, {target: "/a%2Fb"}, {target: "/a/b"}}, UniqueCount{Values: 4, Twice: 1}},
		{" query  n ", []sent{{target: "/?n=1"}, {target: "/?n=2"}, {target: "/?n=1"}, {target: "/?m=1"}, {target: "/?n="}}, UniqueCount{Of: "query n", Values: 3, Twice: 1, Without: 1}},
		{"header X-Id", []sent{{header: "1"}, {header: "2"}, {header: "2"}, {header: "2"}, {}}, UniqueCount{Values: 2, Twice: 1, Without: 1}},
		{"header host", []sent{{target: "http://a/"}, {target: "http://b/"}, {target: "http://b/"}}, UniqueCount{Values: 2, Twice: 1}},
		{"json user.id", []sent{
			{body: `{"user":{"id":7}}`}, {body: `{"user":{"id":"7"}}`}, {body: `{"user":{"id":8}}`}, {body: `{"user":7}`}, {body: `{"user":{"id":7}`}, {},
			{body: strings.Repeat("[", 20_000)},
		}, UniqueCount{Values: 2, Twice: 1, Without: 4}},
		{"json items.#.id", []sent{{body: `{"items":[{"id":1},{"id":2}]}`}, {body: `{"items":[{"id":1}]}`}}, UniqueCount{Values: 2}},
	} {
		u, err := ParseUnique(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for _, s := range c.sent {
			r := request("POST", "/")
			if s.target != "" {
				r = request("POST", s.target)
			}
			if s.header != "" {
				r.Header.Set("x-id", s.header)
			}
			u.Count(r, []byte(s.body))
		}
		if c.want.Of == "" {
			c.want.Of = c.text
		}
		if got := u.Counted(); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// TestUniqueStops: a full set says so, and still knows what it has.
func TestUniqueStops(t *testing.T) {
	u, err := ParseUnique("path")
	if err != nil {
		t.Fatal(err)
	}
	u.set = seen.New(2)
	for _, target := range []string{"/a", "/b", "/c", "/d", "/a"} {
		u.Count(request("GET", target), nil)
	}
	if got := u.Counted(); got != (UniqueCount{Of: "path", Values: 2, Twice: 1, NotCounted: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestUniqueRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                         `"": it is not complete or not right; write one of path; query NAME; header NAME; or json PATH`,
		"body":                     "write one of path",
		"path x":                   "it is not complete",
		"query":                    "it is not complete",
		"header":                   "it is not complete",
		"header a b":               "it is not complete",
		"json":                     "it is not complete",
		"json a.@reverse":          "it is not complete",
		"json $.user":              "a path is written without $ and brackets, as in items.0.id",
		"json items[0].id":         "a path is written without $ and brackets",
		strings.Repeat("x", 1<<20): "write one of path",
	} {
		if _, err := ParseUnique(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.60q: %.500v, want %q", text, err, says)
		}
	}
}
