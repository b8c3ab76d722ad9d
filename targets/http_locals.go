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
	network   string // "tcp4" or "tcp6"; endpoints of the other kind cannot be reached
	addresses []*net.TCPAddr
	turn      atomic.Uint64
}

// newFamilies sorts valid IP addresses into families. Without addresses there are none.
func newFamilies(ips []string) []*family {
	v4, v6 := &family{network: "tcp4"}, &family{network: "tcp6"}
	for _, text := range ips {
		ip, f := net.ParseIP(text), v6
		if ip.To4() != nil {
			f = v4
		}
		f.addresses = append(f.addresses, &net.TCPAddr{IP: ip})
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
	if to.network != "tcp" || len(d.families) == 0 {
		return template.DialContext(ctx, to.network, to.address)
	}
	err := error(&net.OpError{Op: "dial", Net: "tcp", Err: ErrNoLocal})
	for _, f := range d.families {
		template.LocalAddr = f.addresses[f.turn.Add(1)%uint64(len(f.addresses))]
		c, failed := template.DialContext(ctx, f.network, to.address)
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
