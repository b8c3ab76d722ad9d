package http2test

import (
	"cmp"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// A Server plays a case on its first connection. On later ones it answers each request with 200 and "hello", as one
// would that took over, or leaves too.
type Server struct {
	Address string // host:port

	c           Case
	size        int // bytes of each write; 0 = all at once
	mu          sync.Mutex
	changed     *sync.Cond
	requests    int // heads that came, on all connections
	connections int
	body        int // bytes of bodies that came, on the first connection
	gone        bool
	over        bool
	open        []net.Conn
}

// Serve starts a server until the test ends. With secure it speaks TLS; then secure should offer h2. If size is not 0, it
// sends so many bytes at a time.
func Serve(tb testing.TB, c Case, secure *tls.Config, size int) *Server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Address: l.Addr().String(), c: c, size: size}
	s.changed = sync.NewCond(&s.mu)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	var all sync.WaitGroup
	all.Go(func() { s.accept(l, &all) })
	tb.Cleanup(func() {
		l.Close()
		s.change(func() {
			s.over = true
			for _, conn := range s.open {
				conn.Close()
			}
		})
		all.Wait()
	})
	return s
}

// Requests is how many heads of requests came so far.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Gone reports whether the client has closed the first connection.
func (s *Server) Gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Outcomes returns the expected results of all requests of a client that sends unprocessed ones again, sorted.
func (c *Case) Outcomes() (all []Outcome) {
	for i := range c.Count() {
		o := c.Outcome(i)
		switch {
		case o.Class != Unprocessed:
		case c.Leaves:
			o = Outcome{Class: Reset + "GOAWAY"}
		default:
			o = Outcome{Status: 200, Body: 5}
		}
		all = append(all, o)
	}
	slices.SortFunc(all, Compare)
	return all
}

// Heads returns how many heads of requests the server of such a client gets.
func (c *Case) Heads() int {
	n := c.Count()
	for i := range c.Count() {
		if c.Outcome(i).Class == Unprocessed {
			n++
		}
	}
	return n
}

// Compare orders outcomes.
func Compare(a, b Outcome) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Body, b.Body))
}

func (s *Server) accept(l net.Listener, all *sync.WaitGroup) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		first, over := false, false
		s.change(func() {
			first, over = s.connections == 0, s.over
			s.connections++
			s.open = append(s.open, conn)
		})
		if over {
			conn.Close()
			return
		}
		if first {
			all.Go(func() { s.play(conn) })
		}
		all.Go(func() { s.read(conn, first) })
	}
}

// change changes the state, and wakes those who wait for it.
func (s *Server) change(f func()) {
	s.mu.Lock()
	f()
	s.changed.Broadcast()
	s.mu.Unlock()
}

// await waits until the state is as wanted. It reports false if the test ended first.
func (s *Server) await(wanted func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !wanted() && !s.over {
		s.changed.Wait()
	}
	return !s.over
}

// read reads what a client sends, to the end. On later connections it answers.
func (s *Server) read(conn net.Conn, first bool) {
	defer conn.Close()
	defer s.change(func() { s.gone = s.gone || first })
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	if !first {
		s.write(conn, Settings())
	}
	f := http2.NewFramer(io.Discard, conn)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.HeadersFrame:
			s.change(func() { s.requests++ })
			switch {
			case first:
			case s.c.Leaves:
				s.write(conn, leave(0, 0))
			default:
				s.write(conn, Answer(frame.StreamID))
			}
		case *http2.DataFrame:
			if first {
				s.change(func() { s.body += len(frame.Data()) })
			}
		}
	}
}

// play sends what the case says.
func (s *Server) play(conn net.Conn) {
	s.write(conn, s.c.First()) // a client may wait for it before it sends more than one request
	if !s.await(func() bool { return s.requests >= s.c.Count() }) {
		return
	}
	for _, step := range s.c.Steps {
		if !s.await(func() bool { return s.body >= step.After }) {
			return
		}
		s.write(conn, step.Bytes)
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && s.c.Closes {
		_ = half.CloseWrite() // a whole close could cut off what was sent, as an answer to bytes that come later
	}
}

// write writes bytes. Clients may have had enough.
func (s *Server) write(conn net.Conn, b []byte) {
	for piece := range slices.Chunk(b, cmp.Or(s.size, max(1, len(b)))) {
		if _, err := conn.Write(piece); err != nil {
			return
		}
	}
}
