package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/quic"
	"github.com/loadctl/loadctl/targets/wire"
)

// contactThree is contact over HTTP/3.
func contactThree(ctx context.Context, w *wire.Wire) Contact {
	to, began := w.Endpoint(), time.Now()
	failed := func(err error) Contact {
		shown := Contact{}.failed(ctx, fmt.Errorf("dial udp %s: %w", to.Address, err), targets.ClassOther)
		if shown.Class == targets.ClassTimeout {
			shown.Err = fmt.Errorf("dial udp %s: %w", to.Address, wire.ErrNoQUIC)
		}
		return shown
	}
	remote, local, err := resolveThree(ctx, to.Address, w.Local)
	if err != nil {
		return failed(err)
	}
	d := quic.NewDialer(w.QUIC())
	defer d.Close()
	c, err := d.Dial(ctx, remote, local, to.Name, func() {})
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	state := c.State().TLS
	shown := Contact{Address: c.Address().String(), Took: time.Since(began), TLS: &state, HTTP: targets.HTTP3}
	shown.Streams = c.Allows(w.Streams)
	return shown
}

// resolveThree returns where to connect, and from which local address, nil for any: the first one of IPv4 if there is one,
// else of IPv6, among those that fit the local addresses.
func resolveThree(ctx context.Context, address string, locals []net.IP) (remote netip.AddrPort, local net.IP, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return remote, nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return remote, nil, err
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return remote, nil, err
	}
	for i := range all {
		all[i] = all[i].Unmap()
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	for _, ip := range all {
		for _, from := range locals {
			if (from.To4() != nil) == ip.Is4() {
				return netip.AddrPortFrom(ip, uint16(port)), from, nil
			}
		}
		if len(locals) == 0 {
			return netip.AddrPortFrom(ip, uint16(port)), nil, nil
		}
	}
	return remote, nil, &net.OpError{Op: "dial", Net: "udp", Err: wire.ErrNoLocal}
}
