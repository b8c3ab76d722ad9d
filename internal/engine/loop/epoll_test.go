//go:build linux && !portable

package loop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestClientWithoutExactWaits: the same on a machine whose kernel, or container, has no epoll_pwait2. The tests run once more
// in a process of their own, which forbids itself that call.
func TestClientWithoutExactWaits(t *testing.T) {
	args := []string{"-test.run=^TestClient$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short())}
	if end, limited := t.Deadline(); limited {
		args = append(args, fmt.Sprintf("-test.timeout=%v", time.Until(end)))
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), withoutExactWaits+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestClient ") {
		t.Errorf("%v\n%s", err, out)
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
			for junk, err := make([]byte, 1<<20), error(nil); !sockets.Blocked(err); { // as a server does that does not read all of a body
				if _, err = cn.Socket.Send(junk); err != nil && !sockets.Blocked(err) {
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

// The client's own waits are those of its thread: they end when it has to be rescheduled.
func TestWaitsAreInterrupted(t *testing.T) {
	c, err := New(pacer.NewClock(), &wire.Wire{Address: "127.0.0.1:1"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	now := int64(1e12)
	c.latest = now
	if !c.thread.Yield(now, 1e9) {
		t.Fatal("it was never rescheduled, and is not now")
	}
	again := c.thread.Until(now, now+1e9, now)
	if until := c.until(now, now+1e9); until != again || again == now+1e9 {
		t.Errorf("it waits for %d ns, want %d", until-now, again-now)
	}
	if until := c.until(now, now+1e6); until != now+1e6 {
		t.Errorf("it waits for %d ns, but a slot is due", until-now)
	}
}
