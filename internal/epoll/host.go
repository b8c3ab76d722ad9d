//go:build linux

package epoll

import (
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

// A host is a server that requests go to. The steps of a workload may go to several.
type host struct {
	network string // "tcp", "udp" or "unix"
	names   *names
	idle    list   // its connections without a request; the last one became idle last, and is used first
	coming  *place // of HTTP/2: a connection that is being opened, and has room for riders
	peer    int    // index of the address that was connected to last
}

// An endpoint is what connections must have in common to be interchangeable: where they lead, and the name in TLS.
type endpoint struct{ network, address, name, handshake string }

// newHosts returns the server of each step. Those with the same endpoint are one.
func newHosts(steps []*targets.Wire, fits func(family int) bool) (of map[*targets.Wire]*host, all []*host, err error) {
	of = map[*targets.Wire]*host{}
	known := map[endpoint]*host{}
	for _, w := range steps {
		to := endpoint{w.Network, w.Address, w.Name, w.Handshake()}
		h := known[to]
		if h == nil {
			h = &host{network: w.Network}
			if h.names, err = newNames(w, fits); err != nil {
				closeHosts(all)
				return nil, nil, fmt.Errorf("look up %s: %w", w.Address, err)
			}
			known[to] = h
			all = append(all, h)
		}
		of[w] = h
	}
	return of, all, nil
}

func closeHosts(all []*host) {
	for _, h := range all {
		h.names.close()
	}
}
