package arrivals

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/internal/server/site"
)

// A webConn is a connection whose requests net/http reads.
type webConn struct {
	net.Conn
	server *Server
	lane   *lane
	// readAt is when the first byte of the present request was read, in ns since the server began; 0 = not yet.
	readAt    atomic.Int64
	recording sync.Mutex
	close     func() error
}

// ofConn is the key of a request's webConn in its context.
type ofConn struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, ofConn{}, c)
}

// serveSite serves connections with net/http until the server closes.
func (s *Server) serveSite() {
	web := newWeb(s.serveWeb)
	_ = web.Serve(webListener{s.listener, s}) // net.ErrClosed
}

// A webListener gives net/http the connections of a server.
type webListener struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener.
func (l webListener) Accept() (net.Conn, error) {
	conn, lane, ok := l.server.next()
	if !ok {
		return nil, net.ErrClosed
	}
	l.server.serving.Add(1) // Close waits for it
	c := &webConn{Conn: conn, server: l.server, lane: lane}
	c.close = sync.OnceValue(func() error {
		l.server.leave(conn, lane)
		l.server.serving.Done()
		return nil
	})
	return c, nil
}

// Read implements net.Conn. It notes when a request begins.
func (c *webConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.readAt.Load() == 0 {
		c.readAt.Store(int64(time.Since(c.server.began)))
	}
	return n, err
}

// Close implements net.Conn.
func (c *webConn) Close() error { return c.close() }

// serveWeb receives a request whole, records it, waits, and answers. The steps are those of serve.
func (s *Server) serveWeb(w http.ResponseWriter, r *http.Request) {
	if !s.join() {
		panic(http.ErrAbortHandler)
	}
	defer s.serving.Done()
	c := r.Context().Value(ofConn{}).(*webConn)
	began := int64(time.Since(s.began))
	body, err := readBody(r)
	if err != nil {
		panic(http.ErrAbortHandler) // no whole request: net/http ends the connection
	}
	route := s.opts.Site.Find(r)
	at := c.arrived(route.Index, r.RequestURI)
	s.firstAt.CompareAndSwap(0, at)
	for _, u := range s.opts.Unique {
		u.Count(r, body)
	}
	reply, until := s.reply(at, route, r, body)
	ready, ok := s.holdRoute(route, until)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	// Before the answer leaves: the client may send the next request at once. With HTTP/2 it may have, so there the time
	// of the first byte is not known.
	if readAt := c.readAt.Swap(0); r.ProtoMajor == 1 {
		began = cmp.Or(readAt, at) // 0: it was read together with the one before
	}
	err = s.send(w, r, reply, at, max(at, ready))
	if err == nil {
		route.Sent(reply.Status, time.Since(s.began)-time.Duration(began))
	} else if reply.Stream != nil {
		panic(http.ErrAbortHandler) // else the answer would look whole
	}
}

// send writes an answer to its end. The request arrived at, and the answer is ready, both in ns since the server began.
func (s *Server) send(w http.ResponseWriter, r *http.Request, reply site.Reply, at, ready int64) error {
	if reply.Stream == nil {
		return write(w, r, reply)
	}
	maps.Copy(w.Header(), reply.Header)
	w.WriteHeader(reply.Status)
	out := pieces{w, http.NewResponseController(w), r.Context(), s.closing}
	return reply.Stream(s.began.Add(time.Duration(at)), s.began.Add(time.Duration(ready)), &out)
}

// readBody reads the body to its end, and returns as much of it as a site looks at.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, site.MostBody))
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	return body, err
}

// laneOf returns the lane of a route among those of a connection.
func (s *Server) laneOf(l *lane, route int) *lane {
	if route == 0 {
		return l
	}
	if len(l.others) < route {
		l.others = append(l.others, make([]*lane, route-len(l.others))...)
	}
	if l.others[route-1] == nil {
		other := &lane{route: route}
		s.mu.Lock()
		s.lanes = append(s.lanes, other)
		s.mu.Unlock()
		l.others[route-1] = other
	}
	return l.others[route-1]
}

// reply returns the answer to a request that arrived at, and when it is ready apart from stalls, in ns since the server
// began. What is true of all answers comes first: a full queue, and ErrorShare.
func (s *Server) reply(at int64, route *site.Served, r *http.Request, body []byte) (site.Reply, int64) {
	served, ok := s.queue.enter(at)
	switch {
	case !ok:
		return plainReply(http.StatusServiceUnavailable), 0
	case s.errors.next():
		return plainReply(s.opts.ErrorStatus), served + s.opts.delay()
	}
	reply := route.Reply(r, body)
	return reply, served + s.opts.delay() + int64(route.Delay()+reply.Delay)
}

// plainReply is an answer that no route decides.
func plainReply(status int) site.Reply {
	if site.Bodyless(status) {
		return site.Reply{Status: status}
	}
	return site.Reply{Status: status, Body: []byte("ok")}
}

// holdRoute waits until a time, in ns since the server began, and for the end of stalls of the server and of the route;
// false if the server closes. It returns the time that it waited for. An answer that a full queue refuses, with the time
// 0, waits for nothing.
func (s *Server) holdRoute(route *site.Served, until int64) (int64, bool) {
	for until > 0 {
		now := int64(time.Since(s.began))
		first := s.firstAt.Load()
		stalled := first + int64(route.HeldUntil(time.Duration(now-first)))
		// A stall may begin, or be extended, during the wait.
		if held := max(s.stalledTo.Load(), stalled); held > now {
			until = max(until, held)
		}
		if until <= now {
			break
		}
		if !s.wait(time.Duration(until - now)) {
			return until, false
		}
	}
	return until, true
}

// write writes an answer to its end.
func write(w http.ResponseWriter, r *http.Request, reply site.Reply) error {
	maps.Copy(w.Header(), reply.Header)
	if !site.Bodyless(reply.Status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(reply.Body)))
	}
	w.WriteHeader(reply.Status)
	if len(reply.Body) > 0 {
		if _, err := w.Write(reply.Body); err != nil {
			return err
		}
	}
	if r.ProtoMajor == 3 {
		return nil // the end of the stream shares the packet then
	}
	return http.NewResponseController(w).Flush() // now, and not when the handler has returned
}
