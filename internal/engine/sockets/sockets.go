package sockets

import "errors"

// An Event says what has happened on a socket, as bits. Events are edges: each fact is reported once.
type Event uint8

// The bits of an Event.
const (
	CanRead    Event = 1 << iota // there may be something to read, even an error
	CanWrite                     // there may be room to write, or the attempt to connect has ended
	PeerClosed                   // nothing follows what there is to read
)

// ErrPending says that a connection is being opened. An event reports the end of that.
var ErrPending = errors.New("the connection is being opened")

// WouldBlock is the error of a read that finds nothing, and of a write that finds no room. Package tls keeps all other
// errors and fails with them from then on; a temporary one it hands on, and the read can be repeated.
type WouldBlock struct{}

// Error implements net.Error.
func (WouldBlock) Error() string { return "it would have to wait" }

// Timeout implements net.Error.
func (WouldBlock) Timeout() bool { return true }

// Temporary implements net.Error.
func (WouldBlock) Temporary() bool { return true }

// Blocked reports whether a read or a write would have to wait.
func Blocked(err error) bool {
	return err == error(WouldBlock{}) //nolint:errorlint // package tls wraps an error that it keeps
}
