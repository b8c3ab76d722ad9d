package targets

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

	"github.com/loadctl/loadctl/targets/http1"
)

func TestWire(t *testing.T) {
	w, err := NewWire(Spec{
		URL: "http://user:secret@Example.com/a b?c d", Method: "PUT", Body: []byte("body"), NoKeepAlive: true,
		Timeout: time.Second, BodyLimit: 5, ConnectTo: []string{"example.com::127.0.0.1:81"},
	}, Local{Addresses: []string{"127.0.0.2", "::1"}})
	if err != nil {
		t.Fatal(err)
	}
	if w.Address != "127.0.0.1:81" || w.Head || !w.Close || w.Timeout != time.Second || w.Limits.Body != 5 || w.IdleLimit != idleLimit || w.LookAfter != lookAfter || w.Opening != dialsAtOnce {
		t.Errorf("%+v", w)
	}
	if len(w.Local) != 2 || !w.Local[0].Equal(net.IPv4(127, 0, 0, 2)) || !w.Local[1].Equal(net.IPv6loopback) || w.Halted() {
		t.Errorf("local %v, halted %v", w.Local, w.Halted())
	}
	w, err = NewWire(Spec{URL: "http://[::1]", Method: "HEAD"}, Local{Halted: func() bool { return true }})
	if err != nil || w.Network != "tcp" || w.Address != "[::1]:80" || w.Name != "" || !w.Head || w.Close || w.Timeout != DefaultTimeout || w.Limits.Body != DefaultBodyLimit || !w.Halted() {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = NewWire(Spec{URL: "https://Example.com", UnixSocket: "/a b"}, Local{})
	if err != nil || w.Network != "unix" || w.Address != "/a b" || w.Name != "Example.com" {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = NewWire(Spec{URL: "https://a", ConnectTo: []string{"a::b:"}}, Local{})
	if err != nil || w.Network != "tcp" || w.Address != "b:443" || w.Name != "a" {
		t.Errorf("%+v, %v", w, err)
	}
}

// NewWire refuses what no Wire can do.
func TestWrongSpecs(t *testing.T) {
	for _, s := range []Spec{
		{}, {URL: "http://"}, {URL: "gopher://a/"}, {URL: "http://a/", Expect: "x"}, {URL: "http://a/", ConnectTo: []string{"x"}},
		{URL: "http://a/", Timeout: -1}, {URL: "http://a/", Headers: []Header{{Name: "A", Value: "b\r\nC: d"}}},
	} {
		if _, err := NewWire(s, Local{}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, l := range []Local{{Addresses: []string{"a"}}, {Cert: missing}, {Cert: missing, Key: missing}} {
		if _, err := NewWire(Spec{URL: "http://a/"}, l); err == nil {
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
	w, err := NewWire(Spec{URL: "http://a/", Expect: "200,404"}, Local{})
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
		{200, nil, ""}, {404, nil, ""}, {201, nil, ClassStatus}, {101, nil, ClassStatus},
		{0, context.Canceled, ClassCanceled}, {200, os.ErrDeadlineExceeded, ClassTimeout},
		{0, dial(&net.DNSError{Err: "no such host"}), ClassDNS}, {0, dial(syscall.EMFILE), ClassDescriptors},
		{0, dial(syscall.EADDRNOTAVAIL), ClassPorts}, {0, dial(syscall.ECONNREFUSED), ClassConnect},
		{0, dial(syscall.EHOSTUNREACH), ClassConnect}, {0, dial(syscall.ETIMEDOUT), ClassTimeout},
		{0, syscall.ECONNRESET, ClassReset}, {0, syscall.EPIPE, ClassReset}, {200, http1.ErrBody, ClassBodyLimit},
		{200, io.ErrUnexpectedEOF, ClassEOF}, {0, http1.ErrHead, ClassHeadLimit}, {0, http1.ErrInterim, ClassProtocol},
	} {
		if got := w.Outcome(answered(c.status), 0, c.err, ClassProtocol, nil); got != (Outcome{Status: c.status, Class: c.class}) {
			t.Errorf("%d, %v: %+v, want %q", c.status, c.err, got, c.class)
		}
	}
	good, bad := answered(200), answered(500)
	if n := testing.AllocsPerRun(100, func() { w.Outcome(good, 0, nil, "", nil); w.Outcome(bad, 0, nil, "", nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
