package probe

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/wire"
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
	flows := func(urls ...string) targets.Spec {
		f := targets.Flow{Name: "f", Weight: 1}
		for i, u := range urls {
			f.Steps = append(f.Steps, targets.Step{Name: string(rune('a' + i)), URL: u})
		}
		return targets.Spec{Flows: []targets.Flow{f}, Insecure: true, HTTP: targets.HTTPAuto, Streams: 3}
	}
	for name, c := range map[string]struct {
		spec    targets.Spec
		version string
		streams int
	}{
		"HTTP/1.1":         {targets.Spec{URL: one, Insecure: true, HTTP: targets.HTTPAuto, Streams: 3}, targets.HTTP1, 0},
		"HTTP/2":           {targets.Spec{URL: two, Insecure: true, HTTP: targets.HTTPAuto, Streams: 3}, targets.HTTP2, 3},
		"without TLS":      {targets.Spec{URL: "http://127.0.0.1:1", HTTP: targets.HTTPAuto}, targets.HTTP1, 0},
		"not asked":        {targets.Spec{URL: "https://127.0.0.1:1", HTTP: targets.HTTP2}, targets.HTTP2, 0},
		"two of HTTP/2":    {flows(two, other, two), targets.HTTP2, 3},
		"beside others":    {flows("redis://127.0.0.1:1", two, "wss://127.0.0.1:1", "tcp://127.0.0.1:1", "grpcs://127.0.0.1:1/a.B/C", "noop://"), targets.HTTP2, 3},
		"of another route": {targets.Spec{URL: "https://h", ConnectTo: []string{"::" + strings.TrimPrefix(two, "https://")}, Insecure: true, HTTP: targets.HTTPAuto}, targets.HTTP2, 0},
	} {
		got, err := Settle(t.Context(), c.spec, targets.Local{})
		if err != nil || got.HTTP != c.version || got.Streams != c.streams {
			t.Errorf("%s: %q with %d streams, %v", name, got.HTTP, got.Streams, err)
		}
	}
	for _, differ := range []targets.Spec{flows(two, one), flows(two, "http://127.0.0.1:1")} {
		if _, err := Settle(t.Context(), differ, targets.Local{}); err == nil || !strings.Contains(err.Error(), "speaks HTTP/2, and") {
			t.Errorf("servers that differ: %v", err)
		}
	}
	for _, spec := range []targets.Spec{{URL: "https://127.0.0.1:1", HTTP: targets.HTTPAuto}, {URL: two, HTTP: targets.HTTPAuto}} {
		if _, err := Settle(t.Context(), spec, targets.Local{}); err == nil || !strings.Contains(err.Error(), "give --http 1.1 or 2") {
			t.Errorf("%s: %v", spec.URL, err)
		}
	}
	if _, err := wire.New(targets.Spec{URL: two, HTTP: targets.HTTPAuto}, targets.Local{}); err == nil {
		t.Error("New takes a spec that is not settled")
	}
}

// A server that does not offer HTTP/2 is found by the handshake.
func TestSecureNeedsHTTP2(t *testing.T) {
	for two, class := range map[string]string{versioned(t, true): "", versioned(t, false): targets.ClassTLS} {
		w, err := wire.New(targets.Spec{URL: two, Insecure: true, HTTP: targets.HTTP2}, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", w.Address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Secure(c)
		if got := classes.Of(err, targets.ClassOther); got != class {
			t.Errorf("%q (%v), want %q", got, err, class)
		}
		_ = c.Close()
	}
}

// What is asked over gRPC gets the same answer from a server that has no HTTP/2.
func TestAskNotHTTP2(t *testing.T) {
	method := "grpcs" + strings.TrimPrefix(versioned(t, false), "https") + "/a.B/C"
	if _, _, err := GRPC(t.Context(), targets.Spec{URL: method, Insecure: true}, targets.Local{}, nil); !errors.Is(err, wire.ErrNoHTTP2) {
		t.Error(err)
	}
}
