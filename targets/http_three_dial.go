package targets

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// threeSockets is how many sockets the connections share, for each local address. Servers and load balancers choose a
// process, and network cards a queue, by the addresses and ports: from one socket, all load would go to one of them.
const threeSockets = 64

// A threeDialer opens connections of HTTP/3. It is safe for concurrent use.
type threeDialer struct {
	secure   *tls.Config
	families []*family // of local addresses; none means that the system chooses
	config   *quic.Config
	patient  time.Duration // of sessions

	mu      sync.Mutex
	closed  bool
	open    int // connections, with those being opened
	sockets map[socketKey]*threeSocket
	turn    int
	gone    int64 // datagrams that closed sockets dropped
}

// A socketKey names a socket: the local address, and a number.
type socketKey struct {
	address string
	number  int
}

// A threeSocket is a UDP socket with the connections on it.
type threeSocket struct {
	udp       *net.UDPConn
	transport *quic.Transport
}

func newThreeDialer(s Spec, secure *tls.Config, families []*family) *threeDialer {
	return &threeDialer{
		secure: secure, families: families, patient: min(s.timeout()/2, mostPatient), sockets: map[socketKey]*threeSocket{},
		config: &quic.Config{
			HandshakeIdleTimeout: s.timeout(), MaxIdleTimeout: idleLimit,
			MaxStreamReceiveWindow: streamWindow, MaxConnectionReceiveWindow: connectionWindow,
			MaxIncomingStreams: -1, MaxIncomingUniStreams: serverStreams,
		},
	}
}

// dial opens a connection to an endpoint, by deadline. Its error says to which.
func (d *threeDialer) dial(ctx context.Context, deadline time.Time, to endpoint) (*conn, error) {
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	s, err := d.connect(ctx, to)
	if err != nil {
		if _, timed := errors.AsType[*quic.IdleTimeoutError](err); timed || ctx.Err() != nil {
			err = cmp.Or(ctx.Err(), err)
		}
		return nil, fmt.Errorf("dial udp %s: %w", to.address, err)
	}
	return &conn{to: to, three: s, idleSince: time.Now()}, nil
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

func (d *threeDialer) connect(ctx context.Context, to endpoint) (*threeSession, error) {
	remote, local, err := d.resolve(ctx, to.address)
	if err != nil {
		return nil, err
	}
	socket, err := d.enter(local)
	if err != nil {
		return nil, err
	}
	// The name is that of the URL, as in dialer.dial.
	secure := d.secure.Clone()
	secure.ServerName, secure.NextProtos, secure.MinVersion = to.name, []string{http3.ALPN}, tls.VersionTLS13
	if secure.ClientSessionCache != nil {
		secure.ClientSessionCache = ownSessions{secure.ClientSessionCache}
	}
	conn, err := socket.transport.Dial(ctx, net.UDPAddrFromAddrPort(remote), secure, d.config)
	if _, system := errors.AsType[*net.OpError](err); system {
		err = &net.OpError{Op: "dial", Net: "udp", Err: err} // it sent in vain: there is no way to the host
	}
	if err != nil {
		d.leave()
		return nil, toldQUIC(err)
	}
	s, err := newThreeSession(conn, to.streams > 1, d.patient, d.leave)
	if err != nil {
		_ = conn.CloseWithError(http3.CodeNoError, "")
		d.leave()
		return nil, toldQUIC(err)
	}
	return s, nil
}

// resolve returns where to connect, and from which address: the first one of IPv4 if there is one, else of IPv6, among
// those that fit the local addresses.
func (d *threeDialer) resolve(ctx context.Context, address string) (remote netip.AddrPort, local string, err error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return remote, "", err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", portText)
	if err != nil {
		return remote, "", err
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return remote, "", err
	}
	for _, kind := range []struct {
		suffix, unspecified string
		fits                func(netip.Addr) bool
	}{{"4", "0.0.0.0", netip.Addr.Is4}, {"6", "::", netip.Addr.Is6}} {
		for _, ip := range all {
			if ip = ip.Unmap(); !kind.fits(ip) {
				continue
			}
			if local, ok := d.local(kind.suffix, kind.unspecified); ok {
				return netip.AddrPortFrom(ip, uint16(port)), local, nil
			}
		}
	}
	return remote, "", &net.OpError{Op: "dial", Net: "udp", Err: ErrNoLocal}
}

// local returns the next local address of a kind; false if there is none.
func (d *threeDialer) local(suffix, unspecified string) (string, bool) {
	if len(d.families) == 0 {
		return unspecified, true
	}
	for _, f := range d.families {
		if f.suffix == suffix {
			return f.addresses[f.turn.Add(1)%uint64(len(f.addresses))].String(), true
		}
	}
	return "", false
}

// enter returns a socket for a connection from a local address: another one each time, until there are as many as may be.
// The caller calls leave at the end of the connection.
func (d *threeDialer) enter(local string) (*threeSocket, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := socketKey{local, d.turn % threeSockets}
	d.turn++
	s := d.sockets[key]
	if s == nil {
		udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(local)})
		if err != nil {
			return nil, err
		}
		s = &threeSocket{udp: udp, transport: &quic.Transport{Conn: udp}}
		d.sockets[key] = s
	}
	d.open++
	return s, nil
}

// leave is called at the end of a connection. The last one closes the sockets, if no more are wanted.
func (d *threeDialer) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	d.closeSockets()
}

// close closes the sockets when all connections on them have been closed.
func (d *threeDialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.closeSockets()
}

// closeSockets closes the sockets if nobody needs them. The lock is held.
func (d *threeDialer) closeSockets() {
	if !d.closed || d.open > 0 {
		return
	}
	for key, s := range d.sockets {
		d.gone += droppedAt(s.udp)
		_ = s.transport.Close()
		_ = s.udp.Close()
		delete(d.sockets, key)
	}
}

// dropped returns how many datagrams the system dropped at all sockets so far.
func (d *threeDialer) dropped() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.gone
	for _, s := range d.sockets {
		sum += droppedAt(s.udp)
	}
	return sum
}
