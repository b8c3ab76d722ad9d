package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
)

func TestWire(t *testing.T) {
	w, err := New(targets.Spec{
		URL: "http://user:secret@Example.com/a b?c d", Method: "PUT", Body: []byte("body"), NoKeepAlive: true,
		Timeout: time.Second, BodyLimit: 5, ConnectTo: []string{"example.com::127.0.0.1:81"},
	}, targets.Local{Addresses: []string{"127.0.0.2", "::1"}})
	if err != nil {
		t.Fatal(err)
	}
	if w.Address != "127.0.0.1:81" || w.Head || !w.Close || w.Timeout != time.Second || w.Limits.Body != 5 || w.IdleLimit != idleLimit || w.LookAfter != lookAfter || w.Opening != dialsAtOnce {
		t.Errorf("%+v", w)
	}
	if len(w.Local) != 2 || !w.Local[0].Equal(net.IPv4(127, 0, 0, 2)) || !w.Local[1].Equal(net.IPv6loopback) || w.Halted() {
		t.Errorf("local %v, halted %v", w.Local, w.Halted())
	}
	w, err = New(targets.Spec{URL: "http://[::1]", Method: "HEAD"}, targets.Local{Halted: func() bool { return true }})
	if err != nil || w.Network != "tcp" || w.Address != "[::1]:80" || w.Name != "" || !w.Head || w.Close || w.Timeout != targets.DefaultTimeout || w.Limits.Body != targets.DefaultBodyLimit || !w.Halted() {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = New(targets.Spec{URL: "https://Example.com", UnixSocket: "/a b"}, targets.Local{})
	if err != nil || w.Network != "unix" || w.Address != "/a b" || w.Name != "Example.com" {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = New(targets.Spec{URL: "https://a", ConnectTo: []string{"a::b:"}}, targets.Local{})
	if err != nil || w.Network != "tcp" || w.Address != "b:443" || w.Name != "a" {
		t.Errorf("%+v, %v", w, err)
	}
}

// New refuses what no Wire can do.
func TestWrongSpecs(t *testing.T) {
	for _, s := range []targets.Spec{
		{}, {URL: "http://"}, {URL: "gopher://a/"}, {URL: "http://a/", Expect: "x"}, {URL: "http://a/", ConnectTo: []string{"x"}},
		{URL: "http://a/", Timeout: -1}, {URL: "http://a/", Headers: []targets.Header{{Name: "A", Value: "b\r\nC: d"}}},
	} {
		if _, err := New(s, targets.Local{}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, l := range []targets.Local{{Addresses: []string{"a"}}, {Cert: missing}, {Cert: missing, Key: missing}} {
		if _, err := New(targets.Spec{URL: "http://a/"}, l); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}

// answered returns an answer with a status; 0 = there is none.
func answered(status int) *http1.Response {
	r := new(http1.Response)
	r.Begin(http1.Limits{}, false)
	if status > 0 {
		_, _, _ = r.Feed(fmt.Appendf(nil, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", status))
	}
	return r
}

func TestHostHeaderHasNoZone(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "[fe80::1%eth0]:8"}
	if got := hostHeader(u); got != "[fe80::1]:8" {
		t.Errorf("host header %s shows the zone", got)
	}
}

func TestWireOutcome(t *testing.T) {
	w, err := New(targets.Spec{URL: "http://a/", Expect: "200,404"}, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for _, c := range []struct {
		status int
		err    error
		class  string
	}{
		{200, nil, ""}, {404, nil, ""}, {201, nil, targets.ClassStatus}, {101, nil, targets.ClassStatus},
		{0, context.Canceled, targets.ClassCanceled}, {200, os.ErrDeadlineExceeded, targets.ClassTimeout},
		{0, dial(&net.DNSError{Err: "no such host"}), targets.ClassDNS}, {0, dial(syscall.EMFILE), targets.ClassDescriptors},
		{0, dial(syscall.EADDRNOTAVAIL), targets.ClassPorts}, {0, dial(syscall.ECONNREFUSED), targets.ClassConnect},
		{0, dial(syscall.EHOSTUNREACH), targets.ClassConnect}, {0, dial(syscall.ETIMEDOUT), targets.ClassTimeout},
		{0, syscall.ECONNRESET, targets.ClassReset}, {0, syscall.EPIPE, targets.ClassReset}, {200, http1.ErrBody, targets.ClassBodyLimit},
		{200, io.ErrUnexpectedEOF, targets.ClassEOF}, {0, http1.ErrHead, targets.ClassHeadLimit}, {0, http1.ErrInterim, targets.ClassProtocol},
	} {
		if got := w.Outcome(answered(c.status), 0, c.err, targets.ClassProtocol, nil); got != (targets.Outcome{Status: c.status, Class: c.class}) {
			t.Errorf("%d, %v: %+v, want %q", c.status, c.err, got, c.class)
		}
	}
	good, bad := answered(200), answered(500)
	if n := testing.AllocsPerRun(100, func() { w.Outcome(good, 0, nil, "", nil); w.Outcome(bad, 0, nil, "", nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
