package targets

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// versioned starts an https server that offers HTTP/2, or does not.
func versioned(t *testing.T, two bool) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	s.EnableHTTP2 = two
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestSettle(t *testing.T) {
	one, two, other := versioned(t, false), versioned(t, true), versioned(t, true)
	flows := func(urls ...string) Spec {
		f := Flow{Name: "f", Weight: 1}
		for i, u := range urls {
			f.Steps = append(f.Steps, Step{Name: string(rune('a' + i)), URL: u})
		}
		return Spec{Flows: []Flow{f}, Insecure: true, HTTP: HTTPAuto, Streams: 3}
	}
	for name, c := range map[string]struct {
		spec    Spec
		version string
		streams int
	}{
		"HTTP/1.1":         {Spec{URL: one, Insecure: true, HTTP: HTTPAuto, Streams: 3}, HTTP1, 0},
		"HTTP/2":           {Spec{URL: two, Insecure: true, HTTP: HTTPAuto, Streams: 3}, HTTP2, 3},
		"without TLS":      {Spec{URL: "http://127.0.0.1:1", HTTP: HTTPAuto}, HTTP1, 0},
		"not asked":        {Spec{URL: "https://127.0.0.1:1", HTTP: HTTP2}, HTTP2, 0},
		"two of HTTP/2":    {flows(two, other, two), HTTP2, 3},
		"beside others":    {flows("redis://127.0.0.1:1", two, "wss://127.0.0.1:1", "tcp://127.0.0.1:1", "grpcs://127.0.0.1:1/a.B/C", "noop://"), HTTP2, 3},
		"of another route": {Spec{URL: "https://h", ConnectTo: []string{"::" + strings.TrimPrefix(two, "https://")}, Insecure: true, HTTP: HTTPAuto}, HTTP2, 0},
	} {
		got, err := c.spec.Settle(t.Context(), Local{})
		if err != nil || got.HTTP != c.version || got.Streams != c.streams {
			t.Errorf("%s: %q with %d streams, %v", name, got.HTTP, got.Streams, err)
		}
	}
	for _, differ := range []Spec{flows(two, one), flows(two, "http://127.0.0.1:1")} {
		if _, err := differ.Settle(t.Context(), Local{}); err == nil || !strings.Contains(err.Error(), "speaks HTTP/2, and") {
			t.Errorf("servers that differ: %v", err)
		}
	}
	for _, spec := range []Spec{{URL: "https://127.0.0.1:1", HTTP: HTTPAuto}, {URL: two, HTTP: HTTPAuto}} {
		if _, err := spec.Settle(t.Context(), Local{}); err == nil || !strings.Contains(err.Error(), "give --http 1.1 or 2") {
			t.Errorf("%s: %v", spec.URL, err)
		}
	}
	if _, err := NewWire(Spec{URL: two, HTTP: HTTPAuto}, Local{}); err == nil {
		t.Error("NewWire takes a spec that is not settled")
	}
}

// A server that does not offer HTTP/2 is found by the handshake.
func TestSecureNeedsHTTP2(t *testing.T) {
	for two, class := range map[string]string{versioned(t, true): "", versioned(t, false): ClassTLS} {
		w, err := NewWire(Spec{URL: two, Insecure: true, HTTP: HTTP2}, Local{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", w.Address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Secure(c)
		if got := classify(err, ClassOther); got != class {
			t.Errorf("%q (%v), want %q", got, err, class)
		}
		_ = c.Close()
	}
}

// What is asked over gRPC gets the same answer from a server that has no HTTP/2.
func TestAskNotHTTP2(t *testing.T) {
	method := "grpcs" + strings.TrimPrefix(versioned(t, false), "https") + "/a.B/C"
	if _, _, err := AskGRPC(t.Context(), Spec{URL: method, Insecure: true}, Local{}, nil); !errors.Is(err, ErrNoHTTP2) {
		t.Error(err)
	}
}

func TestCheckVersion(t *testing.T) {
	for want, s := range map[string]Spec{
		`http: is "3.5"; write`:           {URL: "http://h", HTTP: "3.5"},
		"streams: must be 1 to 1000":      {URL: "http://h", HTTP: "2", Streams: 1001},
		"streams: HTTP/1.1 carries one":   {URL: "http://h", Streams: 2},
		"streams: contradicts no-keep-al": {URL: "http://h", HTTP: "2", Streams: 2, NoKeepAlive: true},
		"http: only http and https have":  {URL: "tcp://h:1", Body: []byte("x"), HTTP: "2"},
	} {
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}
