package http2

import (
	"errors"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
)

// TestMessages: messages are counted, bounded and kept, however their bytes are split.
func TestMessages(t *testing.T) {
	long := append([]byte{0, 0, 0, 1, 0}, make([]byte, 256)...)
	for _, c := range []struct {
		body    []byte
		count   int64
		kept    string
		partial bool
		err     error
	}{
		{nil, 0, "", false, nil},
		{[]byte("\x00\x00\x00\x00\x00"), 1, "", false, nil},
		{[]byte("\x00\x00\x00\x00\x02ab"), 1, "ab", false, nil},
		{[]byte("\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03cde"), 3, "cde", false, nil},
		{append([]byte("\x00\x00\x00\x00\x02ab"), long...), 2, "", false, nil}, // too long to be kept, so nothing is
		{[]byte("\x00\x00\x00\x00\x02a"), 0, "a", true, nil},
		{[]byte("\x00\x00\x00"), 0, "", true, nil},
		{[]byte("\x01\x00\x00\x00\x02ab"), 0, "", false, errMalformed},
		{[]byte("\x00\x00\x00\x04\x01"), 0, "", false, http1.ErrBody},
		{[]byte("\x00\xff\xff\xff\xff"), 0, "", false, http1.ErrBody},
	} {
		for cut := range len(c.body) + 1 {
			s, conn := &Stream{limits: http1.Limits{Messages: true, Body: 1024, Content: 100}, status: 200}, new(Conn)
			err := conn.takeMessages(s, c.body[:cut])
			if err == nil {
				err = conn.takeMessages(s, c.body[cut:])
			}
			if !errors.Is(err, c.err) || c.err == nil && (s.Messages() != c.count || string(s.Content()) != c.kept || s.messages.have > 0 != c.partial) {
				t.Errorf("%q cut at %d: %v, %d messages, kept %q, %+v", c.body[:min(20, len(c.body))], cut, err, s.Messages(), s.Content(), s.messages)
			}
		}
	}
	if s := (&Stream{limits: http1.Limits{Messages: true}, status: 503}); s.framed() {
		t.Error("the body of an error is no messages")
	}
}
