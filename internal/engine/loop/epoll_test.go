//go:build linux && !portable

package loop

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/engine/worker/clienttest"
	"github.com/loadctl/loadctl/targets"
)

// arrived reports whether there is something to read, even an end or an error.
func arrived(t *testing.T, s socket) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, 0)
	if err != nil && !errors.Is(err, unix.EINTR) {
		t.Fatal(err)
	}
	return n > 0
}

// limitBuffer makes the system take no more than some bytes that the peer has not taken.
func limitBuffer(t *testing.T, s socket, size int) {
	t.Helper()
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, size); err != nil {
		t.Fatal(err)
	}
}

// The same without the kernel's epoll_pwait2.
func TestClientWithTimer(t *testing.T) {
	clienttest.TestClient(t, func(t *testing.T, o clienttest.Options) worker.Client {
		c := open(t, targets.Spec{URL: o.URL, UnixSocket: o.UnixSocket, Insecure: true, Timeout: o.Timeout}, targets.Local{}, o.Connections)
		if err := c.poller.openTimer(); err != nil {
			t.Fatal(err)
		}
		return c
	})
}

// A busy loop is woken without a system call, a sleeping one with one.
func TestWakeWhileBusy(t *testing.T) {
	c := open(t, targets.Spec{URL: "http://127.0.0.1:9/"}, targets.Local{}, 1)
	defer c.Close()
	c.Wake()
	if n, err := c.poller.look(); n != 0 || err != nil {
		t.Errorf("woken while busy: %d events, %v", n, err)
	}
	if c.wakeup.sleep() || !c.wakeup.consume() || c.wakeup.consume() {
		t.Error("signaled once: it must not sleep, and consume it once")
	}
	if !c.wakeup.sleep() {
		t.Error("not signaled: it may sleep")
	}
	for range 300 { // it is never read, and must not be full some time
		c.wakeup.asleep.Store(true)
		c.Wake()
		if n, err := c.poller.look(); n != 1 || err != nil || c.poller.events[0].Fd != ofInterrupt {
			t.Fatalf("woken while asleep: %d events, %v", n, err)
		}
	}
}

// After Close the number of the poller's descriptor may belong to another file, which must not be written.
func TestWakeAfterClose(t *testing.T) {
	c := open(t, targets.Spec{URL: "http://127.0.0.1:9/"}, targets.Local{}, 1)
	if err := c.Poll(0, func(targets.Result) {}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	var files []*os.File // one of them gets the number
	for range 16 {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	c.wakeup.asleep.Store(true) // as if the loop had been asleep when the waker looked
	c.Wake()
	for _, f := range files {
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%d bytes were written to a file, %v", info.Size(), err)
		}
	}
}

// The thread has its own timer slack while the client is open, and the old one afterwards.
func TestTimerSlack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slack := func() int {
		n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := slack()
	r := newRig(t, targets.Spec{URL: "http://127.0.0.1:9/"}, targets.Local{}, 1)
	r.poll(0)
	if n := slack(); n != 1 {
		t.Errorf("slack %d ns in the loop, want 1", n)
	}
	r.close()
	if n := slack(); n != before {
		t.Errorf("slack %d ns after Close, was %d", n, before)
	}
}

// A request does not allocate.
func TestAllocations(t *testing.T) {
	r := newRig(t, targets.Spec{URL: startTiny(t, -1).url}, targets.Local{}, 1)
	r.got = make([]targets.Result, 0, 4096)
	r.do()
	if n := testing.AllocsPerRun(1000, func() { r.do() }); n != 0 {
		t.Errorf("%v allocations for a request", n)
	}
}

// A request that waits for room on a connection goes over another one after a reset, as soon as one may be opened.
func TestResetWhileFull(t *testing.T) {
	for name, may := range map[string]bool{"another": true, "another later": false} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			cut := make(chan struct{})
			r := newRig(t, targets.Spec{URL: serve(t, func(c *net.TCPConn) {
				first := connections.Add(1) == 1
				for br := bufio.NewReader(c); request(br); {
					io.WriteString(c, ok)
					if first {
						<-cut
						c.SetLinger(0)
						return
					}
				}
			})}, targets.Local{}, 2)
			expect(t, r.do(), 200, "")
			cn := r.c.hosts[0].idle.last
			for junk, err := make([]byte, 1<<20), error(nil); !blocked(err); { // as a server does that does not read all of a body
				if _, err = cn.socket.send(junk); err != nil && !blocked(err) {
					t.Fatal(err)
				}
			}
			if r.mustSend(); cn.state != writing || cn.out != 0 {
				t.Fatalf("state %d, %d bytes written, and there is no room", cn.state, cn.out)
			}
			if !may {
				r.c.most = 0 // as if as many as may be were being opened
			}
			close(cut)
			if !may {
				r.pollUntil("the wait for its turn", func() bool { return cn.state == awaiting })
				r.c.most = 2
			}
			r.pollFor(2)
			expect(t, r.got[1].Outcome, 200, "")
			if n := connections.Load(); n != 2 || r.c.opening != 0 {
				t.Errorf("%d connections, %d are being opened", n, r.c.opening)
			}
		})
	}
}
