//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// serveStampedTLS is an endpoint with TLS whose requests arrive when the kernel receives them, until stdin ends. Like a
// loop, it takes each empty line for the end of a request.
func serveStampedTLS(o endpointOptions, stdin io.Reader, stdout io.Writer) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		return errors.Join(raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		}), failed)
	}}
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	fmt.Fprintln(stdout, "listening", listener.Addr())
	s := &stampedServer{config: &tls.Config{Certificates: []tls.Certificate{certificate}}, offset: stampOffset(), say: stdout, times: make([]int64, 0, room)}
	if s.http2 = o.http2; s.http2 {
		s.config.NextProtos = []string{"h2"}
	}
	go s.accept(listener)
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	s.mu.Lock() // for good: nothing is recorded any more
	slices.Sort(s.times)
	return writeTimes(stdout, s.times)
}

type stampedServer struct {
	config *tls.Config
	http2  bool
	offset int64
	say    io.Writer

	mu    sync.Mutex
	times []int64
}

func (s *stampedServer) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go s.serve(c)
	}
}

// serve answers the requests of a connection.
func (s *stampedServer) serve(c net.Conn) {
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 4<<10)
	below := &stampedConn{Conn: c, raw: raw, buf: buf, stamps: newStamps(s.offset, buf)}
	secure := tls.Server(below, s.config)
	if s.http2 {
		s.serveFrames(secure, below)
		return
	}
	for request := make([]byte, 4<<10); ; {
		n, err := secure.Read(request)
		if err != nil {
			return
		}
		for range bytes.Count(request[:n], []byte("\r\n\r\n")) {
			s.record(below.at)
			if _, err := io.WriteString(secure, httpAnswer); err != nil {
				return
			}
		}
	}
}

// serveFrames is serve with HTTP/2.
func (s *stampedServer) serveFrames(secure net.Conn, below *stampedConn) {
	var c framed
	for buf := make([]byte, 16<<10); ; {
		n, err := secure.Read(buf)
		if err != nil {
			return
		}
		if replies := c.answer(buf[:n], func() { s.record(below.at) }); len(replies) > 0 {
			if _, err := secure.Write(replies); err != nil {
				return
			}
		}
	}
}

func (s *stampedServer) record(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times = append(s.times, at); len(s.times) == 1 {
		fmt.Fprintf(s.say, "first %d\n", at)
	}
}

// A stampedConn notes when the kernel received what it read last.
type stampedConn struct {
	net.Conn
	raw    syscall.RawConn
	stamps *stamps // reads into buf
	buf    []byte
	unread []byte // of buf
	at     int64
}

// Read implements net.Conn.
func (c *stampedConn) Read(b []byte) (int, error) {
	if len(c.unread) == 0 {
		var n uintptr
		var errno unix.Errno
		err := c.raw.Read(func(fd uintptr) bool {
			n, c.at, errno = c.stamps.receive(int(fd))
			return errno != unix.EAGAIN && errno != unix.EINTR
		})
		switch {
		case err != nil:
			return 0, err
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		case c.at == 0:
			c.at = monotonic()
		}
		c.unread = c.buf[:n]
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// ratesTLS asks loadworker and fortio for a rate, with TLS and without, in turns.
func ratesTLS(ctx context.Context, b *bench, s *section) error {
	const rate = 10_000
	precise := func(variant string) tool {
		return product{variant: variant, flags: []string{"--pace-resolution", "precise"}}.tool(b)
	}
	plain, secure := precise("plain"), precise("TLS")
	length, warm := b.lasting(4*time.Second, time.Second)
	l := load{connections: 64, rate: rate, length: length}
	tools := []tool{secure}
	if f, ok := b.find("fortio"); ok {
		f.name = "fortio, TLS"
		tools = append(tools, f)
	}
	all := slices.Concat(
		b.shooters(s, []tool{plain}, l, endpointOptions{stamped: true}, warm),
		b.shooters(s, tools, l, endpointOptions{stamped: true, tls: true}, warm),
	)
	rounds, err := contend(ctx, b, s, b.rounds, pacing(all, rate))
	if err != nil {
		return err
	}
	rateTable(s, rounds)
	figure := func(of1 func(paced) float64) float64 { return of(rounds.take(secure.name), of1).median() }
	s.atMost(secure.name+", late p50, µs", figure(paced.p50), 60, "%.0f")
	s.atMost(secure.name+", late p99, µs", figure(paced.p99), 300, "%.0f")
	s.atMost(secure.name+", variation of gaps", figure(paced.gaps), 0.6, "%.2f")
	return nil
}
