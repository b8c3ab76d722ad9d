package loop

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/wire"
)

// How often a name is looked up: normally, and at most, if that failed or no address accepts connections; and the
// timeout of one lookup.
const (
	lookupEvery   = 30 * time.Second
	lookupRetry   = time.Second
	lookupTimeout = 10 * time.Second
)

// known is the result of lookups: addresses, the best first, or why there are none.
type known struct {
	peers     []peer
	addresses []netip.AddrPort // the same, those of IPv4 first: over UDP silence is all that a missing route shows
	err       error
}

// names knows the addresses of the target's host. The loop reads known and never waits for it.
type names struct {
	known  atomic.Pointer[known]
	wrong  chan struct{} // room for one: no address accepted a connection
	cancel context.CancelFunc
	host   string
	port   int
	fits   func(netip.Addr) bool
}

// newNames looks up the host of a wire's address within its timeout. If the host is a name, it repeats the lookup until
// closed. fits tells which addresses can be reached. With found it does not wait for the first lookup, and calls found after
// it.
func newNames(wire *wire.Wire, fits func(netip.Addr) bool, found func()) (*names, error) {
	if wire.Network == "unix" {
		n := &names{cancel: func() {}, wrong: make(chan struct{}, 1)}
		n.known.Store(&known{peers: []peer{ofUnix(wire.Address)}})
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
	n := &names{host: host, port: int(port), fits: fits, wrong: make(chan struct{}, 1)}
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

// refresh looks the name up from time to time, and soon if its addresses are wrong.
func (n *names) refresh(ctx context.Context) {
	for {
		if !pause(ctx, lookupRetry, nil) {
			return
		}
		if n.known.Load().err == nil && !pause(ctx, lookupEvery-lookupRetry, n.wrong) {
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

// doubt asks for another lookup, because no address accepted a connection. It never blocks.
func (n *names) doubt() {
	select {
	case n.wrong <- struct{}{}:
	default: // it has been asked for already
	}
}

func (n *names) lookUp(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	n.learn(net.DefaultResolver.LookupNetIP(ctx, "ip", n.host))
}

// learn takes the result of a lookup. A failed one keeps what was known.
func (n *names) learn(ips []netip.Addr, err error) {
	var found known
	for _, ip := range ips {
		if ip = ip.Unmap(); n.fits(ip) {
			found.peers = append(found.peers, newPeer(ip, n.port))
			found.addresses = append(found.addresses, netip.AddrPortFrom(ip, uint16(n.port)))
		}
	}
	slices.SortStableFunc(found.addresses, func(a, b netip.AddrPort) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	if len(found.peers) > 0 {
		n.known.Store(&found)
		return
	}
	if err == nil {
		err = probe.ErrNoLocal
	}
	if old := n.known.Load(); old == nil || len(old.peers) == 0 {
		n.known.Store(&known{err: err})
	}
}

// close ends the lookups.
func (n *names) close() { n.cancel() }
