// Package arrivals is an HTTP server that records when each request arrived. Tests of exactness send to it and then
// read how many requests came, and when: so what the generator reports is checked against what a server saw.
//
//	srv, err := arrivals.Start(arrivals.Options{})
//	if err != nil { … }
//	defer srv.Close()
//	fire(srv.URL())
//	received := srv.Count()
//
// Guarantees: every request that was received whole is counted exactly once, before it is answered. So a client that
// has the answer finds the request in Count, Arrivals and Paths. A request whose connection ended in the middle is not
// counted. Arrival times come from the monotonic clock, so a step of the wall clock during a test has no effect.
//
// It keeps the time of every arrival. For a server that runs long, call Take now and then, and add the result to a
// Tally; Collect does both.
//
// It is fast because it does little: no routing, no header map, one write for a prebuilt answer. It is a test
// instrument, not a web server: bodies need a Content-Length, and lines of more than 8 KiB end the connection. With a
// Site it routes requests, and net/http reads them: slower, and all that HTTP/1.1 has. Records are the same. A connection
// that begins as HTTP/2 does is read by net/http too.
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

	"github.com/loadctl/loadctl/internal/server/site"
	"github.com/loadctl/loadctl/internal/server/streams"
)

// Options says how a Server listens and answers. The zero value is a plain server on a free port of 127.0.0.1 that
// answers 200 at once.
type Options struct {
	// Addr is "host:port" or "unix:/path"; "" means "127.0.0.1:0".
	Addr string
	// TLS, when not nil, makes it an https server with this configuration.
	TLS *tls.Config
	// HTTP3 makes an https server serve HTTP/3 too, at the same port over UDP.
	HTTP3 bool
	// Echo is Lines, Datagrams, Messages or Calls; "" is HTTP. An echo has no statuses, Capacity and Site. Only Messages and
	// Calls may have TLS.
	Echo string
	// Latency is how long each request waits for its answer, in addition to the server's own time. Go's timers add up
	// to about 1 ms.
	Latency time.Duration
	// Jitter is added to Latency: a random time for each answer, uniform in [0, Jitter).
	Jitter time.Duration
	// Capacity, if above 0, is how many requests are served at the same time, each for ServiceTime; the others wait
	// their turn. So the rate is at most Capacity/ServiceTime. A request that finds 65,536 others waiting is answered
	// 503 at once. Latency and Jitter are added to the time in this queue.
	Capacity int
	// ServiceTime is how long each request keeps one of Capacity busy.
	ServiceTime time.Duration
	// Status is the status of the answers; 0 means 200.
	Status int
	// ErrorShare, 0 to 1 in steps of 1e-9, is the share of the answers that have ErrorStatus instead. It is not random:
	// of the first n answers exactly floor(n·ErrorShare) have it, evenly spread.
	ErrorShare float64
	// ErrorStatus is the status of those answers; 0 means 500.
	ErrorStatus int
	// Site, if not nil, says what is answered, by route, instead of Status. A site serves one server.
	Site *site.Site
	// Unique are counted, if there is a Site, for each request that arrives.
	Unique []*site.Unique
	// Streams, if not nil, is the log of the streams of the Site, for the summary.
	Streams *streams.Log
	// NoPaths leaves Paths empty. Else the server's memory grows with the number of different paths.
	NoPaths bool
}

// A Server counts and times the requests it receives. All methods are safe for
// concurrent use.
type Server struct {
	opts     Options
	secure   *tls.Config // with the protocols; nil without TLS
	listener net.Listener
	began    time.Time // zero of all times, on the monotonic clock
	usual    answer
	failing  answer // the answer of ErrorShare
	errors   share
	queue    *queue // nil without a Capacity
	refusal  answer // the answer if the queue is full

	count       atomic.Int64
	connections atomic.Int64
	stalledTo   atomic.Int64  // no answer before this time, in ns since began
	first       chan struct{} // closed at the first arrival
	firstOnce   sync.Once
	firstAt     atomic.Int64  // with a Site: when it was, in ns since began; 0 = none yet
	closing     chan struct{} // closed by Close: ends every wait
	three       *threeServer  // nil without HTTP/3
	serving     sync.WaitGroup

	taking  sync.Mutex // held by Take; guards the next field
	takenTo int64      // up to when arrivals were taken, in ns since began

	mu     sync.Mutex // guards the fields below
	closed bool
	open   map[net.Conn]struct{}
	lanes  []*lane // all lanes, in use or not: their records stay
	free   []*lane // those without a connection
}

// Start listens and serves until Close. It returns an error if it cannot listen on the address, or an option is
// invalid.
func Start(opts Options) (*Server, error) {
	opts.Addr = cmp.Or(opts.Addr, "127.0.0.1:0")
	opts.Status = cmp.Or(opts.Status, http.StatusOK)
	opts.ErrorStatus = cmp.Or(opts.ErrorStatus, http.StatusInternalServerError)
	if opts.Echo == Calls && opts.TLS != nil {
		opts.TLS = opts.TLS.Clone()
		opts.TLS.NextProtos = []string{"h2"}
	}
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	network, address := "tcp", opts.Addr
	if path, ok := strings.CutPrefix(opts.Addr, "unix:"); ok {
		network, address = "unix", path
	}
	listener, err := opts.listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	var three *threeServer
	if opts.HTTP3 {
		if listener, three, err = opts.listenThree(listener); err != nil {
			return nil, fmt.Errorf("start server: %w", err)
		}
	}
	s := &Server{
		opts:     opts,
		three:    three,
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
	if three != nil {
		s.serving.Go(func() { s.serveThree(three) })
	}
	if opts.TLS != nil {
		s.secure = opts.TLS.Clone()
		if opts.Echo == "" {
			s.secure.NextProtos = []string{"h2", "http/1.1"}
		}
	}
	switch socket, datagrams := listener.(packets); {
	case datagrams:
		s.serving.Go(func() { s.serveDatagrams(socket) })
	case opts.Echo == Calls:
		s.serving.Go(s.serveCalls)
	case opts.Site != nil:
		s.serving.Go(s.serveSite)
	default:
		s.serving.Go(s.accept)
	}
	return s, nil
}

// listen listens for connections, or for datagrams.
func (o *Options) listen(network, address string) (net.Listener, error) {
	if o.Echo != Datagrams {
		return net.Listen(network, address)
	}
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	_ = socket.(*net.UDPConn).SetReadBuffer(datagramRoom) // the system may allow less
	return packets{socket}, nil
}

// check returns an error if the options, with defaults filled in, are invalid.
func (o *Options) check() error {
	for _, status := range []int{o.Status, o.ErrorStatus} {
		if status < 200 || status > 999 {
			return fmt.Errorf("status %d is not between 200 and 999", status)
		}
	}
	if o.HTTP3 && (o.TLS == nil || strings.HasPrefix(o.Addr, "unix:")) {
		return errors.New("HTTP/3 needs TLS and a port")
	}
	if o.Latency < 0 || o.Jitter < 0 {
		return fmt.Errorf("latency %v or jitter %v is negative", o.Latency, o.Jitter)
	}
	if !(o.ErrorShare >= 0 && o.ErrorShare <= 1) { // also refuses NaN
		return fmt.Errorf("share of errors %v is not between 0 and 1", o.ErrorShare)
	}
	return o.checkQueue()
}

// URL returns the address of the server: "http://127.0.0.1:4711", or with https, tcp, udp, ws or wss.
// For a unix socket the host is "localhost", and Addr names the socket.
func (s *Server) URL() string {
	scheme, host := "http", s.listener.Addr().String()
	if s.opts.TLS != nil {
		scheme = "https"
	}
	if s.listener.Addr().Network() == "unix" {
		host = "localhost"
	}
	if s.opts.Echo != "" {
		if scheme = s.opts.Echo; s.opts.TLS != nil {
			scheme += "s"
		}
	}
	if s.opts.Echo == Messages && s.opts.TLS != nil {
		scheme = "wss"
	}
	return scheme + "://" + host
}

// Addr returns the address listened on, with the chosen port: "127.0.0.1:4711" or "unix:/path".
func (s *Server) Addr() string {
	if addr := s.listener.Addr(); addr.Network() == "unix" {
		return "unix:" + addr.String()
	}
	return s.listener.Addr().String()
}

// Count returns how many requests were received whole since the start or the last Reset. It is one atomic load.
func (s *Server) Count() int64 { return s.count.Load() }

// Connections returns how many connections were accepted since the start. Reset does not change it.
func (s *Server) Connections() int64 { return s.connections.Load() }

// ErrorsAnswered returns how many answers had ErrorStatus because of ErrorShare, since the start. Reset does not change
// it. An answer is counted before a client receives it.
func (s *Server) ErrorsAnswered() int64 { return s.errors.picked() }

// FirstArrival returns a channel that is closed when the first request since
// the start has been counted.
func (s *Server) FirstArrival() <-chan struct{} { return s.first }

// Began returns when the server started to listen. No arrival is before it.
func (s *Server) Began() time.Time { return s.began }

// Now returns the time on the server's clock, in ns since 1970: the wall clock's time when the server started, and
// monotonic from there.
func (s *Server) Now() int64 { return s.began.UnixNano() + int64(time.Since(s.began)) }

// Arrivals returns when each request had been received whole, in ns since 1970, sorted, except those that were taken.
// It is a copy. Within one connection the order is that of the wire. Between connections it is as exact as the
// scheduler, about 10 µs on an idle machine.
func (s *Server) Arrivals() []int64 {
	wall := s.began.UnixNano()
	all := make([]int64, 0, s.Count())
	for _, l := range s.allLanes() {
		all = l.appendTimes(all, wall)
	}
	slices.Sort(all)
	return all
}

// Take returns the arrivals up to a time, in ns since 1970, sorted, and forgets them, so that a server may run long;
// Count stays. A time in the future means now.
//
// No call returns an arrival earlier than the time up to which a call before it has taken. But the time of an arrival
// is read a moment before it is recorded, so take only arrivals older than about 100 ms, or those of a closed server.
// An arrival that was delayed for longer is not lost: the next call returns it as if it had come just after the last
// time taken.
func (s *Server) Take(until int64) []int64 {
	byRoute := s.takeByRoute(until)
	if len(byRoute) == 1 {
		return byRoute[0]
	}
	taken := slices.Concat(byRoute...)
	slices.Sort(taken)
	return taken
}

// takeByRoute is Take for each route of the Site. Without a Site all requests have the same route.
func (s *Server) takeByRoute(until int64) [][]int64 {
	s.taking.Lock()
	defer s.taking.Unlock()
	wall := s.began.UnixNano()
	to := max(min(max(until, wall), s.Now())-wall, s.takenTo)
	taken := make([][]int64, len(s.routes()))
	for _, l := range s.allLanes() {
		taken[l.route] = l.take(taken[l.route], to)
	}
	for _, times := range taken {
		for i, at := range times {
			times[i] = max(at, s.takenTo) + wall
		}
		slices.Sort(times)
	}
	s.takenTo = to
	return taken
}

// Paths returns how many requests came for each path (the request target as sent, with its query), so that a test can
// distinguish two runs. It is empty with NoPaths.
func (s *Server) Paths() map[string]int64 {
	sum := make(map[string]int64)
	for _, l := range s.allLanes() {
		l.addPaths(sum)
	}
	return sum
}

// Reset forgets all records. A request that arrives during the call is either forgotten or kept as a whole.
func (s *Server) Reset() {
	for _, l := range s.allLanes() {
		l.reset(&s.count)
	}
}

// Stall holds back every answer for d from now. Requests are still received, counted and timed; their answers leave
// when the stall ends. So a stall affects the latencies that the generator measures, but not its arrivals. A connection
// whose answer is held back reads no further request. If stalls overlap, the later end counts.
func (s *Server) Stall(d time.Duration) {
	until := int64(time.Since(s.began) + d)
	for {
		now := s.stalledTo.Load()
		if now >= until || s.stalledTo.CompareAndSwap(now, until) {
			return
		}
	}
}

// Close stops listening, ends all connections and waits for them. The records stay readable. A second call does
// nothing.
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
	err = errors.Join(err, s.three.close()) // its requests give lanes back
	s.serving.Wait()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}

// hangUp closes conn without TLS' closing message, which waits up to 5 s for a peer that does not read.
func hangUp(conn net.Conn) error {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// allLanes returns the present lanes. A lane is never removed.
func (s *Server) allLanes() []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lanes)
}
