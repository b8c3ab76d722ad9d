// Package rawtest tests that an engine sends requests of tcp, udp and redis as package targets documents it. Every engine
// passes it:
//
//	func TestRaw(t *testing.T) {
//		rawtest.Test(t, func(t *testing.T, spec targets.Spec, local targets.Local) rawtest.Do { … })
//	}
//
// The requests go to real servers over real sockets.
package rawtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/echotest"
	"github.com/loadctl/loadctl/targets"
)

// patient is a timeout that no request reaches, however slow the machine is.
const patient = 2 * time.Minute

// Do performs the request of a call, one at a time.
type Do func(targets.Call) targets.Outcome

// Open returns what sends the requests of a spec over at most local.MaxConnections. It is closed with the test.
type Open func(t *testing.T, spec targets.Spec, local targets.Local) Do

// Test runs all tests of an engine.
func Test(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"replies", testReplies},
		{"datagrams", testDatagrams},
		{"empty datagrams", testEmptyDatagrams},
		{"refused datagrams", testRefusedDatagrams},
		{"hostile servers", testHostile},
		{"connections", testConnections},
		{"connections without payload", testOnlyConnections},
		{"requests without reply", testWithoutReply},
		{"halted", testHalted},
		{"redis", testRedis},
		{"redis login", testLogin},
		{"redis over TLS", testSecureRedis},
		{"hostile redis", testHostileRedis},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// expect checks status and class of a request.
func expect(t *testing.T, got targets.Outcome, class string) targets.Outcome {
	t.Helper()
	if got.Status != 0 || got.Class != class {
		t.Errorf("%+v, want class %q", got, class)
	}
	return got
}

// testReplies: a reply ends where the spec says, and checks look at it.
func testReplies(t *testing.T, open Open) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		at := echotest.Listen(t, address, echotest.Lines)
		for _, c := range []struct {
			body, reply string
			checks      []string
			class       string
			in          int64
		}{
			{"hello\n", `until \n`, nil, "", 6},
			{"hello\n", `until "lo\x0a"`, []string{"body has hello", "size < 7B", "time < 10s"}, "", 6},
			{"hello\n", "bytes 6", []string{`body matches /^h.*o\n?$/`}, "", 6},
			{"hello\n", `matches /o\n$/`, nil, "", 6},
			{"hello\n", "any", []string{"body has x"}, "check body has x", 6},
			{`{"a": 1}` + "\n", `until \n`, []string{"json a = 1"}, "", 9},
			{"a ${ordinal}\n", `until \n`, []string{"body has 7"}, "", 4},
			{"aabaab\n", "until aab\\n", nil, "", 7},
			{"hello\n", "", nil, "", 0},
			{"hello\n", "bytes 7", nil, targets.ClassTimeout, 6},
			{strings.Repeat("x", 20_000) + "\n", `until x\n`, []string{"size > 20kB"}, "", 20_001},
			{strings.Repeat("x", 2_000_000) + "\n", `until x\n`, []string{"size > 2MB"}, "", 2_000_001},
		} {
			s := targets.Spec{URL: "tcp://" + at, Body: []byte(c.body), Reply: c.reply, Checks: c.checks, Timeout: patient}
			if c.class == targets.ClassTimeout {
				s.Timeout = 50 * time.Millisecond
			}
			do := open(t, s, targets.Local{})
			for range 2 {
				got := do(targets.Call{Number: 7})
				want := targets.Outcome{Class: c.class, BytesIn: c.in, BytesOut: int64(len(strings.ReplaceAll(c.body, "${ordinal}", "7")))}
				if c.class == targets.ClassTimeout { // a slow machine may do less in time
					got.BytesIn, got.BytesOut = max(got.BytesIn, want.BytesIn), max(got.BytesOut, want.BytesOut)
				}
				if got != want {
					t.Errorf("%q, %s: %+v, want %+v", c.body[:min(20, len(c.body))], c.reply, got, want)
				}
			}
		}
	}
}

// testDatagrams: one datagram or several, none, a late one, and IPv6.
func testDatagrams(t *testing.T, open Open) {
	type outcome = targets.Outcome
	late := make(chan struct{})
	var first atomic.Bool
	first.Store(true)
	for name, c := range map[string]struct {
		answer func(b []byte) [][]byte
		reply  string
		want   []outcome
	}{
		"echo":     {func(b []byte) [][]byte { return [][]byte{b} }, "any", []outcome{{BytesIn: 2, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
		"two":      {func(b []byte) [][]byte { return [][]byte{b, b} }, "bytes 4", []outcome{{BytesIn: 4, BytesOut: 2}, {BytesIn: 4, BytesOut: 2}}},
		"longer":   {func(b []byte) [][]byte { return [][]byte{make([]byte, 60_000)} }, "any", []outcome{{BytesIn: 60_000, BytesOut: 2}}},
		"empty":    {func(b []byte) [][]byte { return [][]byte{{}} }, "any", []outcome{{BytesOut: 2}, {BytesOut: 2}}},
		"none":     {func(b []byte) [][]byte { return nil }, "any", []outcome{{Class: targets.ClassTimeout, BytesOut: 2}}},
		"unwanted": {func(b []byte) [][]byte { return [][]byte{b, b} }, "any", []outcome{{BytesIn: 2, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
		"no reply": {func(b []byte) [][]byte { return [][]byte{b, b} }, "", []outcome{{BytesOut: 2}, {BytesOut: 2}}},
		"late": {func(b []byte) [][]byte {
			if first.Swap(false) {
				<-late
				return [][]byte{[]byte("old")}
			}
			return [][]byte{b}
		}, "any", []outcome{{Class: targets.ClassTimeout, BytesOut: 2}, {BytesIn: 2, BytesOut: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
				if name == "late" && address != "127.0.0.1:0" {
					continue
				}
				at := echotest.Datagrams(t, address, c.answer)
				s := targets.Spec{URL: "udp://" + at, Body: []byte("hi"), Reply: c.reply, Timeout: patient}
				switch name {
				case "none":
					s.Timeout = 100 * time.Millisecond
				case "late":
					s.Timeout = 5 * time.Second // the second request has to be answered in it, on a slow machine too
				}
				do := open(t, s, targets.Local{})
				for i, want := range c.want {
					if i == 1 && name == "late" {
						close(late)
					}
					if got := do(targets.Call{}); got != want {
						t.Errorf("%s %d: %+v, want %+v", address, i, got, want)
					}
				}
			}
		})
	}
}

// testEmptyDatagrams: a datagram without payload is sent, and answered.
func testEmptyDatagrams(t *testing.T, open Open) {
	at := echotest.Datagrams(t, "127.0.0.1:0", func(b []byte) [][]byte { return [][]byte{fmt.Append(nil, len(b))} })
	do := open(t, targets.Spec{URL: "udp://" + at, Reply: "any", Checks: []string{"body has 0"}, Timeout: patient}, targets.Local{})
	for range 2 {
		if got := expect(t, do(targets.Call{}), ""); got.BytesIn != 1 || got.BytesOut != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// testRefusedDatagrams: a host without a server refuses a datagram. If that expects no reply, a later one on the socket has
// the error, and is sent.
func testRefusedDatagrams(t *testing.T, open Open) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	url := "udp://" + c.LocalAddr().String()
	expect(t, open(t, targets.Spec{URL: url, Body: []byte("x"), Reply: "any", Timeout: patient}, targets.Local{})(targets.Call{}), targets.ClassConnect)
	do := open(t, targets.Spec{URL: url, Body: []byte("x")}, targets.Local{})
	expect(t, do(targets.Call{}), "")
	await.True(t, "the refusal of an earlier datagram", func() bool {
		got := do(targets.Call{})
		if got.BytesOut != 1 {
			t.Errorf("%+v: it was sent", got)
		}
		return got.Class == targets.ClassConnect
	})
}

// testHostile: whatever a server does, the request ends with the right class, and in bounded memory.
func testHostile(t *testing.T, open Open) {
	line := func(c net.Conn) { _, _ = bufio.NewReader(c).ReadString('\n') }
	forever := func(c net.Conn, b []byte) {
		for {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		reply string
		class string
	}{
		"closes in the middle": {func(c net.Conn) { line(c); _, _ = c.Write([]byte("hal")) }, `until \n`, targets.ClassEOF},
		"closes at once":       {func(c net.Conn) { line(c) }, "any", targets.ClassEOF},
		"never answers":        {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "any", targets.ClassTimeout},
		"resets":               {func(c net.Conn) { line(c); _ = c.(*net.TCPConn).SetLinger(0) }, "any", targets.ClassReset},
		"endless":              {func(c net.Conn) { line(c); forever(c, make([]byte, 1<<16)) }, `until \n`, targets.ClassBodyLimit},
		"endless, searched":    {func(c net.Conn) { line(c); forever(c, []byte(strings.Repeat("a", 1<<16))) }, "matches /(a+)+b/", targets.ClassBodyLimit},
		"drip, searched":       {func(c net.Conn) { line(c); forever(c, []byte("a")) }, "matches /(a+)+b/", targets.ClassBodyLimit},
	} {
		t.Run(name, func(t *testing.T) {
			at := echotest.Listen(t, "127.0.0.1:0", c.serve)
			s := targets.Spec{URL: "tcp://" + at, Body: []byte("x\n"), Reply: c.reply, Checks: []string{"body has x"}, Timeout: patient}
			if c.class == targets.ClassTimeout {
				s.Timeout = 50 * time.Millisecond
			}
			bounded(t, func() { expect(t, open(t, s, targets.Local{})(targets.Call{}), c.class) })
		})
	}
}

// bounded checks that f leaves no more than 8 MiB behind.
func bounded(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	if runtime.ReadMemStats(&after); after.HeapAlloc > before.HeapAlloc+8<<20 {
		t.Errorf("%d bytes are held", after.HeapAlloc-before.HeapAlloc)
	}
}

// testConnections: connections are kept, unless they may not be, or more comes than the reply.
func testConnections(t *testing.T, open Open) {
	var accepted atomic.Int64
	chatty := func(c net.Conn) {
		for br := bufio.NewReader(c); ; {
			if _, err := br.ReadBytes('\n'); err != nil {
				return
			}
			_, _ = c.Write([]byte("a\nb\n")) // in one packet
		}
	}
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		reply string
		once  bool
		want  int64
	}{
		"kept": {echotest.Lines, `until \n`, false, 1}, "not kept": {echotest.Lines, `until \n`, true, 5},
		"more than a reply": {chatty, `until \n`, false, 5}, "more bytes than asked for": {chatty, "bytes 2", false, 5},
	} {
		accepted.Store(0)
		at := echotest.Listen(t, "127.0.0.1:0", func(conn net.Conn) {
			accepted.Add(1)
			c.serve(conn)
		})
		do := open(t, targets.Spec{URL: "tcp://" + at, Body: []byte("a\n"), Reply: c.reply, NoKeepAlive: c.once, Timeout: patient}, targets.Local{})
		for range 5 {
			expect(t, do(targets.Call{}), "")
		}
		if n := accepted.Load(); n != c.want {
			t.Errorf("%s: %d connections, want %d", name, n, c.want)
		}
	}
}

// testOnlyConnections: without a payload a request is a connection of its own, and what the server says on it.
func testOnlyConnections(t *testing.T, open Open) {
	var accepted atomic.Int64
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		accepted.Add(1)
		_, _ = c.Write([]byte("220 hello\r\n"))
		_, _ = io.Copy(io.Discard, c)
	})
	for _, reply := range []string{"", `until \n`} {
		accepted.Store(0)
		do := open(t, targets.Spec{URL: "tcp://" + at, Reply: reply, NoKeepAlive: true, Timeout: patient}, targets.Local{})
		for range 3 {
			if got := expect(t, do(targets.Call{}), ""); got.BytesOut != 0 || (got.BytesIn > 0) != (reply != "") {
				t.Errorf("%q: %+v", reply, got)
			}
		}
		await.True(t, "three connections", func() bool { return accepted.Load() == 3 })
	}
}

// testWithoutReply: each payload arrives once and whole, though the server answers and the answers are thrown away.
func testWithoutReply(t *testing.T, open Open) {
	var mu sync.Mutex
	lines := map[string]int{}
	at := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		for br := bufio.NewReader(c); ; {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			mu.Lock()
			lines[line]++
			mu.Unlock()
			if _, err := c.Write([]byte(line)); err != nil {
				return
			}
		}
	})
	do := open(t, targets.Spec{URL: "tcp://" + at, Body: []byte("${ordinal} and a text that makes it longer\n"), Timeout: patient}, targets.Local{MaxConnections: 2})
	sent := uint64(0)
	next := func() {
		if got := do(targets.Call{Number: sent}); got.Class != "" {
			t.Fatalf("%d: %+v", sent, got)
		}
		sent++
	}
	const n = 5000
	for sent < n {
		next()
	}
	// Only a request throws answers away, and a server that is far behind waits for that. So there are some more requests.
	await.True(t, fmt.Sprintf("%d lines", n), func() bool {
		next()
		mu.Lock()
		defer mu.Unlock()
		for i := range n {
			if lines[fmt.Sprintf("%d and a text that makes it longer\n", i)] == 0 {
				return false
			}
		}
		return true
	})
	mu.Lock()
	defer mu.Unlock()
	for line, times := range lines {
		if times != 1 {
			t.Errorf("%q arrived %d times", line, times)
		}
	}
}

// testHalted: nothing is written once the run has ended.
func testHalted(t *testing.T, open Open) {
	var bytes, datagrams atomic.Int64
	tcp := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		bytes.Add(n)
	})
	udp := echotest.Datagrams(t, "127.0.0.1:0", func([]byte) [][]byte { datagrams.Add(1); return nil })
	for _, s := range []targets.Spec{
		{URL: "tcp://" + tcp, Body: []byte("x"), Reply: "any"}, {URL: "tcp://" + tcp, Body: []byte("x")}, {URL: "tcp://" + tcp, NoKeepAlive: true},
		{URL: "udp://" + udp, Body: []byte("x")}, {URL: "udp://" + udp},
	} {
		s.Timeout = patient
		do := open(t, s, targets.Local{Halted: func() bool { return true }})
		if got := expect(t, do(targets.Call{}), targets.ClassCanceled); got.BytesOut != 0 {
			t.Errorf("%+v", got)
		}
	}
	if bytes.Load() != 0 || datagrams.Load() != 0 {
		t.Errorf("%d bytes, %d datagrams", bytes.Load(), datagrams.Load())
	}
}
