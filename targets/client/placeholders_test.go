package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// seen is what a server saw of the requests: a line each.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.lines = append(s.lines, fmt.Sprintf("%s %s %s %q", r.Method, r.RequestURI, r.Header.Get("X"), body))
	s.mu.Unlock()
	if to, ok := strings.CutPrefix(r.URL.Path, "/to"); ok {
		w.Header().Set("Location", to+"?${ordinal}")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// TestPlaceholdersAreFilled: the server sees each request filled, from the Target and from the Wire, whatever is longer or
// shorter than the one before.
func TestPlaceholdersAreFilled(t *testing.T) {
	var got seen
	server := httptest.NewServer(&got)
	defer server.Close()
	const host = "Host: HOST\r\nUser-Agent: loadctl\r\n"
	for _, c := range []struct {
		path string
		spec targets.Spec
		n    uint64
		want string // what the Wire writes; * stands for a UUID
	}{
		{"/items/${ordinal}", targets.Spec{}, 7, "GET /items/7 HTTP/1.1\r\n" + host + "\r\n"},
		{"/a b/${random 5 5}?q=${random 6 6}&r=a b", targets.Spec{}, 7, "GET /a%20b/5?q=6&r=a%20b HTTP/1.1\r\n" + host + "\r\n"},
		{"/a%2Fb/('x')/${ordinal}?p=%2F&q=${ordinal}", targets.Spec{}, 7, "GET /a%2Fb/('x')/7?p=%2F&q=7 HTTP/1.1\r\n" + host + "\r\n"},
		{"/$${%0d%0aX: y}", targets.Spec{}, 7, "GET /$%7B%0D%0AX:%20y%7D HTTP/1.1\r\n" + host + "\r\n"},
		{"/?$${%0d%0aX: y}&${ordinal}", targets.Spec{}, 7, "GET /?${%0d%0aX:%20y}&7 HTTP/1.1\r\n" + host + "\r\n"},
		{"/%7Bx%7D", targets.Spec{Headers: []targets.Header{{Name: "X", Value: "${worker}-${ordinal}"}}}, 8, "GET /%7Bx%7D HTTP/1.1\r\n" + host + "X: w1-8\r\n\r\n"},
		{"/", targets.Spec{Body: []byte(`{"n":${ordinal}}`)}, 9, "POST / HTTP/1.1\r\n" + host + "Content-Length: 7\r\n\r\n{\"n\":9}"},
		{"/", targets.Spec{Body: []byte(`{"n":${ordinal}}`)}, 12345, "POST / HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n{\"n\":12345}"},
		{"/", targets.Spec{Body: []byte("${uuid}"), NoKeepAlive: true}, 1, "POST / HTTP/1.1\r\n" + host + "Connection: close\r\nContent-Length: 36\r\n\r\n*"},
		{"/${ordinal}", targets.Spec{Method: "PUT"}, 1, "PUT /1 HTTP/1.1\r\n" + host + "Content-Length: 0\r\n\r\n"},
		{"/", targets.Spec{Body: []byte("\xff${ordinal}")}, 1, "POST / HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n\xff${ordinal}"},
		{"/", targets.Spec{Body: []byte("$${x}")}, 1, "POST / HTTP/1.1\r\n" + host + "Content-Length: 4\r\n\r\n${x}"},
	} {
		c.spec.URL = server.URL + c.path
		w, err := wire.New(c.spec, targets.Local{Worker: "w1"})
		if err != nil {
			t.Fatal(err)
		}
		wire := w.Request
		if wire == nil {
			wire = w.Fill(w.Fill(nil, targets.Call{Number: 1 << 60}), targets.Call{Number: c.n}) // over a longer one
		}
		want, random := strings.CutSuffix(strings.ReplaceAll(c.want, "HOST", server.Listener.Addr().String()), "*")
		if !strings.HasPrefix(string(wire), want) || !random && string(wire) != want || random && len(wire) != len(want)+36 {
			t.Errorf("%s: %q, want %q", c.path, wire, c.want)
		}
		target := open(t, c.spec, targets.Local{Worker: "w1"})
		if out := target.Do(t.Context(), targets.Call{Number: c.n}); out.Class != "" || out.BytesOut != int64(len(wire)) {
			t.Errorf("%s: %+v, want %d bytes", c.path, out, len(wire))
		}
		head, body, _ := strings.Cut(string(wire), "\r\n\r\n")
		words := strings.Fields(head)
		if lines := got.take(); len(words) < 3 || len(lines) != 1 || !strings.HasPrefix(lines[0], words[0]+" "+words[1]+" ") ||
			!random && !strings.HasSuffix(lines[0], fmt.Sprintf(" %q", body)) {
			t.Errorf("%s: the server saw %q", c.path, lines)
		}
	}
}

// TestPlaceholdersAfterARedirect: the second request is the first one again, at another place. A server cannot write placeholders.
func TestPlaceholdersAfterARedirect(t *testing.T) {
	var got seen
	server := httptest.NewServer(&got)
	defer server.Close()
	target := open(t, targets.Spec{
		URL: server.URL + "/to/to/end", Redirects: 2, Body: []byte("${uuid}"), Headers: []targets.Header{{Name: "X", Value: "${random 1 1000000}"}},
	}, targets.Local{})
	do(t, target, 200, "")
	first := got.take()
	if len(first) != 3 {
		t.Fatalf("%q", first)
	}
	rest := func(line string) string { return strings.SplitN(line, " ", 3)[2] }
	for i, path := range []string{"/to/to/end", "/to/end?${ordinal}", "/end?${ordinal}"} {
		if !strings.HasPrefix(first[i], "POST "+path+" ") || rest(first[i]) != rest(first[0]) {
			t.Errorf("%q", first)
		}
	}
	do(t, target, 200, "")
	if second := got.take(); slices.Equal(first, second) {
		t.Errorf("%q twice", first)
	}
}

// TestRelativeRedirect: a location is relative to the path that was sent.
func TestRelativeRedirect(t *testing.T) {
	var got seen
	server := httptest.NewServer(&got)
	defer server.Close()
	target := open(t, targets.Spec{URL: server.URL + "/to${random 7 7}/near", Redirects: 1}, targets.Local{})
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to7/near" {
			w.Header().Set("Location", "x")
			w.WriteHeader(http.StatusFound)
		}
		got.mu.Lock()
		got.lines = append(got.lines, r.RequestURI)
		got.mu.Unlock()
	})
	do(t, target, 200, "")
	if lines := got.take(); !slices.Equal(lines, []string{"/to7/near", "/to7/x"}) {
		t.Errorf("%q", lines)
	}
}
