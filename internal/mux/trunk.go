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

// errSilent is a server that has not answered for too long.
var errSilent = fmt.Errorf("no answer for %v, so the connection was closed", silence)

// trunk is one socket.
type trunk struct {
	dialer *Dialer
	socket net.Conn
	done   chan struct{} // closed when it has ended

	writing sync.Mutex // whoever has it writes; requests are due in the order of their writing

	mu      sync.Mutex
	due     []request // whose replies are to come, in order
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

// over is why it has ended, or nil.
func (t *trunk) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// stream opens one more.
func (t *trunk) stream() *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &stream{trunk: t, ready: make(chan struct{}, 1), err: t.err}
	t.streams[s] = struct{}{}
	return s
}

// send writes n whole requests of a stream at once.
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
		return err
	}
	return nil
}

// read takes in replies and messages until the socket ends.
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

// take hands one reply or message to whom it is for.
func (t *trunk) take(reply []byte) error {
	switch reply[0] {
	case '>':
		return t.push(reply)
	case '%':
		t.dialer.understood()
	case '-':
		if err := refusal(reply); err != nil {
			return err
		}
	}
	return t.answer(reply)
}

// push is what is no reply by its form. The confirmation of a subscription answers a command all the same, and its stream is given it as an answer.
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
	return nil // nobody asked for others
}

// answer is for the stream whose request has waited longest.
func (t *trunk) answer(reply []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return errors.New("the server answers what nobody asked")
	}
	t.due[0].from.feed(reply)
	t.due = slices.Delete(t.due, 0, 1)
	return nil
}

// leave is told when a stream is closed. A reply that is long due says that nobody is there any more.
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
	_ = t.socket.Close() // nothing can be done about it
	for s := range t.streams {
		s.fail(why)
	}
	close(t.done)
}
