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
// It keeps the time of every arrival. A server that runs for long has them
// taken now and then, see Take, and added up by a Tally; Collect does both until
// it is told to end.
//
// It is fast because it does little: no routing, no header map, one write for
// an answer that was built once. It is a test instrument and no web server:
// bodies need a Content-Length, and lines of more than 8 KiB end the
// connection.
package arrivals

import (
	"cmp"
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
	// Jitter is added to Latency: for each answer a time of its own, uniform in
	// [0, Jitter).
	Jitter time.Duration
	// Capacity, when above 0, is how many requests are served at the same time,
	// each for ServiceTime; the others wait their turn. The rate is at most
	// Capacity/ServiceTime. A request that finds 65,536 others waiting is answered 503 at
	// once. Latency and Jitter come on top of the time in this queue.
	Capacity int
	// ServiceTime is how long each request keeps one of Capacity busy.
	ServiceTime time.Duration
	// Status is the status of the answers; 0 means 200.
	Status int
	// ErrorShare, 0 to 1 in steps of 1e-9, is the share of the answers that
	// have ErrorStatus instead. It is no coin: of the first n answers exactly
	// floor(n·ErrorShare) have it, evenly spread.
	ErrorShare float64
	// ErrorStatus is the status of those answers; 0 means 500.
	ErrorStatus int
	// NoPaths leaves Paths empty. What the server remembers grows with the
	// number of different paths otherwise.
	NoPaths bool
}

// A Server counts and times the requests it receives. All methods are safe for
// concurrent use.
type Server struct {
	opts     Options
	listener net.Listener
	began    time.Time // what all times are measured from, on the monotonic clock
	usual    answer
	failing  answer // what errors picks
	errors   share
	queue    *queue // nil without a Capacity
	refusal  answer // what a full queue gives

	count       atomic.Int64
	connections atomic.Int64
	stalledTo   atomic.Int64  // no answer before this, in ns since began
	first       chan struct{} // closed at the first arrival
	firstOnce   sync.Once
	closing     chan struct{} // closed by Close: ends every wait
	serving     sync.WaitGroup

	taking  sync.Mutex // held by Take; guards what follows
	takenTo int64      // up to where arrivals were taken, in ns since began

	mu     sync.Mutex // guards what follows
	closed bool
	open   map[net.Conn]struct{}
	lanes  []*lane // all, in use or not: what they recorded stays
	free   []*lane // those without a connection
}

// Start listens and serves until Close. It returns an error if the address
// cannot be listened on or an option makes no sense.
func Start(opts Options) (*Server, error) {
	opts.Addr = cmp.Or(opts.Addr, "127.0.0.1:0")
	opts.Status = cmp.Or(opts.Status, http.StatusOK)
	opts.ErrorStatus = cmp.Or(opts.ErrorStatus, http.StatusInternalServerError)
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
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
		usual:    newAnswer(opts.Status),
		failing:  newAnswer(opts.ErrorStatus),
		errors:   share{part: shareOf(opts.ErrorShare)},
		queue:    newQueue(opts.Capacity, opts.ServiceTime),
		refusal:  newAnswer(http.StatusServiceUnavailable),
		first:    make(chan struct{}),
		closing:  make(chan struct{}),
		open:     make(map[net.Conn]struct{}),
	}
	s.serving.Go(s.accept)
	return s, nil
}

// check returns what is wrong with the options, defaults filled in.
func (o *Options) check() error {
	for _, status := range []int{o.Status, o.ErrorStatus} {
		if status < 200 || status > 999 {
			return fmt.Errorf("status %d is not between 200 and 999", status)
		}
	}
	if o.Latency < 0 || o.Jitter < 0 {
		return fmt.Errorf("latency %v or jitter %v is negative", o.Latency, o.Jitter)
	}
	if !(o.ErrorShare >= 0 && o.ErrorShare <= 1) { // which NaN is not
		return fmt.Errorf("share of errors %v is not between 0 and 1", o.ErrorShare)
	}
	return o.checkQueue()
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

// ErrorsAnswered is how many answers had ErrorStatus because of ErrorShare,
// since the start; Reset does not change it. Whoever has such an answer finds
// it counted.
func (s *Server) ErrorsAnswered() int64 { return s.errors.picked() }

// FirstArrival returns a channel that is closed when the first request since
// the start has been counted.
func (s *Server) FirstArrival() <-chan struct{} { return s.first }

// Began is when the server started to listen. No arrival is before it.
func (s *Server) Began() time.Time { return s.began }

// Now is the time on the server's clock, in ns since 1970: that of the wall
// when the server started, and monotonic from there.
func (s *Server) Now() int64 { return s.began.UnixNano() + int64(time.Since(s.began)) }

// Arrivals returns when each request had been received whole, in ns since
// 1970, sorted; without those that were taken. It is a copy. The order of
// requests within one connection is that of the wire; between connections it
// is as good as the scheduler, some 10 µs on an idle machine.
func (s *Server) Arrivals() []int64 {
	wall := s.began.UnixNano()
	all := make([]int64, 0, s.Count())
	for _, l := range s.allLanes() {
		all = l.appendTimes(all, wall)
	}
	slices.Sort(all)
	return all
}

// Take returns the arrivals up to a time, in ns since 1970, sorted, and forgets
// them, so that a server may run for long; Count stays. A time in the future
// means now.
//
// What one call returns is never before what the calls before it returned up
// to. The time of an arrival is read a moment before it is recorded, though:
// so take only what is older than some 100 ms, or what a closed server has. An
// arrival that was held up for longer is not lost; the next call returns it as
// if it had come just after what had been taken by then.
func (s *Server) Take(until int64) []int64 {
	s.taking.Lock()
	defer s.taking.Unlock()
	wall := s.began.UnixNano()
	to := max(min(max(until, wall), s.Now())-wall, s.takenTo)
	var taken []int64
	for _, l := range s.allLanes() {
		taken = l.take(taken, to)
	}
	for i, at := range taken {
		taken[i] = max(at, s.takenTo) + wall
	}
	s.takenTo = to
	slices.Sort(taken)
	return taken
}

// Paths returns how many requests came for each path (the request target as
// sent, with its query), so that a test can tell two runs apart. It is empty with
// NoPaths.
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
