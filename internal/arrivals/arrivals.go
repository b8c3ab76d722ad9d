// Package arrivals is an HTTP/1.1 server that records when each request
// arrived. Tests of exactness fire at it and then ask how many requests came,
// and when: what the generator says it sent is checked against what a server
// saw.
//
//	srv, err := arrivals.Start(arrivals.Options{})
//	if err != nil { … }
//	defer srv.Close()
//	fire(srv.URL())
//	worst := arrivals.MaxInWindow(srv.Arrivals(), 100*time.Millisecond)
//
// Guarantees: every request that was received whole is counted exactly once,
// and before it is answered; so whoever has the answer finds the request in
// Count, Arrivals and Paths. A request whose connection ended in the middle is
// not counted. Arrival times come from the monotonic clock, so a step of the
// wall clock during a test does not show.
//
// It is fast because it does little: no routing, no header map, one write for
// an answer that was built once. It is a test instrument and no web server:
// bodies need a Content-Length, and lines of more than 8 KiB end the
// connection.
package arrivals

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options says how a Server listens and answers. The zero value is a plain
// server on a free port of 127.0.0.1 that answers 200 at once.
type Options struct {
	// Addr is "host:port" or "unix:/path"; "" means "127.0.0.1:0".
	Addr string
	// TLS, when not nil, makes it an https server with this configuration.
	TLS *tls.Config
	// Latency is how long each request waits for its answer, beyond what the
	// server itself needs. Go's timers add up to about 1 ms.
	Latency time.Duration
	// Status is the status of every answer; 0 means 200.
	Status int
}

// A Server counts and times the requests it receives. All methods are safe for
// concurrent use.
type Server struct {
	opts     Options
	listener net.Listener
	began    time.Time // what all times are measured from, on the monotonic clock
	withBody []byte    // the answer, built once
	bare     []byte    // the same without a body, for HEAD

	count       atomic.Int64
	connections atomic.Int64
	stalledTo   atomic.Int64  // no answer before this, in ns since began
	closing     chan struct{} // closed by Close: ends every wait
	serving     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[net.Conn]struct{}
	lanes  []*lane // all, in use or not: what they recorded stays
	free   []*lane // those without a connection
}

// Start listens and serves until Close. It returns an error if the address
// cannot be listened on or the status is none.
func Start(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Status == 0 {
		opts.Status = http.StatusOK
	}
	if opts.Status < 200 || opts.Status > 999 {
		return nil, fmt.Errorf("start server: status %d is not between 200 and 999", opts.Status)
	}
	network, address := "tcp", opts.Addr
	if path, ok := strings.CutPrefix(opts.Addr, "unix:"); ok {
		network, address = "unix", path
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	s := &Server{
		opts:     opts,
		listener: listener,
		began:    time.Now(),
		closing:  make(chan struct{}),
		open:     make(map[net.Conn]struct{}),
	}
	s.withBody, s.bare = answers(opts.Status)
	s.serving.Go(s.accept)
	return s, nil
}

// answers builds the two answers of a status: with the body "ok", and as HEAD
// gets it. Statuses that have no body by definition get the same for both.
func answers(status int) (withBody, bare []byte) {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if status == http.StatusNoContent || status == http.StatusNotModified {
		empty := []byte(head + "\r\n")
		return empty, empty
	}
	head += "Content-Length: 2\r\n\r\n"
	return []byte(head + "ok"), []byte(head)
}

// URL is where the server is reached: "http://127.0.0.1:4711" or https. For a
// unix socket the host is "localhost", and Addr names the socket.
func (s *Server) URL() string {
	scheme, host := "http", s.listener.Addr().String()
	if s.opts.TLS != nil {
		scheme = "https"
	}
	if s.listener.Addr().Network() == "unix" {
		host = "localhost"
	}
	return scheme + "://" + host
}

// Addr is the address listened on, with the port chosen: "127.0.0.1:4711" or
// "unix:/path".
func (s *Server) Addr() string {
	if addr := s.listener.Addr(); addr.Network() == "unix" {
		return "unix:" + addr.String()
	}
	return s.listener.Addr().String()
}

// Count is how many requests were received whole since the start or the last
// Reset. It is one atomic load.
func (s *Server) Count() int64 { return s.count.Load() }

// Connections is how many connections were accepted since the start; Reset
// does not change it.
func (s *Server) Connections() int64 { return s.connections.Load() }

// Arrivals returns when each request had been received whole, in ns since
// 1970, sorted. It is a copy. The order of requests within one connection is
// that of the wire; between connections it is as good as the scheduler, some
// 10 µs on an idle machine.
func (s *Server) Arrivals() []int64 {
	wall := s.began.UnixNano()
	all := make([]int64, 0, s.Count())
	for _, l := range s.allLanes() {
		all = l.appendTimes(all, wall)
	}
	slices.Sort(all)
	return all
}

// Paths returns how many requests came for each path (the request target as
// sent, with its query), so that a test can tell two runs apart.
func (s *Server) Paths() map[string]int64 {
	sum := make(map[string]int64)
	for _, l := range s.allLanes() {
		l.addPaths(sum)
	}
	return sum
}

// Reset forgets everything recorded so far. A request that arrives during the
// call is either forgotten whole or kept whole.
func (s *Server) Reset() {
	for _, l := range s.allLanes() {
		l.reset(&s.count)
	}
}

// Stall holds back every answer for d from now. Requests are still received,
// counted and timed meanwhile; they are answered when it ends, at once. So a
// stall shows in the latency of the generator and not in the arrivals, which
// remain those of the generator. A connection whose answer is held back reads
// no further request. Of two calls the later end holds.
func (s *Server) Stall(d time.Duration) {
	until := int64(time.Since(s.began) + d)
	for {
		now := s.stalledTo.Load()
		if now >= until || s.stalledTo.CompareAndSwap(now, until) {
			return
		}
	}
}

// Close stops listening, ends all connections and waits until each is gone.
// What was recorded stays readable. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	err := s.listener.Close()
	for conn := range s.open {
		err = errors.Join(err, hangUp(conn))
	}
	s.mu.Unlock()
	s.serving.Wait()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}

// hangUp closes conn without the farewell of TLS, which waits up to 5 s for a
// peer that does not read.
func hangUp(conn net.Conn) error {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// allLanes returns the lanes there are now. A lane is never removed.
func (s *Server) allLanes() []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lanes)
}
