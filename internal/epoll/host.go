//go:build linux

package epoll

import (
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

// A host is a server that requests go to. The steps of a workload may go to several.
type host struct {
	address string // host:port
	names   *names
	idle    list // its connections without a request; the last one became idle last, and is used first
	peer    int  // index of the address that was connected to last
}

// newHosts returns the server of each step. Those with the same address are one.
func newHosts(steps []*targets.Wire, fits func(family int) bool) (of map[*targets.Wire]*host, all []*host, err error) {
	of = map[*targets.Wire]*host{}
	known := map[string]*host{}
	for _, w := range steps {
		h := known[w.Address]
		if h == nil {
			h = &host{address: w.Address}
			if h.names, err = newNames(w.Address, w.Timeout, fits); err != nil {
				closeHosts(all)
				return nil, nil, fmt.Errorf("look up %s: %w", w.Address, err)
			}
			known[w.Address] = h
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
