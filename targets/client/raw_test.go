package client_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestRawCanceled: a request ends with its context, and nothing is sent once the target is halted.
func TestRawCanceled(t *testing.T) {
	var got atomic.Int64
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		got.Add(n)
	})
	s := targets.Spec{URL: "tcp://" + at, Body: []byte("x"), Reply: "any"}
	ctx, cancel := context.WithCancel(t.Context())
	target := open(t, s, targets.Local{Halted: func() bool { cancel(); return false }})
	if got := target.Do(ctx, targets.Call{}); got.Class != targets.ClassCanceled {
		t.Errorf("%+v", got)
	}
	halted := open(t, s, targets.Local{Halted: func() bool { return true }})
	if got := do(t, halted, 0, targets.ClassCanceled); got.BytesOut != 0 {
		t.Errorf("%+v", got)
	}
	halted.Close()
	do(t, halted, 0, targets.ClassCanceled)
}

// TestMixedSchemes: the steps of a flow may be of different schemes, and share their connections' limit. What a step
// takes of a reply fills a later one.
func TestMixedSchemes(t *testing.T) {
	at := echotest.Listen(t, "127.0.0.1:0", echotest.Lines)
	web := echotest.Listen(t, "127.0.0.1:0", answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	udp := echotest.Datagrams(t, "127.0.0.1:0", func(b []byte) [][]byte { return [][]byte{b} })
	s := targets.Spec{Redirects: 1, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "line", URL: "tcp://" + at, Body: []byte("id=${ordinal}\n"), Reply: `until \n`, Takes: []targets.Take{{Name: "id", From: `regex /id=(\d+)/`}}},
		{Name: "web", URL: "http://" + web + "/${id}"},
		{Name: "gram", URL: "udp://" + udp, Body: []byte("<${id}>"), Reply: "any", Checks: []string{"body has <5>"}},
	}}}}
	target := open(t, s, targets.Local{MaxConnections: 1})
	var session targets.Session
	for step := range 3 {
		if got := target.Do(t.Context(), targets.Call{Number: 5, Step: step, Session: &session}); got.Class != "" {
			t.Errorf("step %d: %+v", step, got)
		}
	}
	s.Flows[0].Steps = s.Flows[0].Steps[:1]
	if err := wire.Validate(s); err == nil || !strings.Contains(err.Error(), "redirects: only http") {
		t.Errorf("%v: no step can be redirected", err)
	}
}

// TestRawLocals: connections and sockets come from the local addresses, in turn, and may be opened ahead.
func TestRawLocals(t *testing.T) {
	var mu sync.Mutex
	from := map[string]int{}
	note := func(a net.Addr) {
		host, _, _ := net.SplitHostPort(a.String())
		mu.Lock()
		from[host]++
		mu.Unlock()
	}
	tcp := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		note(c.RemoteAddr())
		echotest.Lines(c)
	})
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	go func() {
		for buf := make([]byte, 100); ; {
			n, a, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			note(a)
			udp.WriteTo(buf[:n], a)
		}
	}()
	for _, url := range []string{"tcp://" + tcp, "udp://" + udp.LocalAddr().String()} {
		mu.Lock()
		clear(from)
		mu.Unlock()
		target := open(t, targets.Spec{URL: url, Body: []byte("x\n"), Reply: "any", NoKeepAlive: true}, targets.Local{Addresses: []string{"127.0.0.2", "127.0.0.3"}})
		for range 4 {
			do(t, target, 0, "")
		}
		mu.Lock()
		if from["127.0.0.2"] != 2 || from["127.0.0.3"] != 2 {
			t.Errorf("%s: from %v", url, from)
		}
		mu.Unlock()
	}
	spec := targets.Spec{URL: "tcp://" + tcp, Body: []byte("x\n"), Reply: "any"}
	target := open(t, spec, targets.Local{})
	do(t, target, 0, "")
	if err := probe.Reach(t.Context(), spec, targets.Local{}); err != nil {
		t.Error(err)
	}
}
