//go:build linux

package epoll

import (
	"bufio"
	"net"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/rawtest"
	"github.com/loadctl/loadctl/internal/redistest"
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
		r.pollUntil("the end of the connection", func() bool { return r.c.places[0].fd < 0 })
	}
	if accepted.Load() != n {
		t.Errorf("%d connections, want %d", accepted.Load(), n)
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
