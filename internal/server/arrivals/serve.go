package arrivals

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"time"
)

// lineLimit is the longest request or header line, in bytes. Each connection's buffer has this size, so that a line is
// read in place.
const lineLimit = 8 << 10

// A request holds what matters of a request here.
type request struct {
	head   bool // HEAD: the answer has no body
	last   bool // close the connection after the answer
	length int  // of the body, in bytes
}

// accept serves connections, a goroutine each, until the server closes.
func (s *Server) accept() {
	for {
		conn, l, ok := s.next()
		if !ok {
			return
		}
		s.serving.Go(func() {
			defer s.leave(conn, l)
			switch s.opts.Echo {
			case Lines:
				s.serveLines(conn, l)
			case Messages:
				s.serveMessages(conn, l)
			default:
				s.serve(conn, l)
			}
		})
	}
}

// next waits for a connection and registers it; false if the server closes.
func (s *Server) next() (net.Conn, *lane, bool) {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, nil, false
		}
		if err != nil {
			// Out of descriptors, or a peer that gave up: the listener still works, and spinning would starve the test.
			if !s.wait(5 * time.Millisecond) {
				return nil, nil, false
			}
			continue
		}
		if s.opts.TLS != nil {
			conn = tls.Server(conn, s.secure)
		}
		l, ok := s.enter(conn)
		if !ok {
			_ = hangUp(conn)
		}
		return conn, l, ok
	}
}

// enter registers a connection and gives it a lane; false if the server is closing, because nobody would close the
// connection then.
func (s *Server) enter(conn net.Conn) (*lane, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.connections.Add(1)
	s.open[conn] = struct{}{}
	return s.freeLane(), true
}

// join registers a request that does not run in the goroutine of its connection, so that Close waits for it. It reports
// false if the server is closing: then the request is not counted. Else serving.Done ends it.
func (s *Server) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.serving.Add(1)
	return true
}

// freeLane returns a lane that nobody uses. The lock is held.
func (s *Server) freeLane() *lane {
	if n := len(s.free); n > 0 {
		l := s.free[n-1]
		s.free = s.free[:n-1]
		return l
	}
	l := new(lane)
	s.lanes = append(s.lanes, l)
	return l
}

// leave closes a connection and frees its lane.
func (s *Server) leave(conn net.Conn, l *lane) {
	_ = hangUp(conn) // the peer is gone or leaving
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	s.free = append(s.free, l)
}

// serve answers the requests of one connection in order, until it ends. Each request is received whole, recorded,
// delayed, and answered.
func (s *Server) serve(conn net.Conn, l *lane) {
	br := bufio.NewReaderSize(conn, lineLimit)
	if begins, _ := br.Peek(len(preface)); string(begins) == preface {
		s.serveStreams(conn, br, l)
		return
	}
	path := make([]byte, 0, 256) // grows once to the longest path and stays
	for {
		req, target, err := readRequest(br, path[:0])
		if err != nil {
			return // no request: the peer is gone or speaks another protocol
		}
		path = target
		// Read the clock when the request is complete, and before the lock: the time must be that of the arrival.
		at := int64(time.Since(s.began))
		s.arrived(l, at, path)
		served, ok := s.queue.enter(at)
		a := &s.refusal
		if ok {
			a = s.answer()
		}
		if ok && !s.holdBack(at, served) {
			return
		}
		// Write to the connection without a buffer: an answer is one write of constant bytes.
		if _, err := conn.Write(a.bytes(req.head)); err != nil || req.last {
			return
		}
	}
}

// arrived records a request.
func (s *Server) arrived(l *lane, at int64, path []byte) {
	if s.opts.NoPaths {
		path = nil
	}
	if l.record(at, path, &s.count) == 1 {
		s.firstOnce.Do(func() { close(s.first) }) // after a Reset another arrival is the first
	}
}

// holdBack waits for the latency of a request, and for the end of a stall; false if the server closes. The request
// arrived at, and the queue served it at served, both in ns since the server began. The wait counts from the arrival,
// so recording does not lengthen the latency.
func (s *Server) holdBack(at, served int64) bool {
	until := served + s.opts.delay()
	for {
		// A stall may begin, or be extended, during the wait.
		until = max(until, s.stalledTo.Load())
		if until <= at {
			return true // the usual case reads no clock
		}
		left := until - int64(time.Since(s.began))
		if left <= 0 {
			return true
		}
		if !s.wait(time.Duration(left)) {
			return false
		}
	}
}

// wait sleeps for d; false if the server closes first, so that Close never waits for a latency or a stall.
func (s *Server) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.closing:
		return false
	}
}

// readRequest reads one request including its body, and appends its target (path and query) to path. It does not
// allocate.
func readRequest(br *bufio.Reader, path []byte) (request, []byte, error) {
	line, err := readLine(br)
	if err != nil {
		return request{}, path, err
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, version, ok := bytes.Cut(rest, []byte(" "))
	if !ok || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return request{}, path, errors.New("read request: not a request line of HTTP/1")
	}
	req := request{head: string(method) == "HEAD", last: string(version) == "HTTP/1.0"}
	// HTTP/1.0 closes after the answer unless asked not to; that request is ignored.
	path = append(path, target...) // line is only valid until the next read
	for {
		line, err := readLine(br)
		if err != nil {
			return request{}, path, err
		}
		if len(line) == 0 {
			break
		}
		if err := req.header(line); err != nil {
			return request{}, path, err
		}
	}
	if _, err := br.Discard(req.length); err != nil {
		return request{}, path, err
	}
	return req, path, nil
}

// header reads what matters from one header line. A header that makes the end of the request uncertain is an error: a
// guess would not be exact.
func (r *request) header(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return errors.New("read request: Content-Length is not a number")
		}
		r.length = n
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return errors.New("read request: bodies need a Content-Length here")
	case bytes.EqualFold(name, []byte("Connection")):
		r.last = r.last || bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// readLine returns the next line without its end. It is valid until the next read.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
