// Package epoll is a worker.Client for plain HTTP/1.1 that owns its sockets and its timers: one loop on one thread of
// Linux, where a request costs one write, one read and a share of one wait.
//
//	wire, ok, err := targets.NewWire(spec, local)
//	if err != nil { … }
//	if ok {
//		client, err = epoll.New(clock, wire, 256)
//	}
//
// Guarantees: those of worker.Client and of package targets. One Send is at most one request at the server: what was
// written, even one byte of it, is never written again. The outcome is the one that the Target of the same Spec comes
// to, except where a request found no room on a connection, which the server then reset, while as many connections as may be were being
// opened: it ends with that reset, where the Target would wait for its turn. A request allocates nothing; only one that fails may. At most 128
// connections are being opened at the same time, where they are kept.
//
// On other systems New says that it cannot: use the worker.Adapter there.
package epoll
