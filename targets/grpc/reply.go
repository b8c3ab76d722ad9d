package grpc

import "github.com/loadctl/loadctl/targets/check"

// A Talk is a stream that stays open, such as an http2.Stream that lasts. Its content is the last message.
type Talk interface {
	Reply
	Size() int64 // bytes of the last message
}

// A Message is one message of a stream that stays open, as check.Answer: its content is JSON. It has no status, because the
// stream has not ended.
type Message struct {
	Answer
	size int64
}

// NewMessage returns the last message of a stream of a method.
func NewMessage(t Talk, m *Method) *Message { return &Message{Answer{Reply: t, method: m}, t.Size()} }

// Status is 0.
func (m *Message) Status() int { return 0 }

// Length is how many bytes the message has.
func (m *Message) Length() int64 { return m.size }

var _ check.Answer = (*Message)(nil)
