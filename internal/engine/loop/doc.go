// Package loop is a worker.Client for all protocols: one event loop for all connections, with TLS or without, that owns its
// sockets and timers. Only handshakes of TLS and WebSocket, logins, and the streams of HTTP/3 have goroutines of their own.
//
//	w, err := wire.New(spec, local)
//	if err != nil { … }
//	client, err := loop.New(clock, w, 256)
//
// On Linux the loop keeps a thread. A request costs one write, one read and a share of one wait; with several streams on a
// connection, less. On other systems two goroutines read and write each connection: see package sockets.
//
// Guarantees: those of worker.Client and of package targets. One Send is at most one request at the server: once a byte
// of it was written, it is never written again, unless a server of HTTP/2 or HTTP/3 said that it did not process it (again.go).
//
// On Linux a request does not allocate, except with HTTP/3; only a failing one may, and TLS a little. If connections are
// kept, at most 128 are being opened at the same time. A TLS connection holds a record of what was read, and 32 KiB of what
// is to be written.
package loop
