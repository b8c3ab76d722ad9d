package arrivals

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// preface begins a connection of HTTP/2 (RFC 9113, section 3.4). No request of HTTP/1 begins like that.
const preface = "PRI "

// mostStreams is how many requests a connection may carry at the same time, as many as a workload can ask for.
const mostStreams = 1000

// newWeb returns a server of net/http whose connections are webConns. It serves HTTP/2 where a connection begins with it.
func newWeb(handler http.HandlerFunc) *http.Server {
	web := &http.Server{
		Handler:                      handler,
		ConnContext:                  withConn,
		DisableGeneralOptionsHandler: true,                       // it would answer OPTIONS * uncounted
		ErrorLog:                     log.New(io.Discard, "", 0), // of peers that are gone or speak another protocol
		Protocols:                    new(http.Protocols),
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
	}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetUnencryptedHTTP2(true) // for net/http a webConn is not encrypted, even if TLS is below it
	return web
}

// A read is a connection of which some bytes were read already.
type read struct {
	net.Conn
	br *bufio.Reader
}

func (r read) Read(p []byte) (int, error) { return r.br.Read(p) }

// A single is a listener that gives away one connection, and ends with it.
type single struct {
	net.Listener
	conn  chan net.Conn
	ended chan struct{}
}

// Accept implements net.Listener.
func (l single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// serveStreams serves a connection of HTTP/2 until it ends. br has read its beginning.
func (s *Server) serveStreams(conn net.Conn, br *bufio.Reader, l *lane) {
	only := single{s.listener, make(chan net.Conn, 1), make(chan struct{})}
	only.conn <- &webConn{Conn: read{conn, br}, server: s, lane: l, close: sync.OnceValue(func() error {
		close(only.ended)
		return hangUp(conn)
	})}
	web := newWeb(s.serveStream)
	_ = web.Serve(unclosed{only}) // net.ErrClosed
}

// An unclosed is a listener that net/http does not close: other connections come from it too.
type unclosed struct{ net.Listener }

// Close implements net.Listener.
func (unclosed) Close() error { return nil }

// serveStream is serve for a request of HTTP/2 or HTTP/3.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	if !s.join() {
		panic(http.ErrAbortHandler)
	}
	defer s.serving.Done()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler) // no whole request
	}
	c := r.Context().Value(ofConn{}).(*webConn)
	at := c.arrived(0, r.RequestURI)
	served, ok := s.queue.enter(at)
	a := &s.refusal
	if ok {
		a = s.answer()
	}
	if ok && !s.holdBack(at, served) {
		panic(http.ErrAbortHandler)
	}
	_ = write(w, r, plainReply(a.status)) // the peer may be gone
}

// arrived records a request and returns when it arrived, in ns since the server began. The requests of a connection may
// run at the same time, but a lane has them in order.
func (c *webConn) arrived(route int, path string) int64 {
	c.recording.Lock()
	defer c.recording.Unlock()
	s := c.server
	at := int64(time.Since(s.began))
	s.arrived(s.laneOf(c.lane, route), at, []byte(path))
	return at
}
