package sockets

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets/wire"
)

// How often a name is looked up: normally, and at most, if that failed or no address accepts connections; and the
// timeout of one lookup.
const (
	lookupEvery   = 30 * time.Second
	lookupRetry   = time.Second
	lookupTimeout = 10 * time.Second
)

// Known is the result of lookups: addresses, the best first, or why there are none.
type Known struct {
	Peers     []Peer
	Addresses []netip.AddrPort // the same, those of IPv4 first: over UDP silence is all that a missing route shows
	Err       error
}

// Names knows the addresses of the target's host. The loop reads what is known and never waits for it.
type Names struct {
	known  atomic.Pointer[Known]
	wrong  chan struct{}      // room for one: no address accepted a connection
	took   chan time.Duration // how long the last lookups took, as far as there is room
	cancel context.CancelFunc
	host   string
	port   int
	fits   func(netip.Addr) bool
}

// NewNames looks up the host of a wire's address within its timeout. If the host is a name, it repeats the lookup until
// closed. fits tells which addresses can be reached. With found it does not wait for the first lookup, and calls found after
// it.
func NewNames(wire *wire.Wire, fits func(netip.Addr) bool, found func()) (*Names, error) {
	if wire.Network == "unix" {
		n := &Names{cancel: func() {}, wrong: make(chan struct{}, 1)}
		n.known.Store(&Known{Peers: []Peer{ofUnix(wire.Address)}})
		return n, nil
	}
	host, text, err := net.SplitHostPort(wire.Address)
	if err != nil {
		return nil, fmt.Errorf("parse address: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("parse port: %w", err)
	}
	n := &Names{host: host, port: int(port), fits: fits, wrong: make(chan struct{}, 1), took: make(chan time.Duration, 16)}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	if ip, err := netip.ParseAddr(host); err == nil {
		n.learn([]netip.Addr{ip}, nil)
		return n, nil
	}
	first := min(wire.Timeout, lookupTimeout)
	if found == nil {
		n.lookUp(ctx, first)
		go n.refresh(ctx)
		return n, nil
	}
	go func() {
		n.lookUp(ctx, first)
		found()
		n.refresh(ctx)
	}()
	return n, nil
}

// Known returns the result of the last lookup that found something; nil before the end of the first one.
func (n *Names) Known() *Known { return n.known.Load() }

// Took returns how long a lookup took, each once; false if there was no other. It never blocks.
func (n *Names) Took() (time.Duration, bool) {
	select {
	case took := <-n.took:
		return took, true
	default:
		return 0, false
	}
}

// refresh looks the name up from time to time, and soon if its addresses are wrong.
func (n *Names) refresh(ctx context.Context) {
	for {
		if !pause(ctx, lookupRetry, nil) {
			return
		}
		if n.known.Load().Err == nil && !pause(ctx, lookupEvery-lookupRetry, n.wrong) {
			return
		}
		n.lookUp(ctx, lookupTimeout)
	}
}

// pause waits for some time, or until early. It returns false if ctx ended.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	select {
	case <-time.After(d):
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Doubt asks for another lookup, because no address accepted a connection. It never blocks.
func (n *Names) Doubt() {
	select {
	case n.wrong <- struct{}{}:
	default: // it has been asked for already
	}
}

func (n *Names) lookUp(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", n.host)
	select {
	case n.took <- time.Since(began):
	default: // nobody wants to know
	}
	n.learn(ips, err)
}

// learn takes the result of a lookup. A failed one keeps what was known.
func (n *Names) learn(ips []netip.Addr, err error) {
	var found Known
	for _, ip := range ips {
		if ip = ip.Unmap(); n.fits(ip) {
			found.Peers = append(found.Peers, newPeer(ip, n.port))
			found.Addresses = append(found.Addresses, netip.AddrPortFrom(ip, uint16(n.port)))
		}
	}
	slices.SortStableFunc(found.Addresses, func(a, b netip.AddrPort) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	if len(found.Peers) > 0 {
		n.known.Store(&found)
		return
	}
	if err == nil {
		err = wire.ErrNoLocal
	}
	if old := n.known.Load(); old == nil || len(old.Peers) == 0 {
		n.known.Store(&Known{Err: err})
	}
}

// Close ends the lookups.
func (n *Names) Close() { n.cancel() }

// PeerAt returns the peer at an address and port.
func PeerAt(to netip.AddrPort) Peer { return newPeer(to.Addr().Unmap(), int(to.Port())) }
