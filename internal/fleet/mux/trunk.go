package mux

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// errSilent says that a server has not answered for too long.
var errSilent = fmt.Errorf("no answer for %v, so the connection was closed", silence)

// trunk is one socket.
type trunk struct {
	dialer *Dialer
	socket net.Conn
	done   chan struct{} // closed when it has ended

	writing sync.Mutex // held while writing; requests are due in the order of their writing

	mu      sync.Mutex
	due     []request // requests whose replies are still to come, in order
	streams map[*stream]struct{}
	err     error // why it has ended; nil = it has not
}

// request is a command that was written.
type request struct {
	from *stream
	at   time.Time
}

func newTrunk(d *Dialer, socket net.Conn) *trunk {
	return &trunk{dialer: d, socket: socket, done: make(chan struct{}), streams: map[*stream]struct{}{}}
}

// over returns why the trunk has ended, or nil.
func (t *trunk) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// stream opens another stream.
func (t *trunk) stream() *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &stream{trunk: t, ready: make(chan struct{}, 1), err: t.err}
	t.streams[s] = struct{}{}
	return s
}

// send writes n complete requests of a stream together.
func (t *trunk) send(from *stream, requests []byte, n int, deadline time.Time) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	err := t.err
	now := time.Now()
	for range n {
		t.due = append(t.due, request{from, now})
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	_ = t.socket.SetWriteDeadline(deadline)
	if _, err := t.socket.Write(requests); err != nil { // a part may be on its way, so nothing can follow
		t.end(err)
		return t.over() // a refusal that was read in the meantime says more than the write that it cut off
	}
	return nil
}

// read reads replies and messages until the socket ends.
func (t *trunk) read() {
	from := bufio.NewReader(t.socket)
	for {
		reply, err := readReply(from)
		if err == nil {
			err = t.take(reply)
		}
		if err != nil {
			t.end(err)
			return
		}
	}
}

// take passes one reply or message to its receiver.
func (t *trunk) take(reply []byte) error {
	switch reply[0] {
	case '>':
		return t.push(reply)
	case '%':
		t.dialer.understood()
	case '-':
		if err := Refusal(reply); err != nil {
			return err
		}
	}
	return t.answer(reply)
}

// push handles data that is no reply by its form. The confirmation of a subscription does answer a command, so its
// stream gets it as a reply.
func (t *trunk) push(frame []byte) error {
	parts, err := parsePush(frame)
	if err != nil {
		return err
	}
	switch string(parts[0]) {
	case "message":
		if len(parts) == 3 {
			t.dialer.deliver(parts[2])
		}
		return nil
	case "subscribe", "unsubscribe":
		if string(parts[0]) == "subscribe" {
			t.dialer.subscribed(t)
		}
		frame[0] = '*'
		return t.answer(frame)
	}
	return nil // nobody asked for other kinds
}

// answer passes a reply to the stream whose request is oldest.
func (t *trunk) answer(reply []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return errors.New("the server sent a reply without a request")
	}
	t.due[0].from.feed(reply)
	t.due = slices.Delete(t.due, 0, 1)
	return nil
}

// leave is called when a stream is closed. If a reply is long overdue, it ends the trunk: the server is gone.
func (t *trunk) leave(s *stream) {
	t.mu.Lock()
	delete(t.streams, s)
	silent := len(t.due) > 0 && time.Since(t.due[0].at) > silence
	t.mu.Unlock()
	if silent {
		t.end(errSilent)
	}
}

// end closes the socket and all its streams.
func (t *trunk) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	t.err = why
	_ = t.socket.Close() // the error has no consequence
	for s := range t.streams {
		s.fail(why)
	}
	close(t.done)
}
