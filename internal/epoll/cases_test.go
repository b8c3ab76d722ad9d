//go:build linux

package epoll

import (
	"bufio"
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
			t.Parallel() // many wait for a timeout
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

func checkCase(t *testing.T, x *http1test.Case, write func(*net.TCPConn)) {
	t.Helper()
	var requests atomic.Int32
	url := serve(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		for request(br) {
			requests.Add(1)
			write(c)
			if x.Closes {
				return
			}
		}
	})
	spec := targets.Spec{URL: url, Expect: "100-999", BodyLimit: x.BodyLimit, Timeout: 10 * time.Second}
	if x.Head {
		spec.Method = "HEAD"
	}
	if x.Class == http1test.Timeout {
		spec.Timeout = 100 * time.Millisecond
	}
	r := newRig(t, spec, targets.Local{}, 1)
	defer r.close()
	got := r.do()
	expect(t, got, x.Status, x.Class)
	if got.BytesIn != int64(x.In) {
		t.Errorf("%d bytes in, want %d", got.BytesIn, x.In)
	}
	p := r.c.places[0]
	switch kept := p.fd >= 0; {
	case x.Keep && !kept:
		t.Error("the connection is not kept")
	case !x.Keep && kept: // what is to follow may not have come yet
		r.pollUntil("the connection is dropped", func() bool { return p.fd < 0 })
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, 1 was sent", n)
	}
}
