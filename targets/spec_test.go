package targets

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/rows"
)

const secret = "s3cr3t"

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{URL: "http://a/"}, []string{"a:80"}},
		{Spec{URL: "https://a"}, []string{"a:443"}},
		{Spec{URL: "https://[::1]:8/"}, []string{"[::1]:8"}},
		{Spec{URL: "http://a", UnixSocket: "/run/s"}, []string{"unix:/run/s"}},
		{Spec{URL: "http://a", ConnectTo: []string{"b::c:", "a:80:d:"}}, []string{"d:80"}},
		{Spec{URL: "http://A", ConnectTo: []string{"a:::9"}}, []string{"A:9"}},
		{Spec{URL: "http://a", ConnectTo: []string{"::[::1]:9"}}, []string{"[::1]:9"}},
		{Spec{URL: "noop://"}, nil},
		{Spec{URL: ":"}, nil},
	} {
		if got := c.spec.Hosts(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.spec, got, c.want)
		}
	}
}

func TestDiff(t *testing.T) {
	a := Spec{
		URL: "http://u:" + secret + "1@a/", Body: []byte(secret + "1"), CA: "x", Expect: "200-399",
		Headers: []Header{{"Authorization", secret + "1"}, {"Accept", "a"}, {"X-Gone", secret}},
		Data:    []rows.Source{{Name: "a"}, {Name: "b", SHA256: "2", Rows: 1}, {Name: "c", SHA256: "1", Pick: "random", Seed: 5}},
		Schemes: []Scheme{{Name: "own", Version: "1"}}, Settings: map[string]string{"a": secret, "b": secret + "1"},
	}
	if d := a.Diff(a); len(d) != 0 {
		t.Errorf("of itself: %q", d)
	}
	if d := a.Diff(Spec{URL: a.URL, Headers: a.Headers, Body: a.Body, CA: "x", Data: a.Data, Timeout: DefaultTimeout, Schemes: a.Schemes, Settings: a.Settings}); len(d) != 0 {
		t.Errorf("defaults written out: %q", d)
	}
	b := Spec{
		URL: "http://u:" + secret + "2@a/", Method: "PUT", Body: []byte(secret + "2"), Timeout: time.Second,
		HTTP: HTTP2, Streams: 4, NoKeepAlive: true, ConnectTo: []string{":::1"}, Redirects: 1, BodyLimit: 5, Expect: "200",
		Auth: "basic:u:" + secret, Insecure: true, UnixSocket: "/s", Checks: []string{"time < 1s"}, Cookies: true, Pick: PickRandom, RateOf: RateOfRequests, Reply: "any", Stream: events.Options{Kind: events.SSE, Until: "[DONE]", Limit: 9, Goals: []string{"first_event<1s"}}, Binary: true, Descriptors: []byte("d"), Trace: true, TraceSampled: 10_000,
		Schemes: []Scheme{{Name: "own", Version: "2"}}, Settings: map[string]string{"b": secret, "c": "1"},
		Data:    []rows.Source{{Name: "b", SHA256: "1", Rows: 2}, {Name: "c", SHA256: "1", Pick: "once"}, {Name: "d"}},
		Headers: []Header{{"authorization", secret + "2"}, {"accept", "a"}, {"X-New", secret}},
	}
	want := []string{
		"user or password of url differs", "schemes: own=1 there, own=2 here", "setting a differs", "setting b differs", "setting c: only here", "method: POST there, PUT here", "header Authorization differs",
		"header X-Gone: only there", "header X-New: only here", "body differs", "descriptions of gRPC methods differ", "targets pick: cycle there, random here", "rate of: flows there, requests here",
		"data a: only there", "data b: another file, 1 rows there, 2 here", "data c: pick=random,seed=5 there, pick=once,seed=0 here", "data d: only here", "auth: none there, basic:[redacted] here", "timeout: 30s there, 1s here",
		"http: 1.1 there, 2 here", "streams: 1 there, 4 here", "no keep-alive: false there, true here", `connect-to: [] there, [":::1"] here`, `unix socket: "" there, "/s" here`,
		"insecure: false there, true here", "ca differs", "redirects: 0 there, 1 here", "body limit: 16777216 there, 5 here",
		"expect: 200-399 there, 200 here", `reply: "" there, "any" here`, `stream: none there, sse until "[DONE]" limit 9 goal "first_event<1s" here`, "binary: false there, true here", "cookies: false there, true here", "trace: false there, true here", "trace sampled: 0% there, 1% here", `checks: [] there, ["time < 1s"] here`,
	}
	if got := a.Diff(b); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A new field that is forgotten here would never show up as different.
	if n := reflect.TypeFor[Spec]().NumField(); n != 36 { // six of them are internal
		t.Errorf("a spec has %d fields: Diff and Redacted know 36", n)
	}
}

func TestSpecJSON(t *testing.T) {
	s := Spec{
		URL: "http://a", Method: "PUT", Headers: []Header{{"A", "b"}}, Body: []byte{0, 0xff, '\n'},
		Timeout: time.Second, ConnectTo: []string{":::"}, Redirects: 2, BodyLimit: 3, Expect: "200",
		Stream: events.Options{Kind: events.SSE, Preset: events.OpenAI, Until: "x", Limit: 7, Goals: []string{"ttft<1s"}},
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"url":"http://a","method":"PUT","headers":[{"name":"A","value":"b"}],"body":"AP8K",` +
		`"timeout_ns":1000000000,"connect_to":[":::"],"redirects":2,"body_limit":3,"expect":"200",` +
		`"stream":{"kind":"sse","preset":"openai","until":"x","limit":7,"goals":["ttft\u003c1s"]}}`
	if string(text) != want {
		t.Errorf("tags are stored in runs and must not change:\n%s\n%s", text, want)
	}
	var back Spec
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Header
		ok   bool
	}{
		{"A: b", Header{"A", "b"}, true},
		{"A:b:c", Header{"A", "b:c"}, true},
		{" A :  ", Header{"A", ""}, true},
		{"A", Header{}, false},
		{": b", Header{}, false},
		{"A b: c", Header{}, false},
		{"A: b\nC: d", Header{}, false},
	} {
		got, err := ParseHeader(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: got %v, %v", c.in, got, err)
		}
	}
}

func TestReadBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(path, []byte("file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ arg, want string }{
		{"", ""}, {"text", "text"}, {"@" + path, "file\r\n"}, {"@-", "stdin\n"},
	} {
		got, err := ReadBody(c.arg, strings.NewReader("stdin\n"))
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, %v", c.arg, got, err)
		}
	}
	for _, arg := range []string{"@", "@" + path + "-missing"} {
		if _, err := ReadBody(arg, nil); err == nil || !strings.HasPrefix(err.Error(), "read body: ") {
			t.Errorf("%q: got %v", arg, err)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add("A: b")
	f.Add(":")
	f.Add("A: b\r\nC: d")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHeader(s)
		if err != nil {
			return
		}
		if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") {
			t.Errorf("%q: %q could smuggle a header", s, h)
		}
		if again, err := ParseHeader(h.Name + ": " + h.Value); err != nil || again != h {
			t.Errorf("%q: %q, again %q, %v", s, h, again, err)
		}
	})
}

func FuzzParseRoute(f *testing.F) {
	for _, s := range []string{"a:1:b:2", ":::", "[::1]:1:[::2]:2", "a:b", "[::1:1:b:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseRoute(s)
		if err != nil {
			return
		}
		bracket := func(host string) string {
			if strings.Contains(host, ":") {
				return "[" + host + "]"
			}
			return host
		}
		text := bracket(r.host) + ":" + r.port + ":" + bracket(r.toHost) + ":" + r.toPort
		if again, err := parseRoute(text); err != nil || again != r {
			t.Errorf("%q: %+v, again %+v, %v", s, r, again, err)
		}
	})
}

func TestParseRoute(t *testing.T) {
	for _, c := range []struct {
		in   string
		want route
	}{
		{"a:1:b:2", route{"a", "1", "b", "2"}},
		{":::", route{}},
		{"[::1]:1:[fe80::1]:2", route{"::1", "1", "fe80::1", "2"}},
		{"::[::1]:", route{toHost: "::1"}},
	} {
		if got, err := parseRoute(c.in); err != nil || got != c.want {
			t.Errorf("%q: got %+v, %v", c.in, got, err)
		}
	}
	for _, in := range []string{"", "a", "a:1:b", "a:1:b:2:3", "a:x:b:2", "a:1:b:70000", "[::1:1:b:2", "::1:1:b:2:", "[a]:1:b:2", "[::1]x:1:b:2", "a b:1:c:2"} {
		if got, err := parseRoute(in); err == nil {
			t.Errorf("%q: got %+v, want an error", in, got)
		}
	}
}
