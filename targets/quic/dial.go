package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/loadctl/loadctl/targets/http3"
)

// What QUIC may use. A server can make this machine keep at most the connection's window for each connection, and its
// windows grow only while answers are read quickly.
const (
	streamWindow     = 2 << 20 // bytes, at most
	connectionWindow = 3 << 20
	serverStreams    = 8 // in one direction at a time: control, two of QPACK, and unknown ones
)

// mostPatient is for how long at most a request waits before the server is asked for a sign of life. Some servers end
// connections after 30 s of silence, or less, though a request is under way.
const mostPatient = 10 * time.Second

// mostSockets is how many sockets the connections share, for each local address. Servers and load balancers choose a
// process, and network cards a queue, by the addresses and ports: from one socket, all load would go to one of them.
const mostSockets = 64

// Options of a Dialer.
type Options struct {
	TLS     *tls.Config   // shared; the name of the server and the protocol are set for each connection
	Timeout time.Duration // of a request, and of a handshake
	Idle    time.Duration // for how long a connection may be silent
	Shared  bool          // a connection carries several requests at a time
}

// A Dialer opens connections. It is safe for concurrent use.
type Dialer struct {
	options Options
	config  *quic.Config
	buffers sync.Pool // *[]byte, for long answers

	mu      sync.Mutex
	sockets map[socketKey]*socket
	turn    int
	gone    int64 // datagrams that closed sockets dropped
}

// A socketKey names a socket: the local address, and a number.
type socketKey struct {
	address string
	number  int
}

// A socket is a UDP socket with the connections on it.
type socket struct {
	udp       *net.UDPConn
	transport *quic.Transport
}

// NewDialer returns a Dialer. It opens nothing.
func NewDialer(o Options) *Dialer {
	return &Dialer{
		options: o, buffers: sync.Pool{New: newBuffer}, sockets: map[socketKey]*socket{},
		config: &quic.Config{
			HandshakeIdleTimeout: o.Timeout, MaxIdleTimeout: o.Idle,
			MaxStreamReceiveWindow: streamWindow, MaxConnectionReceiveWindow: connectionWindow,
			MaxIncomingStreams: -1, MaxIncomingUniStreams: serverStreams,
		},
	}
}

func newBuffer() any {
	b := make([]byte, longBuffer)
	return &b
}

// Dial opens a connection from a local address, nil for any, to the server of this name at an address. It takes as long as
// the server does, until ctx ends. changed is called whenever the connection takes no more requests: see Conn.Leaving. It may
// be called by any goroutine, and before Dial returns.
func (d *Dialer) Dial(ctx context.Context, to netip.AddrPort, local net.IP, name string, changed func()) (*Conn, error) {
	s, err := d.socket(to.Addr(), local)
	if err != nil {
		return nil, err
	}
	secure := d.options.TLS.Clone()
	secure.ServerName, secure.NextProtos, secure.MinVersion = name, []string{http3.ALPN}, tls.VersionTLS13
	if secure.ClientSessionCache != nil {
		secure.ClientSessionCache = ownSessions{secure.ClientSessionCache}
	}
	conn, err := s.transport.Dial(ctx, net.UDPAddrFromAddrPort(to), secure, d.config)
	if _, system := errors.AsType[*net.OpError](err); system {
		err = &net.OpError{Op: "dial", Net: "udp", Err: err} // it sent in vain: there is no way to the host
	}
	if err != nil {
		return nil, err
	}
	c, err := newConn(conn, d, changed)
	if err != nil {
		_ = conn.CloseWithError(http3.CodeNoError, "")
	}
	return c, err
}

// ownSessions gives each connection a copy of a session of TLS: quic-go writes into the session that it resumes, and
// several connections may resume one.
type ownSessions struct{ tls.ClientSessionCache }

// Get implements tls.ClientSessionCache. A session that cannot be copied is not resumed.
func (o ownSessions) Get(key string) (*tls.ClientSessionState, bool) {
	shared, known := o.ClientSessionCache.Get(key)
	if !known || shared == nil {
		return nil, false
	}
	ticket, state, err := shared.ResumptionState()
	if err != nil || state == nil {
		return nil, false
	}
	text, err := state.Bytes()
	if err != nil {
		return nil, false
	}
	if state, err = tls.ParseSessionState(text); err != nil {
		return nil, false
	}
	own, err := tls.NewResumptionState(ticket, state)
	return own, err == nil
}

// socket returns a socket for a connection to an address, from a local one: another one each time, until there are as many
// as may be.
func (d *Dialer) socket(to netip.Addr, local net.IP) (*socket, error) {
	if local == nil {
		if local = net.IPv4zero; to.Is6() {
			local = net.IPv6unspecified
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := socketKey{local.String(), d.turn % mostSockets}
	d.turn++
	s := d.sockets[key]
	if s == nil {
		udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: local})
		if err != nil {
			return nil, err
		}
		s = &socket{udp: udp, transport: &quic.Transport{Conn: udp}}
		d.sockets[key] = s
	}
	return s, nil
}

// Close closes the sockets, with all connections on them. No Dial may follow.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, s := range d.sockets {
		d.gone += droppedAt(s.udp)
		_ = s.transport.Close()
		_ = s.udp.Close()
		delete(d.sockets, key)
	}
}

// Dropped returns how many datagrams this machine threw away because they came faster than they were read: those at all
// sockets so far, also those that are closed.
func (d *Dialer) Dropped() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.gone
	for _, s := range d.sockets {
		sum += droppedAt(s.udp)
	}
	return sum
}
