// Package loop is a worker.Client for HTTP/1.1, HTTP/2, gRPC, WebSocket, TCP, UDP and Redis that owns its sockets and
// timers: one event loop for all connections, with TLS or without. Only handshakes of TLS and WebSocket, and logins, have
// goroutines of their own.
//
//	wire, err := targets.NewWire(spec, local)
//	if err != nil { … }
//	if ok {
//		client, err = loop.New(clock, wire, 256)
//	}
//
// On Linux the loop keeps a thread. A request costs one write, one read and a share of one wait; with several streams on a
// connection, less. On other systems two goroutines read and write each connection: see sockets.go.
//
// Guarantees: those of worker.Client and of package targets. One Send is at most one request at the server: once a byte
// of it was written, it is never written again, unless an HTTP/2 server said that it did not process it. The outcome is
// that of the Target of the same Spec, with one exception. A request of HTTP/1.1 or WebSocket may find no room in the send
// buffer of a connection that the server then resets, while the maximum number of connections is being opened. It ends
// with that reset, where the Target would wait for its turn.
//
// On Linux a request does not allocate; only a failing one may, and TLS a little. If connections are kept, at most 128 are
// being opened at the same time. A TLS connection holds a record of what was read, and 32 KiB of what is to be written.
package loop
