package targettest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A mode is what a relay does with connections.
type mode int32

const (
	pass    mode = iota // passes all on to the server
	silent              // reads, and never answers
	cut                 // closes the connection when it has read something
	endless             // answers with more than anybody wants
	garbage             // answers with bytes that mean nothing, and closes
	held                // passes requests on, and no answers
)

// flood is how much an endless answer has, in bytes. Sockets have room for a part of it.
const flood = 64 << 20

// A relay is between a Sender and its server. It counts, and plays servers that misbehave.
type relay struct {
	listener net.Listener
	server   string
	mode     atomic.Int32

	sent, came atomic.Int64 // bytes from the Sender and to it
	open, most atomic.Int64 // connections, and the most at a time
	limit      int64        // how many the Sender may have

	mu    sync.Mutex
	conns []net.Conn
	free  chan struct{} // closed when answers are held no more
}

// newRelay returns a relay to a server, for a Sender that may have so many connections.
func newRelay(server string, limit int) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, server: server, limit: int64(limit), free: make(chan struct{})}
	go r.accept()
	return r, nil
}

func (r *relay) address() string { return r.listener.Addr().String() }

// play says what happens with connections from now on.
func (r *relay) play(m mode) { r.mode.Store(int32(m)) }

// release lets held answers go on.
func (r *relay) release() { close(r.free) }

// close closes all connections.
func (r *relay) close() {
	r.listener.Close()
	r.hangUp()
}

// hangUp closes the connections that are open.
func (r *relay) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func (r *relay) keep(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, c)
}

func (r *relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.keep(c)
		r.settle()
		n := r.open.Add(1)
		for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
		}
		go func() {
			defer r.open.Add(-1)
			defer c.Close()
			r.serve(c)
		}()
	}
}

// settle waits a moment for the ends of connections that their client has closed, if there seem to be too many.
func (r *relay) settle() {
	for began := time.Now(); r.open.Load() >= r.limit && time.Since(began) < time.Second; {
		time.Sleep(time.Millisecond)
	}
}

// serve passes on what a connection carries, until the mode says something else.
func (r *relay) serve(c net.Conn) {
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		return
	}
	r.keep(server)
	defer server.Close()
	go r.answers(c, server)
	for buf := make([]byte, 32<<10); ; {
		n, err := c.Read(buf)
		r.sent.Add(int64(n))
		if err != nil {
			return
		}
		switch mode(r.mode.Load()) {
		case silent:
			continue
		case cut:
			return
		case garbage:
			_, _ = c.Write([]byte("\xff\x00\xfe{]\r\n\x01garbage\xff\xff\xff\xff"))
			return
		case endless:
			r.pour(c)
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// pour sends more than anybody wants, as far as it is taken.
func (r *relay) pour(c net.Conn) {
	buf := make([]byte, 64<<10)
	for i := range buf {
		buf[i] = 'x'
	}
	for sent := 0; sent < flood; {
		n, err := c.Write(buf)
		r.came.Add(int64(n))
		if sent += n; err != nil {
			return
		}
	}
}

// answers passes on what the server says.
func (r *relay) answers(c, server net.Conn) {
	defer c.Close()
	for buf := make([]byte, 32<<10); ; {
		n, err := server.Read(buf)
		if mode(r.mode.Load()) == held {
			<-r.free
		}
		r.came.Add(int64(n))
		if _, failed := c.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}
