package loop

import (
	"fmt"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/targets/wire"
)

// A host is a server that requests go to. The steps of a workload may go to several.
type host struct {
	network  string // "tcp", "udp" or "unix"
	endpoint endpoint
	names    *sockets.Names
	idle     list  // its connections without a request; the last one became idle last, and is used first
	coming   *conn // of HTTP/2: a connection that is being opened, and has room for streams
	peer     int   // index of the address that was connected to last
}

// An endpoint is what connections must have in common to be interchangeable: where they lead, the name in TLS, and what they
// carry.
type endpoint struct {
	network, address, name, handshake string
	carries                           bool // several requests
}

// endpointOf returns that of a wire.
func endpointOf(w *wire.Wire) endpoint {
	return endpoint{w.Network, w.Address, w.Name, w.Handshake(), w.Streams > 0}
}

// openHosts finds the server of each step. Those with the same endpoint are one. Requests without connections have a host without
// names.
func (c *Client) openHosts() error {
	c.byWire = map[*wire.Wire]*host{}
	rests := &host{}
	for i, w := range c.wire.Steps() {
		h := rests
		if w.Connects() {
			var err error
			if h, err = c.hostOf(w, nil); err != nil {
				c.closeHosts()
				return fmt.Errorf("look up %s: %w", w.Address, err)
			}
		}
		if c.byWire[w] = h; i == 0 {
			c.only = h
		} else if h != c.only {
			c.only = nil
		}
	}
	c.steps = len(c.hosts)
	return nil
}

// hostOf returns the server of a wire, which may be a new one. found is nil for steps, and for redirects as for newNames.
func (c *Client) hostOf(w *wire.Wire, found func()) (*host, error) {
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
	h.names, err = sockets.NewNames(w, c.locals.Fits, found)
	if err == nil {
		c.hosts = append(c.hosts, h)
	}
	return h, err
}

// silent notes that an address does not accept connections: the next ones are opened to another one.
func (h *host) silent(next int) {
	h.peer = next
	h.names.Doubt()
}

func (c *Client) closeHosts() {
	for _, h := range c.hosts {
		h.names.Close()
	}
}
