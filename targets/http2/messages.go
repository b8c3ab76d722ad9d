package http2

import (
	"encoding/binary"

	"github.com/loadctl/loadctl/targets/http1"
)

// prefix is the length of what stands before each message of a body, in bytes: a flag, and the length of the message.
const prefix = 5

// messages is where a body is that consists of messages: see http1.Limits.
type messages struct {
	count int64 // complete ones
	head  [prefix]byte
	have  int   // bytes of head
	left  int64 // bytes of the message that have not come

	skipped bool // nobody waits for the message
}

// Messages is how many complete messages the body had, if the limits say that it consists of them. Of a stream that stays
// open it is how many came since the last request was over.
func (s *Stream) Messages() int64 { return s.messages.count }

// framed reports whether the body consists of messages. That of an error of HTTP does not.
func (s *Stream) framed() bool { return s.limits.Messages && s.status == 200 }

// takeMessages takes the next bytes of messages. Of the last one it keeps all, or nothing.
func (c *Conn) takeMessages(s *Stream, b []byte) error {
	m := &s.messages
	for len(b) > 0 {
		if m.have < prefix {
			n := copy(m.head[m.have:], b)
			m.have, b = m.have+n, b[n:]
			if m.have < prefix {
				return nil
			}
			if err := s.beginMessage(); err != nil {
				return err
			}
		}
		n := min(int64(len(b)), m.left)
		if !m.skipped && m.size() <= int64(s.limits.Content) {
			s.content = append(s.content, b[:n]...)
		}
		if m.left, b = m.left-n, b[n:]; m.left == 0 {
			m.count++
			m.have = 0
			if m.skipped {
				continue
			}
			if s.limits.Sink != nil {
				if err := s.limits.Sink.Take(nil, true, c.At); err != nil {
					return err
				}
			}
			c.received(s)
		}
	}
	return nil
}

// size is the length of the present message, in bytes.
func (m *messages) size() int64 { return int64(binary.BigEndian.Uint32(m.head[1:])) }

// beginMessage begins the message whose prefix has come. One that nobody waits for may have any length.
func (s *Stream) beginMessage() error {
	m := &s.messages
	if m.head[0] != 0 {
		return malformed("a message is compressed, and nobody asked for it")
	}
	m.left, m.skipped = m.size(), s.longLived.kind != nil && !s.awaits()
	if m.skipped {
		return nil
	}
	if m.left > s.limits.Body {
		return http1.ErrBody
	}
	s.content = s.content[:0]
	return nil
}
