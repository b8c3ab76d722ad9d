// Package epoll is a worker.Client for HTTP/1.1, HTTP/2, gRPC, WebSocket, TCP, UDP and Redis that owns its sockets and
// timers: one loop on one thread of Linux, with TLS or without. A request costs one write, one read and a share of one wait;
// with several streams on a connection, less. Only handshakes of TLS and WebSocket, and logins, have goroutines.
//
//	wire, ok, err := targets.NewWire(spec, local)
//	if err != nil { … }
//	if ok {
//		client, err = epoll.New(clock, wire, 256)
//	}
//
// Guarantees: those of worker.Client and of package targets. One Send is at most one request at the server: once a byte
// of it was written, it is never written again, unless an HTTP/2 server said that it did not process it. The outcome is
// that of the Target of the same Spec, with one exception. A request of HTTP/1.1 or WebSocket may find no room in the send
// buffer of a connection that the server then resets, while the maximum number of connections is being opened. It ends
// with that reset, where the Target would wait for its turn.
//
// A request does not allocate; only a failing one may, and TLS a little. If connections are kept, at most 128 are being
// opened at the same time. A TLS connection holds a record of what was read, and 32 KiB of what is to be written.
//
// On other systems New returns an error: use worker.Adapter there.
package epoll
