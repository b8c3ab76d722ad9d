package loop

import (
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

// A host is a server that requests go to. The steps of a workload may go to several.
type host struct {
	network  string // "tcp", "udp" or "unix"
	endpoint endpoint
	names    *names
	idle     list   // its connections without a request; the last one became idle last, and is used first
	coming   *place // of HTTP/2: a connection that is being opened, and has room for riders
	peer     int    // index of the address that was connected to last
}

// An endpoint is what connections must have in common to be interchangeable: where they lead, and the name in TLS.
type endpoint struct{ network, address, name, handshake string }

// endpointOf returns that of a wire.
func endpointOf(w *targets.Wire) endpoint {
	return endpoint{w.Network, w.Address, w.Name, w.Handshake()}
}

// openHosts finds the server of each step. Those with the same endpoint are one.
func (c *Client) openHosts() error {
	c.of = map[*targets.Wire]*host{}
	for _, w := range c.wire.Steps() {
		h, err := c.hostOf(w, nil)
		if err != nil {
			c.closeHosts()
			return fmt.Errorf("look up %s: %w", w.Address, err)
		}
		c.of[w] = h
	}
	c.steps = len(c.hosts)
	return nil
}

// hostOf returns the server of a wire, which may be a new one. found is nil for steps, and for redirects as for newNames.
func (c *Client) hostOf(w *targets.Wire, found func()) (*host, error) {
	to := endpointOf(w)
	for _, h := range c.hosts {
		if h.endpoint == to {
			return h, nil
		}
	}
	if found != nil {
		c.forget()
	}
	h := &host{network: w.Network, endpoint: to}
	var err error
	h.names, err = newNames(w, c.locals.fits, found)
	if err == nil {
		c.hosts = append(c.hosts, h)
	}
	return h, err
}

func (c *Client) closeHosts() {
	for _, h := range c.hosts {
		h.names.close()
	}
}
