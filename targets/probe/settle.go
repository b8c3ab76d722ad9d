package probe

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// Settle returns the spec with a version of HTTP instead of HTTPAuto. It opens a connection to each https server and asks
// which it chooses, sends no request, and closes it. All servers must choose the same: a run has one version, so that
// its reports are of one kind. Other specs are returned as they are. The error says what to do.
func Settle(ctx context.Context, s targets.Spec, local targets.Local) (targets.Spec, error) {
	if s.Version() != targets.HTTPAuto {
		return s, nil
	}
	d, err := newDialer(s, local)
	if err != nil {
		return s, err
	}
	d.secure.NextProtos = []string{wire.ALPNHTTP2, wire.ALPNHTTP1}
	by, err := targets.ParseRoutes(s.ConnectTo)
	if err != nil {
		return s, err
	}
	chosen, server := "", ""
	asked := map[wire.Endpoint]bool{}
	for _, one := range s.Steps() {
		_, u, err := one.ParseURL()
		if err != nil {
			return s, err
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			continue // others have no versions of HTTP
		}
		to := wire.EndpointOf(s, u, by)
		if asked[to] {
			continue
		}
		asked[to] = true
		version, err := d.ask(ctx, to)
		switch {
		case err != nil:
			return s, fmt.Errorf("http: cannot ask the server for its version: %w; check --url, or give --http 1.1 or 2", err)
		case chosen != "" && version != chosen:
			return s, fmt.Errorf("http: %s speaks HTTP/%s, and %s HTTP/%s; give --http 1.1 or 2", server, chosen, to.Address, version)
		}
		chosen, server = version, to.Address
	}
	s.HTTP = chosen
	if s.HTTP == targets.HTTP1 {
		s.Streams = 0
	}
	return s, nil
}

// ask returns the version of HTTP that a server chooses. Without TLS it cannot choose.
func (d *dialer) ask(ctx context.Context, to wire.Endpoint) (string, error) {
	if to.Name == "" {
		return targets.HTTP1, nil
	}
	c, err := d.dial(ctx, to)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if s, ok := c.Conn.(*tls.Conn); ok && s.ConnectionState().NegotiatedProtocol == wire.ALPNHTTP2 {
		return targets.HTTP2, nil
	}
	return targets.HTTP1, nil
}
