//go:build linux

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
)

func TestTimes(t *testing.T) {
	var said bytes.Buffer
	want := []int64{1, 5, 1 << 40}
	if err := writeTimes(&said, want); err != nil {
		t.Fatal(err)
	}
	rest, ok := bytes.CutPrefix(said.Bytes(), []byte("end\n"))
	got, err := readTimes(bytes.NewReader(rest))
	if !ok || err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := readTimes(bytes.NewReader(rest[:len(rest)-1])); err == nil {
		t.Error("times that are cut off were read")
	}
}

// listening starts an endpoint that ends with the test, and returns it with its address.
func listening(t *testing.T, o endpointOptions) (*endpoint, string) {
	t.Helper()
	runtime.LockOSThread() // the endpoint dies with this thread
	t.Cleanup(runtime.UnlockOSThread)
	e, err := startEndpoint(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.end)
	address, err := e.line(t.Context(), "listening ", long)
	if err != nil {
		t.Fatal(err)
	}
	return e, address
}

// stamping returns when the kernel stamps what it receives, and lets it do so until the test ends. It begins some time after
// the first socket has asked for stamps, on a busy machine later.
func stamping(t *testing.T) {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var s *stamps
	if failed := raw.Control(func(fd uintptr) { s, err = stamp(int(fd), make([]byte, 1)) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	const wait = 20 * time.Millisecond // between receipt and reading: what has no stamp gets the time of reading
	await.True(t, "a stamp of the kernel", func() bool {
		written := monotonic()
		if _, err := c.WriteTo([]byte{0}, c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		var at int64
		if err := raw.Control(func(fd uintptr) { _, at, _ = s.receive(int(fd)) }); err != nil {
			t.Fatal(err)
		}
		return at > 0 && time.Duration(at-written) < wait/2
	})
}

// long is longer than any test: go test ends before.
const long = 24 * time.Hour

// TestEndpoint checks that the endpoint counts and times all requests: also two that come in one piece, and those
// during a stall.
func TestEndpoint(t *testing.T) {
	t.Run("as read", func(t *testing.T) { timed(t, false) })
	t.Run("as received", func(t *testing.T) {
		stamping(t)
		for !timed(t, true) && !t.Failed() {
			t.Log("this machine wrote nothing during the stall, so that showed nothing")
		}
	})
}

// timed stalls an endpoint as soon as the first request has come. Requests sent during the stall are received at once,
// and read only after it. It returns whether one was sent during the stall.
func timed(t *testing.T, stamped bool) bool {
	const stall = 500 * time.Millisecond
	e, address := listening(t, endpointOptions{stallFor: stall, stamped: stamped})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	answers := bufio.NewReader(conn)
	before := monotonic()
	var written []int64
	for _, requests := range []int{1, 2, 1} {
		if _, err := io.WriteString(conn, strings.Repeat(request, requests)); err != nil {
			t.Fatal(err)
		}
		written = append(written, monotonic())
		got := make([]byte, requests*len(httpAnswer))
		if _, err := io.ReadFull(answers, got); err != nil || string(got) != strings.Repeat(httpAnswer, requests) {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	after := monotonic()
	if _, err := e.line(t.Context(), "first ", long); err != nil {
		t.Fatal(err)
	}
	times, err := e.finish(t.Context())
	if err != nil || len(times) != 4 {
		t.Fatalf("arrived: %v, %v", times, err)
	}
	if !slices.IsSorted(times) || times[0] < before || times[3] > after {
		t.Errorf("%v is not from %d to %d", times, before, after)
	}
	if waited := time.Duration(times[1] - times[0]); !stamped && waited < stall {
		t.Errorf("it was to stand still for %v, but it read on after %v", stall, waited)
	}
	stalledTo := times[0] + int64(stall)
	if in := written[1] < stalledTo; !in || !stamped {
		return in
	}
	if times[1] >= stalledTo {
		t.Errorf("it says that a request came %v after it was written", time.Duration(times[1]-written[1]))
	}
	return true
}

// TestReceivedInOrder checks that arrivals are in the order of receipt. The connection that is read first after the
// stall is the one whose request came last.
func TestReceivedInOrder(t *testing.T) {
	const stall = 200 * time.Millisecond
	stamping(t)
	e, address := listening(t, endpointOptions{stallFor: stall, stamped: true})
	var conns [2]net.Conn
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", address); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
	}
	for i, c := range []net.Conn{conns[0], conns[1], conns[0]} {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := e.line(t.Context(), "first ", long); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, answers := range []int{2, 1} {
		if _, err := io.ReadFull(conns[i], make([]byte, answers*len(httpAnswer))); err != nil {
			t.Fatal(err)
		}
	}
	if times, err := e.finish(t.Context()); err != nil || len(times) != 3 || !slices.IsSorted(times) {
		t.Errorf("arrived: %v, %v", times, err)
	}
}

// TestSilentEndpoint checks that a wait in vain ends with an error that names what did not come.
func TestSilentEndpoint(t *testing.T) {
	e, _ := listening(t, endpointOptions{})
	if _, err := e.line(t.Context(), "first ", time.Millisecond); err == nil || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("nobody has fired: %v", err)
	}
}

// TestEvents checks that an endpoint sends all events of its answers, each a gap after the one before, and counts them.
func TestEvents(t *testing.T) {
	const answers, events, gap = 5, 7, 3 * time.Millisecond
	e, address := listening(t, endpointOptions{speaks: speakEvents, events: events, gap: gap})
	var took time.Duration
	for range answers {
		time.Sleep(events * gap) // a wheel that stood still gives no event of that time
		began := monotonic()
		response, err := http.Get("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != strings.Repeat(eventData, events) {
			t.Fatalf("%v, %q", err, body)
		}
		took += time.Duration(monotonic() - began)
	}
	if _, err := e.line(t.Context(), "first ", long); err != nil {
		t.Fatal(err)
	}
	times, err := e.finish(t.Context())
	if err != nil || len(times) != answers*events {
		t.Errorf("%d events, %v", len(times), err)
	}
	// All but the first event of an answer are due a gap after the one before; the endpoint catches up, and is never early.
	if least := answers*(events-1)*gap - answers*tick; took < least {
		t.Errorf("all came within %v, sooner than %v", took, least)
	}
}
