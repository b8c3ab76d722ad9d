package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

const secret = "s3cr3t"

func TestValidate(t *testing.T) {
	good := targets.Spec{URL: "http://example.com"}
	with := func(f func(*targets.Spec)) targets.Spec {
		s := good
		f(&s)
		return s
	}
	for _, c := range []struct {
		spec targets.Spec
		want string // part of the error; "" = valid
	}{
		{good, ""},
		{targets.Spec{URL: "https://user:pw@[::1]:8443/a?b#c"}, ""},
		{targets.Spec{URL: "noop://"}, ""},
		{targets.Spec{URL: "noop://?latency=1ms"}, ""},
		{targets.Spec{}, "url: is missing"},
		{targets.Spec{URL: "http://u:" + secret + "@a b/"}, "url: is not a URL"},
		{targets.Spec{URL: "/path"}, "url: is not a URL"},
		{targets.Spec{URL: "gopher://a"}, "no target for scheme gopher; there is grpc, grpcs, http, https, noop, redis, rediss, tcp, udp, ws or wss"},
		{targets.Spec{URL: "http:///path"}, "url: names no host"},
		{targets.Spec{URL: "http:example.com"}, "url: names no host"},
		{targets.Spec{URL: "http://bücher.example/"}, "xn--"},
		{targets.Spec{URL: "http://a:0/"}, "port must be"},
		{targets.Spec{URL: "http://a:65536/"}, "port must be"},
		{targets.Spec{URL: "noop://?latency=x"}, "latency must be a duration"},
		{targets.Spec{URL: "noop://?latency=-1s"}, "latency must be a duration"},
		{targets.Spec{URL: "noop://?delay=1s"}, "takes only latency"},
		{with(func(s *targets.Spec) { s.Method = "GE T" }), "method: may only hold"},
		{with(func(s *targets.Spec) { s.Method = "CONNECT" }), "CONNECT makes a tunnel"},
		{with(func(s *targets.Spec) {
			s.Headers = []targets.Header{{Name: "A", Value: ""}, {Name: "A " + secret, Value: "c"}}
		}), "header 2: the name may only hold"},
		{with(func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "A", Value: secret + "\r\nB: c"}} }), "header A: the value holds a line break"},
		{with(func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "content-length", Value: "1"}} }), "follows from the body"},
		{with(func(s *targets.Spec) {
			s.Headers = []targets.Header{{Name: "Host", Value: "a"}, {Name: "host", Value: "b"}}
		}), "given twice"},
		{with(func(s *targets.Spec) { s.Timeout = -1 }), "timeout: must not be negative"},
		{with(func(s *targets.Spec) { s.BodyLimit = -1 }), "body limit: must not be negative"},
		{with(func(s *targets.Spec) { s.Redirects = 21 }), "redirects: must be 0 to 20"},
		{with(func(s *targets.Spec) { s.Redirects = -1 }), "redirects: must be 0 to 20"},
		{with(func(s *targets.Spec) { s.Expect = "2xx" }), "expect:"},
		{with(func(s *targets.Spec) { s.ConnectTo = []string{"a:b"} }), "connect-to"},
		{with(func(s *targets.Spec) { s.ConnectTo, s.UnixSocket = []string{":::"}, "/s" }), "unix socket: contradicts"},
		{with(func(s *targets.Spec) { s.CA, s.Insecure = "x", true }), "ca: contradicts insecure"},
		{with(func(s *targets.Spec) { s.CA = "/etc/ca.pem" }), "ca: holds no PEM"},
	} {
		err := Validate(c.spec)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.spec.URL, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.spec, err, c.want)
		} else if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: shows a secret or is more than a line", err)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		spec  targets.Spec
		local targets.Local
		want  string
	}{
		{targets.Spec{}, targets.Local{}, "new target: url: is missing"},
		{targets.Spec{URL: "http://a"}, targets.Local{Cert: "x"}, "give both"},
		{targets.Spec{URL: "http://a"}, targets.Local{Cert: "/none", Key: "/none"}, "load client certificate"},
		{targets.Spec{URL: "http://a"}, targets.Local{MaxConnections: -1}, "must not be negative"},
		{targets.Spec{URL: "http://a"}, targets.Local{Addresses: []string{"x"}}, "not an IP address"},
	} {
		if _, err := New(c.spec, c.local); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestRedacted(t *testing.T) {
	s := targets.Spec{
		URL: "https://u:" + secret + "@a/b?c=d", Body: []byte(secret),
		Headers: []targets.Header{{Name: "authorization", Value: secret}, {Name: "X-Anything", Value: secret}, {Name: "accept", Value: "text/html"}},
	}
	r := s.Redacted()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || string(r.Body) != targets.Redacted {
		t.Errorf("shows a secret: %s", text)
	}
	if r.URL != "https://redacted@a/b?c=d" || r.Headers[2].Value != "text/html" {
		t.Errorf("hides too much: %s", text)
	}
	if s.Headers[0].Value != secret || string(s.Body) != secret {
		t.Error("the original was changed")
	}
	if got := (targets.Spec{URL: "http://u:" + secret + "@a b/"}).Redacted().URL; got != targets.Redacted {
		t.Errorf("not a URL: %q", got)
	}
	if err := Validate(r); err != nil {
		t.Errorf("a redacted spec is no longer valid: %v", err)
	}
}
