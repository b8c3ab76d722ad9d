package targets

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
)

// ErrNoLocal says that all addresses of a host are of another kind (IPv4 or IPv6) than those of Local.
var ErrNoLocal = errors.New("no address of the host fits the local addresses")

// A family holds the local addresses of one kind and uses them in turn. It is safe for concurrent use.
type family struct {
	suffix    string // "4" or "6", of the network; endpoints of the other kind cannot be reached
	addresses []net.IP
	turn      atomic.Uint64
}

// newFamilies sorts valid IP addresses into families. Without addresses there are none.
func newFamilies(ips []string) []*family {
	v4, v6 := &family{suffix: "4"}, &family{suffix: "6"}
	for _, text := range ips {
		ip, f := net.ParseIP(text), v6
		if ip.To4() != nil {
			f = v4
		}
		f.addresses = append(f.addresses, ip)
	}
	var all []*family
	for _, f := range []*family{v4, v6} {
		if len(f.addresses) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// connect opens a connection to an endpoint, from template. If local addresses were given, it uses the next one of a
// family that the endpoint has too.
func (d *dialer) connect(ctx context.Context, template net.Dialer, to endpoint) (net.Conn, error) {
	if to.network == "unix" || len(d.families) == 0 {
		return template.DialContext(ctx, to.network, to.address)
	}
	err := error(&net.OpError{Op: "dial", Net: to.network, Err: ErrNoLocal})
	for _, f := range d.families {
		ip := f.addresses[f.turn.Add(1)%uint64(len(f.addresses))]
		template.LocalAddr = &net.TCPAddr{IP: ip}
		if to.network == "udp" {
			template.LocalAddr = &net.UDPAddr{IP: ip}
		}
		c, failed := template.DialContext(ctx, to.network+f.suffix, to.address)
		if failed == nil {
			return c, nil
		}
		// Package net says in this way that the endpoint is not of the family.
		if _, other := errors.AsType[*net.AddrError](failed); !other {
			err = failed
		}
	}
	return nil, err
}
