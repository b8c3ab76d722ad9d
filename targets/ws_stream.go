package targets

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/loadctl/loadctl/targets/ws"
)

// A stream is the WebSocket on a connection: what it has read, and what it still has to answer. A request holds its lock
// from before the first byte to the end of the reply; the keeper holds it at other times.
type stream struct {
	mu      sync.Mutex
	reader  ws.Reader
	rest    []byte // came behind the answer to the handshake, and is not read yet
	in, out int64  // bytes of frames that no request has counted
	greeted struct{ in, out int64 }
	pings   []byte // payload of the last ping, if it was not answered
	pinged  bool
	torn    bool   // a frame of ours was written in part
	frame   []byte // buffer of control frames
	err     error  // why it carries no further request
}

// settle takes what has come, without waiting: pushes are thrown away. Its error is why the stream has ended.
func (s *stream) settle(c *conn) error {
	s.skip(s.rest)
	s.rest = nil
	for range mostDrained {
		if s.err != nil {
			break
		}
		n, err := c.readNow(c.buf)
		s.in += int64(n)
		s.skip(c.buf[:n])
		switch {
		case err == nil || s.err != nil:
		case isTimeout(err):
			return nil
		default:
			s.err = err
		}
	}
	return s.err
}

// skip reads bytes in which no reply is expected.
func (s *stream) skip(b []byte) {
	for len(b) > 0 && s.err == nil {
		n, event, err := s.reader.Next(b)
		b = b[n:]
		s.err = s.note(event, err)
	}
}

// note takes an event that is no message. Its error is why the stream has ended. Of several pings only the last is
// answered (RFC 6455, 5.5.3), so that a server cannot make us send without end.
func (s *stream) note(event ws.Event, err error) error {
	switch {
	case err != nil:
		return err
	case event == ws.GotPing:
		s.pinged, s.pings = true, append(s.pings[:0], s.reader.Control()...)
	case event == ws.GotClose:
		return closedError{s.reader.Code()}
	}
	return nil
}

// forget makes the reader keep nothing.
func (s *stream) forget() { s.reader.Limit, s.reader.Keep = 0, 0 }

// pong answers the last ping, if it was not answered.
func (s *stream) pong(c *conn) error {
	if !s.pinged {
		return nil
	}
	s.pinged = false
	s.frame = ws.AppendFrame(s.frame[:0], ws.Pong, s.pings, ws.NewKey())
	n, err := c.wire.Write(s.frame)
	s.out += int64(n)
	s.torn = s.torn || err != nil
	return err
}

// pongNow is pong that does not wait. If there is no room for the answer, it is sent later.
func (s *stream) pongNow(c *conn) error {
	c.raw.instant = true
	defer func() { c.raw.instant = false }()
	out := s.out
	err := s.pong(c)
	if s.out == out && isTimeout(err) && c.wire == net.Conn(c.raw) {
		s.pinged, s.torn, err = true, false, nil
	}
	return err
}

// leave says goodbye, if the server may still listen: it repeats the server's code, says what was wrong, or that all is
// well. It does not wait for an answer. The lock is held.
func (s *stream) leave(c *conn, err error) {
	code := ws.Normal
	if broken, ok := errors.AsType[ws.Error](err); ok {
		code = broken.CloseCode()
	} else if closed, ok := errors.AsType[closedError](err); ok {
		code = closed.code
	} else if err != nil {
		return
	}
	if s.torn {
		return
	}
	s.torn = true // nothing may follow
	s.frame = ws.AppendClose(s.frame[:0], code, ws.NewKey())
	n, _ := c.writeNow(s.frame) // the peer may be gone
	s.out += int64(n)
}

// A closedError is a closing frame in place of a reply. Its reason is not told: it may quote the message.
type closedError struct{ code int }

func (e closedError) Error() string {
	return fmt.Sprint("the server closed the connection with ", e.code)
}

// class implements classified. The set is fixed, so that a server cannot fill a report with names: codes for libraries
// and applications have a class for a thousand each.
func (e closedError) class() string {
	switch {
	case e.code == ws.NoCode:
		return ClassClosed
	case e.code >= 3000:
		return fmt.Sprintf("%s %dxxx", ClassClosed, e.code/1000)
	}
	return fmt.Sprint(ClassClosed, " ", e.code)
}
