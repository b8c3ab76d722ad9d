package ws

import (
	"errors"
	"fmt"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/http1"
)

// A Rule says which message is the reply to a request. It never changes.
type Rule interface {
	// Bounds returns how many bytes a message may have, and of how many Fits and the user of the reply take notice.
	Bounds() (limit int64, keep int)
	// Fits reports whether a message is the reply. seen counts the messages since the request.
	Fits(r *Reader, seen *int) bool
}

// A Socket is an open WebSocket without its connection: it takes bytes that came, and says what to write. It is for one
// goroutine at a time.
//
// Of several pings only the last is answered (RFC 6455, 5.5.3), so that a server cannot make us send without end.
type Socket struct {
	reader  Reader
	rest    []byte // came behind the answer to the handshake, and was not taken yet
	in, out int64  // bytes that no request has counted
	got     int64  // messages, the same
	ping    []byte // payload of the last ping
	pinged  bool   // it was not answered
	torn    bool   // nothing more may be written: a frame of ours was written in part, or a closing one
	frame   []byte // buffer of control frames
	err     error  // why it carries no further request
	Chosen  string // subprotocol; "" = none

	Sink http1.Sink // takes the messages of a reply; nil = nobody does
	At   int64      // when the bytes of the next Feed were read, for Sink, ns of the caller's clock

	rule Rule // of the request
	seen int  // messages since the request
	old  bool // a message had begun before the request
}

// Skip takes bytes while no reply is expected: messages are pushes, and thrown away. Its error is why the socket has ended;
// it stays.
func (s *Socket) Skip(b []byte) error {
	s.reader.Release() // the last reply has been judged
	s.in += int64(len(b))
	return s.skip(b)
}

// skip is Skip for bytes that were counted.
func (s *Socket) skip(b []byte) error {
	for len(b) > 0 && s.err == nil {
		n, event, err := s.reader.Next(b)
		b = b[n:]
		s.err = s.note(event, err)
	}
	return s.err
}

// Settle takes what came with the answer to the handshake. Its error is why the socket has ended.
func (s *Socket) Settle() error {
	rest := s.rest
	s.rest = nil
	return s.skip(rest)
}

// Greeting returns what came with the answer to the handshake, for Feed: it may be the reply to a handshake.
func (s *Socket) Greeting() []byte {
	rest := s.rest
	s.rest, s.in = nil, s.in-int64(len(s.rest))
	return rest
}

// Expect begins to look for the reply to a request. A message that has begun before is a push.
func (s *Socket) Expect(r Rule) {
	s.rule, s.seen = r, 0
	if s.old = s.reader.Begun(); !s.old {
		s.reader.Limit, s.reader.Keep = r.Bounds()
	}
}

// Feed takes bytes up to the end of the reply. It reports how many it took, and whether the reply is complete. Its error
// is why the socket has ended.
func (s *Socket) Feed(b []byte) (used int, done bool, err error) {
	for used < len(b) {
		n, event, err := s.reader.Next(b[used:])
		used += n
		s.in += int64(n)
		if s.err = s.note(event, err); s.err != nil {
			return used, false, s.err
		}
		switch {
		case event != GotMessage:
		case s.old:
			s.old = false
			s.reader.Limit, s.reader.Keep = s.rule.Bounds()
		default:
			fits := s.rule.Fits(&s.reader, &s.seen)
			if s.Sink != nil {
				if err := s.Sink.Take(nil, true, s.At); err != nil {
					return used, false, err
				}
			}
			if fits {
				s.reader.Limit, s.reader.Keep = 0, 0
				return used, true, nil
			}
		}
	}
	return used, false, nil
}

// note takes an event that is no message.
func (s *Socket) note(event Event, err error) error {
	switch {
	case err != nil:
		return err
	case event == GotPing:
		s.pinged, s.ping = true, append(s.ping[:0], s.reader.Control()...)
	case event == GotMessage:
		s.got++
	case event == GotClose:
		return closedError{s.reader.Code()}
	}
	return nil
}

// Pong returns the answer to the last ping, to be written as a whole; nil if there is none. It is valid until the next
// call. Wrote says what became of it.
func (s *Socket) Pong() []byte {
	if !s.pinged || s.torn {
		return nil
	}
	s.frame = AppendFrame(s.frame[:0], Pong, s.ping, NewKey())
	return s.frame
}

// Wrote notes that n bytes of Pong were written. If it was only a part, nothing more may be written. If it was nothing,
// Pong returns it again.
func (s *Socket) Wrote(n int) {
	s.out += int64(max(0, n))
	if n > 0 {
		s.pinged, s.torn = false, n < len(s.frame)
	}
}

// Bye returns the last frame, before the connection is closed; nil if nothing more may be written. It repeats the server's
// code, says what the server did wrong, or that all is well.
func (s *Socket) Bye() []byte {
	code := Normal
	if broken, ok := errors.AsType[Error](s.err); ok {
		code = broken.CloseCode()
	} else if closed, ok := errors.AsType[closedError](s.err); ok {
		code = closed.code
	} else if s.err != nil {
		return nil
	}
	if s.torn {
		return nil
	}
	s.torn = true
	s.frame = AppendClose(s.frame[:0], code, NewKey())
	s.out += int64(len(s.frame))
	return s.frame
}

// Fail notes that the connection has ended, or cannot be used any more, so that no frame may follow.
func (s *Socket) Fail(err error) {
	if s.err == nil {
		s.err, s.torn = err, true
	}
}

// Why returns the closing frame that came, as an error; err if none did.
func (s *Socket) Why(err error) error {
	if closed, ok := errors.AsType[closedError](s.err); ok {
		return closed
	}
	return err
}

// Counted returns how many bytes came and were written since the last call, but for requests themselves.
func (s *Socket) Counted() (in, out int64) {
	in, out = s.in, s.out
	s.in, s.out = 0, 0
	return in, out
}

// Messages returns how many messages came since the last call.
func (s *Socket) Messages() int64 {
	n := s.got
	s.got = 0
	return n
}

// Status is 0: a message has none. A Socket is the last message as check.Answer.
func (s *Socket) Status() int { return 0 }

// Content is the beginning of the last message.
func (s *Socket) Content() []byte { return s.reader.Content() }

// Length is how many bytes the last message has.
func (s *Socket) Length() int64 { return s.reader.Length() }

// Field returns nothing: a message has no headers.
func (s *Socket) Field(string) []string { return nil }

// A closedError is a closing frame in place of a reply. Its reason is not shown: it may quote the message.
type closedError struct{ code int }

func (e closedError) Error() string {
	return fmt.Sprint("the server closed the connection with ", e.code)
}

// Class implements classified. The set is fixed, so that a server cannot fill a report with names: codes for libraries
// and applications have a class for a thousand each.
func (e closedError) Class() string {
	switch {
	case e.code == NoCode:
		return targets.ClassClosed
	case e.code >= 3000:
		return fmt.Sprintf("%s %dxxx", targets.ClassClosed, e.code/1000)
	}
	return fmt.Sprint(targets.ClassClosed, " ", e.code)
}
