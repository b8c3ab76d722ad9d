//go:build unix

package targets

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/echotest"
)

// connected returns the two ends of a connection.
func connected(t *testing.T) (near *socket, far *net.TCPConn) {
	t.Helper()
	accepted := make(chan net.Conn, 1)
	addr := echotest.Listen(t, "127.0.0.1:0", func(c net.Conn) {
		accepted <- c
		<-t.Context().Done()
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return newSocket(c), (<-accepted).(*net.TCPConn)
}

// readable waits until there is something to read, or the end, and reads none of it.
func readable(t *testing.T, s *socket) {
	t.Helper()
	err := s.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A request leaves only if nothing arrived while the connection was idle.
func TestSocketLooksBeforeItWrites(t *testing.T) {
	for name, spoil := range map[string]func(far *net.TCPConn) error{
		"closed":      (*net.TCPConn).Close,
		"half closed": (*net.TCPConn).CloseWrite,
		"reset": func(far *net.TCPConn) error {
			return errors.Join(far.SetLinger(0), far.Close())
		},
		"unsolicited": func(far *net.TCPConn) error {
			_, err := far.Write([]byte("HTTP/1.1 408 Request Timeout\r\n\r\n"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := connected(t)
			if near.hungUp() {
				t.Fatal("it is said to have hung up before it did")
			}
			if err := spoil(far); err != nil {
				t.Fatal(err)
			}
			readable(t, near)
			near.expect()
			if n, err := near.Write([]byte("request")); n != 0 || !errors.Is(err, errHungUp) {
				t.Errorf("wrote %d, %v", n, err)
			}
		})
	}
}

// Before the first answer, data that a TLS server sends by itself is no hang-up, but the end of the stream is one.
func TestSocketKeepsWithTickets(t *testing.T) {
	near, far := connected(t)
	near.greeted()
	if _, err := far.Write([]byte("ticket")); err != nil {
		t.Fatal(err)
	}
	readable(t, near)
	if near.hungUp() {
		t.Fatal("tickets are taken for a hang-up")
	}
	go func() {
		buf := make([]byte, 7)
		if _, err := io.ReadFull(far, buf); err == nil {
			_, _ = far.Write(buf)
		}
	}()
	near.expect()
	if n, err := near.Write([]byte("request")); n != 7 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	buf := make([]byte, 13)
	if _, err := io.ReadFull(near, buf); err != nil || string(buf) != "ticketrequest" {
		t.Fatalf("read %q, %v", buf, err)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	readable(t, near)
	if !near.hungUp() {
		t.Error("the end is not seen")
	}
	near.answered()
	if !near.hungUp() {
		t.Error("the end is not seen after an answer")
	}
}

// The write of a request lasts until an answer begins to arrive, so that nobody tries to read too early.
func TestSocketWaitsForTheAnswer(t *testing.T) {
	near, far := connected(t)
	go func() {
		for buf := make([]byte, 7); ; {
			if _, err := io.ReadFull(far, buf); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
			if _, err := far.Write(buf); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 7)
	for range 20 {
		near.expect()
		if n, err := near.Write([]byte("request")); n != 7 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		if !near.hungUp() { // it takes a byte
			t.Fatal("nothing to read after the write")
		}
		if _, err := io.ReadFull(near, buf[1:]); err != nil {
			t.Fatal(err)
		}
	}
}

// Bytes that the system does not take at once are written as soon as it takes them.
func TestSocketWritesAll(t *testing.T) {
	near, far := connected(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	got := make(chan []byte)
	go func() {
		buf := make([]byte, len(want))
		n, _ := io.ReadFull(far, buf)
		got <- buf[:n]
	}()
	near.expect()
	if n, err := near.Write(want); n != len(want) || err != nil {
		t.Errorf("wrote %d of %d, %v", n, len(want), err)
	}
	near.Close()
	if !bytes.Equal(<-got, want) {
		t.Error("something else arrived")
	}
}

// If the deadline passes before a request is written, the write fails; later, the answer fails.
func TestSocketDeadline(t *testing.T) {
	near, far := connected(t)
	past := time.Unix(1, 0)
	if err := near.SetDeadline(past); err != nil {
		t.Fatal(err)
	}
	near.expect()
	if n, err := near.Write([]byte("request")); n != 0 || !isTimeout(err) {
		t.Errorf("past its deadline it wrote %d, %v", n, err)
	}
	if err := near.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.ReadFull(far, make([]byte, 7)) // the request is out
		_ = near.SetDeadline(past)
	}()
	near.expect()
	if n, err := near.Write([]byte("request")); n != 7 || err != nil {
		t.Errorf("while waiting: %d, %v", n, err)
	}
	if _, err := near.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("the answer: %v", err)
	}
}
