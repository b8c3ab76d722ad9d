package ui

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Options say what a Server shows, to whom, and what it lets them do.
type Options struct {
	Version string
	Connect func(context.Context) (rdb.Client, error) // reaches Redis, once or each time; it is called often

	Archives []Archive

	Control bool     // accept commands
	Hosts   []string // names by which browsers may call the server, beside those of loopback and the address itself
	Key     []byte   // signs sessions: servers with the same key know each other's. At least 32 bytes

	// Announce gets the address that logs one browser in. It is called at the beginning, and after each login with
	// the next one. It is never called twice at the same time.
	Announce func(address string)

	// Metrics makes the handler of /metrics; nil = there is none. Without MetricsToken only a server on loopback has it.
	Metrics      func(looks func(context.Context) ([]results.Look, error)) http.Handler
	MetricsToken func() (string, error) // reads the bearer token; nil = there is none
}

// A Server serves the page and its API. Make one with New.
type Server struct {
	Options
	hub      *Hub
	runs     cached[[]run.Entry]
	ledger   cached[ledger.State]
	sessions sessions
	origins  *http.CrossOriginProtection
	handler  http.Handler

	announcing sync.Mutex

	// Of Serve.
	loopback bool   // only this machine can reach the server
	base     string // https://host:port, for people
	secure   bool   // it has TLS
	hosts    map[string]bool
	stop     context.CancelFunc
	ctx      context.Context
}

// Bounds of what clients can make the server do.
const (
	mostConnections = 2048
	mostHeader      = 32 << 10 // bytes: browsers send the cookies of all servers of a machine
	mostBody        = 4 << 10  // bytes of a command

	headerPatience = 5 * time.Second  // to read the head of a request
	readPatience   = 10 * time.Second // to read all of it
	writePatience  = 10 * time.Second // to write an answer, or a message to a page
	idlePatience   = time.Minute      // between two requests of a connection

	parting = 200 * time.Millisecond // for answers that are being written when the server ends
)

// New returns a server. It watches nothing yet.
func New(o Options) (*Server, error) {
	if len(o.Key) < minKey {
		return nil, fmt.Errorf("sign sessions: the key has %d bytes; give at least %d", len(o.Key), minKey)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{Options: o, hub: newHub(ctx, o.Connect, "loadctl "+o.Version, o.Control), origins: http.NewCrossOriginProtection(), ctx: ctx, stop: stop}
	s.sessions = newSessions(o.Key)
	s.runs.load, s.ledger.load = s.hub.Runs, s.hub.Ledger
	handler, err := s.routes()
	if err != nil {
		stop()
		return nil, err
	}
	s.handler = handler
	return s, nil
}

// Serve serves until ctx ends, and then ends all connections in well under a second. t is nil for plain HTTP. Call it
// once.
func (s *Server) Serve(ctx context.Context, l net.Listener, t *tls.Config) error {
	defer s.stop()
	defer context.AfterFunc(ctx, s.stop)()
	s.place(l.Addr(), t != nil)
	server := &http.Server{
		Handler: s.guard(s.handler), ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ErrorLog:    log.New(discard{}, "", 0), // what clients do wrong is their own affair
	}
	l = limited(l, mostConnections)
	if t != nil {
		server.TLSConfig = t
	}
	s.announce()
	ended := make(chan error, 1)
	go func() {
		if t != nil {
			ended <- server.ServeTLS(l, "", "")
		} else {
			ended <- server.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the page: %w", err)
	case <-s.ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		return server.Close()
	}
	return nil
}

// place finds out by which names browsers may call the server.
func (s *Server) place(addr net.Addr, secure bool) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil { // no TCP address
		host, port = addr.String(), "80"
	}
	ip := net.ParseIP(host)
	s.loopback, s.secure = ip != nil && ip.IsLoopback(), secure
	s.hosts = map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}
	name := host
	if ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	for _, h := range append([]string{name}, s.Hosts...) {
		s.hosts[strings.ToLower(h)] = true
	}
	if ip != nil && ip.IsUnspecified() && len(s.Hosts) > 0 { // all addresses: a name is what others can use
		name = s.Hosts[0]
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	s.base = scheme + "://" + net.JoinHostPort(name, port)
}

// announce shows the address that logs the next browser in.
func (s *Server) announce() {
	s.announcing.Lock()
	defer s.announcing.Unlock()
	if s.Announce != nil {
		s.Announce(s.base + "/login?token=" + s.sessions.token())
	}
}

// discard is a writer to nowhere.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// limited bounds the open connections of a listener. Further ones wait in the queue of the kernel.
func limited(l net.Listener, most int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, most), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetWriteBuffer(32 << 10) // a page that does not read costs the kernel no more
	}
	return &limitedConn{Conn: c, free: l.free}, nil
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return l.Listener.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	free <-chan struct{}
	once sync.Once
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}

// ErrInsecure says that a server that others can reach has no TLS.
var ErrInsecure = errors.New("others could read what the page shows, and give commands; add --tls-cert and --tls-key, or --insecure-listen if a proxy protects it")
