//go:build linux

package loop

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/rawtest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets"
)

func TestRaw(t *testing.T) {
	rawtest.Test(t, func(t *testing.T, spec targets.Spec, local targets.Local) rawtest.Do {
		r := newRig(t, spec, local, max(1, local.MaxConnections))
		return func(c targets.Call) targets.Outcome {
			r.sent = c.Number
			return r.do()
		}
	})
}

// TestRawClosed: a connection that the server closes after a reply is noticed at once, and costs nothing.
func TestRawClosed(t *testing.T) {
	var accepted atomic.Int64
	url := serve(t, func(c *net.TCPConn) {
		accepted.Add(1)
		line, _ := bufio.NewReader(c).ReadBytes('\n')
		c.Write(line)
	})
	r := newRig(t, targets.Spec{URL: "tcp" + url[len("http"):len(url)-1], Body: []byte("a\n"), Reply: `until \n`}, targets.Local{}, 1)
	const n = 5
	for range n {
		expect(t, r.do(), 0, "")
		r.pollUntil("the end of the connection", func() bool { return !r.c.conns[0].Socket.IsOpen() })
	}
	if accepted.Load() != n {
		t.Errorf("%d connections, want %d", accepted.Load(), n)
	}
}

// TestClosedWithoutReply: a request that expects no reply does not go to a connection that the server has closed, even if
// no event has told so yet.
func TestClosedWithoutReply(t *testing.T) {
	lines := make(chan string) // without room: the connection lasts until the line was taken
	url := serve(t, func(c *net.TCPConn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		lines <- line
	})
	r := newRig(t, targets.Spec{URL: "tcp" + url[len("http"):len(url)-1], Body: []byte("${ordinal}\n")}, targets.Local{}, 1)
	for n := range 2 {
		expect(t, r.do(), 0, "")
		cn := r.c.conns[0]
		r.unnoticed("the end of the connection", cn, func() {
			if line := await.Receive(t, "a line", lines); line != fmt.Sprintln(n) {
				t.Errorf("line %q", line)
			}
		})
		cn.idleSince = r.c.Now() // it was idle only briefly
	}
}

// TestEchoWhileWriting: a server that answers while it reads gets a long payload whole, though no reply is expected.
func TestEchoWhileWriting(t *testing.T) {
	got := make(chan int64, 1)
	url := serve(t, func(c *net.TCPConn) {
		buf, all := make([]byte, 64<<10), int64(0)
		for {
			n, err := c.Read(buf)
			if all += int64(n); err != nil {
				break
			}
			if _, err := c.Write(buf[:n]); err != nil {
				break
			}
		}
		got <- all
	})
	const size = 32 << 20 // more than the buffers of both sockets hold
	r := newRig(t, targets.Spec{URL: "tcp" + url[len("http"):len(url)-1], Body: make([]byte, size), NoKeepAlive: true, Timeout: time.Hour}, targets.Local{}, 1)
	if got := r.do(); got.Class != "" || got.BytesOut != size {
		t.Errorf("%+v", got)
	}
	if n := <-got; n == 0 {
		t.Error("nothing arrived")
	}
}

// TestRedisIsExact: with many requests at once each command is sent once, also when the server closes its connections.
func TestRedisIsExact(t *testing.T) {
	server := redistest.Start(t)
	r := newRig(t, targets.Spec{URL: server.URL(), Body: []byte("INCR n")}, targets.Local{}, 4)
	const commands = 2000
	for r.sent < commands {
		if r.sent == commands/2 {
			server.Client().ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes", "MAXAGE", "1000000")
		}
		if !r.send() {
			r.poll(1)
		}
	}
	r.pollFor(commands)
	good := int64(0)
	for _, x := range r.got {
		if x.Outcome.Class == "" {
			good++
		}
	}
	// A command on its way may have been executed, though the reply did not come.
	n, err := server.Client().Get(t.Context(), "n").Int64()
	if err != nil || n < good || n > commands || good < commands-4 {
		t.Errorf("%d commands arrived of %d, %d were answered: %v", n, commands, good, err)
	}
}
