package targets

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/targets/quic"
)

// contactThree is contact over HTTP/3.
func (t *httpTarget) contactThree(ctx context.Context) Contact {
	to, began := t.first.to, time.Now()
	failed := func(err error) Contact {
		shown := Contact{}.failed(ctx, fmt.Errorf("dial udp %s: %w", to.address, err), ClassOther)
		if shown.Class == ClassTimeout {
			shown.Err = fmt.Errorf("dial udp %s: %w", to.address, ErrNoQUIC)
		}
		return shown
	}
	secure, err := newSecure(t.spec, t.local)
	if err != nil {
		return failed(err)
	}
	remote, local, err := resolveThree(ctx, to.address, t.local.Addresses)
	if err != nil {
		return failed(err)
	}
	d := quic.NewDialer(quic.Options{TLS: secure, Timeout: t.spec.timeout(), Idle: idleLimit})
	defer d.Close()
	c, err := d.Dial(ctx, remote, local, to.name, func() {})
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	state := c.State().TLS
	shown := Contact{Address: c.Address().String(), Took: time.Since(began), TLS: &state, HTTP: HTTP3}
	shown.Streams = c.Allows(t.spec.streams())
	return shown
}

// resolveThree returns where to connect, and from which local address, nil for any: the first one of IPv4 if there is one,
// else of IPv6, among those that fit the local addresses.
func resolveThree(ctx context.Context, address string, locals []string) (remote netip.AddrPort, local net.IP, err error) {
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
		for _, text := range locals {
			if from := net.ParseIP(text); (from.To4() != nil) == ip.Is4() {
				return netip.AddrPortFrom(ip, uint16(port)), from, nil
			}
		}
		if len(locals) == 0 {
			return netip.AddrPortFrom(ip, uint16(port)), nil, nil
		}
	}
	return remote, nil, &net.OpError{Op: "dial", Net: "udp", Err: ErrNoLocal}
}
