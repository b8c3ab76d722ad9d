package loop

import "errors"

// An event says what has happened on a socket, as bits. Events are edges: each fact is reported once.
type event uint8

const (
	canRead    event = 1 << iota // there may be something to read, even an error
	canWrite                     // there may be room to write, or the attempt to connect has ended
	peerClosed                   // nothing follows what there is to read
)

// Sockets come in two kinds, with the same methods, and the rest of the package knows of neither:
//
//   - sockets of epoll, on Linux: system calls of the loop's own goroutine;
//   - portable ones, elsewhere, or with the build tag portable: connections of package net, with a goroutine that reads
//     each and one that writes it.
//
// Both have the types socket, poller, peer and thread:
//
//	connect(poller, index, network, peer, locals)  begins to connect; errPending, or nil if it is open at once
//	socket.connected()   the error of an attempt that has ended
//	socket.send(b)       writes what there is room for; wouldBlock if there is none
//	socket.receive(b)    reads what is there; wouldBlock if there is nothing, 0 bytes at the end of a stream
//	socket.mute()        its events go nowhere from now on
//	socket.close()       what was sent before still leaves
//	poller.look(), wait(ns), event(i), interrupt()
//
// A read that does not fill its buffer has emptied a stream: there is another event when more comes. Only interrupt may be
// called by other goroutines; and one of them may use a socket instead of the loop, which is how handshakes work.

// errPending says that a connection is being opened. An event reports the end of that.
var errPending = errors.New("the connection is being opened")

// wouldBlock is the error of a read that finds nothing, and of a write that finds no room. Package tls keeps all other
// errors and fails with them from then on; a temporary one it hands on, and the read can be repeated.
type wouldBlock struct{}

func (wouldBlock) Error() string   { return "it would have to wait" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

// blocked reports whether a read or a write would have to wait.
func blocked(err error) bool {
	return err == error(wouldBlock{}) //nolint:errorlint // package tls wraps an error that it keeps
}
