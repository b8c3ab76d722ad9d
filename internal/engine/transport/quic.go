package transport

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/loadctl/loadctl/internal/engine/sockets"
	"github.com/loadctl/loadctl/targets/quic"
)

// QUIC opens connections of HTTP/3, and sends requests on them. Both have goroutines of their own; its mailbox
// has what these report.
type QUIC struct {
	Dialer *quic.Dialer    // nil if no request is of HTTP/3: then there is nothing to take, or to close
	Wakeup *sockets.Wakeup // for the loop, when there is a report; not nil

	closing sync.WaitGroup // connections

	mailbox[Reports]
}

// Reports are what has happened since they were last taken.
type Reports struct {
	Dialed  []*Dialing     // that are over
	Changed []*Dialing     // whose connections may have begun to leave
	Ended   []*quic.Stream // that are over
	Gaps    []Gap          // between events
}

// A Gap is the time between two events of an answer of a step, ns.
type Gap struct {
	Step int
	Took int64
}

// Gap implements events.Gaps. Any goroutine may call it. It does not wake the loop.
func (q *QUIC) Gap(step int, ns int64) {
	q.put(func(r *Reports) { r.Gaps = append(r.Gaps, Gap{step, ns}) })
}

// A Dialing is a connection that is being opened, or was.
type Dialing struct {
	Owner any  // of who dialed
	Left  bool // the owner wants it no more

	stop context.CancelFunc
	conn *quic.Conn // valid when it is over
	err  error
}

// Conn returns the connection, or why there is none. The dialing must be over.
func (d *Dialing) Conn() (*quic.Conn, error) { return d.conn, d.err }

// Stop gives up opening the connection, or frees what that took.
func (d *Dialing) Stop() { d.stop() }

// report adds to what the loop will take. Any goroutine may call it.
func (q *QUIC) report(add func(r *Reports)) {
	q.put(add)
	q.Wakeup.Signal()
}

// Dial begins to open a connection. name is that of the server in TLS.
func (q *QUIC) Dial(to netip.AddrPort, local net.IP, name string, owner any) *Dialing {
	ctx, stop := context.WithCancel(context.Background())
	d := &Dialing{Owner: owner, stop: stop}
	go func() {
		conn, err := q.Dialer.Dial(ctx, to, local, name, func() {
			q.report(func(r *Reports) { r.Changed = append(r.Changed, d) })
		})
		q.report(func(r *Reports) {
			d.conn, d.err = conn, err
			r.Dialed = append(r.Dialed, d)
		})
	}()
	return d
}

// Begin begins a request.
func (q *QUIC) Begin(s *quic.Stream, on *quic.Conn, request quic.Request) {
	s.Begin(on, request, func(s *quic.Stream) {
		q.report(func(r *Reports) { r.Ended = append(r.Ended, s) })
	})
}

// CloseConn closes a connection; nil is none. That takes a moment, for which nobody waits but Close.
func (q *QUIC) CloseConn(conn *quic.Conn) {
	if conn != nil {
		q.closing.Go(conn.Close)
	}
}

// Dropped returns how many datagrams this machine threw away because they came faster than they were read. Any goroutine may
// call it, also after Close.
func (q *QUIC) Dropped() int64 {
	if q.Dialer == nil {
		return 0
	}
	return q.Dialer.Dropped()
}

// Close closes the sockets, when the connections have said goodbye.
func (q *QUIC) Close() {
	if q.Dialer != nil {
		q.closing.Wait()
		q.Dialer.Close()
	}
}
