//go:build linux

package loop

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1/http1test"
)

// The table of odd and hostile answers, over real sockets: in one write, and short ones byte by byte.
func TestCases(t *testing.T) {
	const drip = 200 // bytes
	for _, x := range http1test.Cases() {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			checkCase(t, &x, func(c *net.TCPConn) { c.Write(x.Bytes) })
			if len(x.Bytes) <= drip {
				checkCase(t, &x, func(c *net.TCPConn) {
					for i := range x.Bytes {
						c.Write(x.Bytes[i : i+1])
					}
				})
			}
		})
	}
}

// TestSecureCases: with TLS the same answers have the same outcomes.
func TestSecureCases(t *testing.T) {
	s := certify(t, time.Hour)
	for i, x := range http1test.Cases() {
		if testing.Short() && i%4 != 0 { // handshakes cost most of it; TestCases has them all
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			spec := s.serve(t, func(c *tls.Conn) { answerCase(&x, &requests, c, func() { c.Write(x.Bytes) }) })
			checkOutcome(t, &x, spec, &requests)
		})
	}
}

func checkCase(t *testing.T, x *http1test.Case, write func(*net.TCPConn)) {
	t.Helper()
	var requests atomic.Int32
	url := serve(t, func(c *net.TCPConn) { answerCase(x, &requests, c, func() { write(c) }) })
	checkOutcome(t, x, targets.Spec{URL: url}, &requests)
}

// answerCase serves a connection.
func answerCase(x *http1test.Case, requests *atomic.Int32, c io.Reader, write func()) {
	for br := bufio.NewReader(c); request(br); {
		requests.Add(1)
		write()
		if x.Closes {
			return
		}
	}
}

func checkOutcome(t *testing.T, x *http1test.Case, spec targets.Spec, requests *atomic.Int32) {
	t.Helper()
	spec.Expect, spec.BodyLimit, spec.Timeout = "100-999", x.BodyLimit, time.Hour
	if x.Head {
		spec.Method = "HEAD"
	}
	r := newRig(t, spec, targets.Local{}, 1)
	defer r.close()
	r.mustSend()
	if x.Class == http1test.Timeout {
		cn := r.c.conns[0]
		r.pollUntil("all that the server says", func() bool { return len(r.got) > 0 || requests.Load() > 0 && cn.in >= x.In })
		r.timeOut()
	}
	r.pollFor(1)
	got := r.got[0].Outcome
	expect(t, got, x.Status, x.Class)
	if got.BytesIn != int64(x.In) {
		t.Errorf("%d bytes in, want %d", got.BytesIn, x.In)
	}
	cn := r.c.conns[0]
	switch kept := cn.Socket.IsOpen(); {
	case x.Keep && !kept:
		t.Error("the connection is not kept")
	case !x.Keep && kept: // what is to follow may not have come yet
		r.pollUntil("the connection is dropped", func() bool { return !cn.Socket.IsOpen() })
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, 1 was sent", n)
	}
}
