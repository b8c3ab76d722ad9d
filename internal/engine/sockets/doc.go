// Package sockets is what is below the event loop, and knows nothing of requests: sockets that do not block, the wait for what
// happens on them, the loop's thread, the way to wake it, and the addresses to connect to and from.
//
//	var poller sockets.Poller
//	err := poller.Open()
//	socket, err := sockets.Connect(&poller, index, "tcp", names.Known().Peers[0], &locals)
//	n, err := poller.Wait(ns)
//	index, what := poller.Event(i) // i < n
//
// Sockets come in two kinds, with the same methods, and the loop knows of neither:
//
//   - sockets of epoll, on Linux: system calls of the loop's own goroutine;
//   - portable ones, elsewhere, or with the build tag portable: connections of package net, with a goroutine that reads
//     each and one that writes it.
//
// Both have the types Socket, Poller, Peer and Thread:
//
//	Connect(poller, index, network, peer, locals)  begins to connect; ErrPending, or nil if it is open at once
//	Socket.Connected()   the error of an attempt that has ended
//	Socket.Send(b)       writes what there is room for; WouldBlock if there is none
//	Socket.Receive(b)    reads what is there; WouldBlock if there is nothing, 0 bytes at the end of a stream
//	Socket.Mute()        its events go nowhere from now on
//	Socket.Close()       what was sent before still leaves
//	Poller.Look(), Wait(ns), Event(i)
//
// A read that does not fill its buffer has emptied a stream: there is another event when more comes. A Wakeup is for other
// goroutines; and one of them may use a socket instead of the loop, which is how handshakes work.
package sockets
