//go:build linux

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
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

// listening starts an endpoint that ends with the test. It returns its address, too.
func listening(t *testing.T, o endpointOptions) (*endpoint, string) {
	t.Helper()
	runtime.LockOSThread() // the endpoint dies with this thread
	t.Cleanup(runtime.UnlockOSThread)
	e, err := startEndpoint(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.end)
	address, err := e.line(t.Context(), "listening ", listenPatience)
	if err != nil {
		t.Fatal(err)
	}
	return e, address
}

// TestEndpoint counts and times all requests, also two in one piece, and while it stalls.
func TestEndpoint(t *testing.T) {
	const stall = 100 * time.Millisecond
	e, address := listening(t, endpointOptions{stallFor: stall}) // as soon as the first one has come
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	answers := bufio.NewReader(conn)
	before := monotonic()
	for _, requests := range []int{1, 2, 1} {
		if _, err := io.WriteString(conn, strings.Repeat(request, requests)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, requests*len(answer))
		if _, err := io.ReadFull(answers, got); err != nil || string(got) != strings.Repeat(answer, requests) {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	after := monotonic()
	if _, err := e.line(t.Context(), "first ", listenPatience); err != nil {
		t.Fatal(err)
	}
	times, err := e.finish(t.Context())
	if err != nil || len(times) != 4 {
		t.Fatalf("arrived: %v, %v", times, err)
	}
	if !slices.IsSorted(times) || times[0] < before || times[3] > after {
		t.Errorf("%v is not from %d to %d", times, before, after)
	}
	if waited := time.Duration(times[1] - times[0]); waited < stall {
		t.Errorf("it was to stand still for %v, but it read on after %v", stall, waited)
	}
}

// TestSilentEndpoint: whoever waits in vain learns for what.
func TestSilentEndpoint(t *testing.T) {
	e, _ := listening(t, endpointOptions{})
	if _, err := e.line(t.Context(), "first ", time.Millisecond); err == nil || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("nobody has fired: %v", err)
	}
}

// TestAwakeEndpoint: it uses its processor while nothing comes, and one that sleeps does not; both answer.
func TestAwakeEndpoint(t *testing.T) {
	for _, awake := range []bool{true, false} {
		e, address := listening(t, endpointOptions{awake: awake})
		before := spent(t, e)
		answered(t, address)
		if _, err := e.line(t.Context(), "first ", listenPatience); err != nil {
			t.Fatal(err)
		}
		for awake && spent(t, e)-before < 100*time.Millisecond {
			time.Sleep(time.Millisecond)
		}
		if used := spent(t, e) - before; !awake && used > 50*time.Millisecond {
			t.Errorf("an endpoint that sleeps used %v for one request", used)
		}
		times, err := e.finish(t.Context())
		if err != nil || len(times) != 1 {
			t.Errorf("awake: %v: arrived: %v, %v", awake, times, err)
		}
	}
}

// spent is the processor time of an endpoint so far.
func spent(t *testing.T, e *endpoint) time.Duration {
	t.Helper()
	d, err := cpu(e.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// answered sends one request and waits for its answer.
func answered(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, len(answer))); err != nil {
		t.Fatal(err)
	}
}
