package http2

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// framed returns a message as gRPC frames it.
func framed(text string) string { return "\x00\x00\x00\x00" + string(rune(len(text))) + text }

// asking returns a request that is a message on a stream that stays open.
func asking(tb testing.TB, kind *LongLived, text string) *Request {
	r := encoded(tb, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"+framed(text))
	r.LongLived = kind
	return r
}

// flushed writes all output.
func flushed(c *Conn) (n int) {
	for out := c.Output(); len(out) > 0; out = c.Output() {
		n += len(out)
		c.Wrote(len(out))
	}
	return n
}

var talkLimits = http1.Limits{Messages: true, Body: 100, Content: 50, Fields: true}

// next is the kind whose reply is the next message.
func next() *LongLived { return &LongLived{Fits: func(_ *Stream, n int) bool { return n == 1 }} }

// TestLasting: requests follow each other on one stream. What comes before a request, or has begun before, is no reply.
func TestLasting(t *testing.T) {
	c, kind := begun(t), next()
	s := new(Stream)
	c.Open(s, asking(t, kind, "one"), talkLimits)
	flushed(c)
	feed := func(b ...[]byte) {
		t.Helper()
		for _, b := range b {
			for i := range b { // byte by byte
				if err := c.Feed(b[i : i+1]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	replied := func(text string) {
		t.Helper()
		if got := c.Replied(); got != s || string(s.Content()) != text || s.Size() != int64(len(text)) || c.Replied() != nil || c.Ended() != nil {
			t.Fatalf("%p replied %q, want %q", got, s.Content(), text)
		}
	}
	feed(http2test.Headers(1, false, ":status", "200"), http2test.Data(1, framed("1")+framed("push"), false))
	replied("1")
	if s.Messages() != 2 || c.Streams() != 1 {
		t.Errorf("%d messages, %d streams", s.Messages(), c.Streams())
	}
	c.Keep(s)
	if c.Streams() != 0 || c.Kept() != 1 || c.Resume(asking(t, next(), "other kind"), talkLimits) != nil {
		t.Error("it is not kept, or for others too")
	}
	feed(http2test.Data(1, framed(strings.Repeat("long", 30))+framed("late push")[:8], false)) // longer than a reply may be
	if c.Resume(asking(t, kind, "two"), talkLimits) != s || c.Resume(asking(t, kind, "three"), talkLimits) != nil {
		t.Fatal("it is not resumed, or twice")
	}
	feed(http2test.Data(1, framed("late push")[8:]+framed("early"), false)) // nothing was sent yet
	flushed(c)
	if c.Replied() != nil {
		t.Error("a push is a reply")
	}
	feed(http2test.Data(1, framed("2"), false))
	replied("2")
	if s.In() == 0 || s.Out() != frameHeader+len(framed("two")) || s.Messages() != 4 || s.Status() != 200 {
		t.Errorf("%d bytes in, %d out, %d messages", s.In(), s.Out(), s.Messages())
	}
	c.Keep(s)
	c.Finish()
	if c.Finishing() != 1 || c.Kept() != 0 || c.Streams() != 0 || flushed(c) != frameHeader {
		t.Errorf("%d are finishing, %d kept", c.Finishing(), c.Kept())
	}
	feed(http2test.Headers(1, true, "grpc-status", "0"))
	if c.Finishing() != 0 || c.Ended() != nil || flushed(c) != 0 {
		t.Error("the end of a stream that nobody waits for")
	}
}

// TestLongLivedWritten: without a reply, a request is over when all of it was written.
func TestLongLivedWritten(t *testing.T) {
	c, kind := begun(t, 4, 10), &LongLived{} // a window of 10 bytes
	s := new(Stream)
	c.Open(s, asking(t, kind, "0123456789"), talkLimits)
	c.Output()
	c.Wrote(len(c.Output()))
	if c.Replied() != nil {
		t.Error("it is over before all was written")
	}
	c.Feed(http2test.Frame(8, 0, 1, []byte{0, 0, 0, 5}))
	n := len(c.Output())
	c.Wrote(n - 1)
	if c.Replied() != nil {
		t.Error("it is over before the last byte")
	}
	c.Wrote(1)
	if c.Replied() != s {
		t.Error("it is not over")
	}
	c.Keep(s)
	c.Feed(http2test.Frame(8, 0, 1, []byte{0, 0, 0, 50}))
	if c.Resume(asking(t, kind, "again"), talkLimits) != s || flushed(c) == 0 || c.Replied() != s {
		t.Error("the second message")
	}
}

// TestLastingEnds: a stream that the server ends fails the request that it carries, and no other. One of which no byte was
// written is known.
func TestLastingEnds(t *testing.T) {
	end := http2test.Headers(1, true, "grpc-status", "8")
	for _, x := range []struct {
		name    string
		bytes   []byte
		written bool
		want    error
	}{
		{"trailers", end, true, ErrOver},
		{"trailers, unwritten", end, false, ErrOver},
		{"a reset", http2test.Frame(3, 0, 1, []byte{0, 0, 0, 8}), true, ResetError{8}},
		{"it leaves without the stream", http2test.Frame(7, 0, 0, []byte{0, 0, 0, 0, 0, 0, 0, 0}), true, ErrUnprocessed},
		{"a compressed message", http2test.Data(1, "\x01\x00\x00\x00\x01x", false), true, errMalformed},
		{"a message too long", http2test.Data(1, "\x00\x00\x00\x00\x65", false), true, http1.ErrBody},
		{"a message that is cut off", http2test.Data(1, "\x00\x00\x00\x00\x05x", true), true, errMalformed},
	} {
		for _, kept := range []bool{true, false} {
			c, kind, s := begun(t), next(), new(Stream)
			c.Open(s, asking(t, kind, "one"), talkLimits)
			flushed(c)
			c.Feed(http2test.Headers(1, false, ":status", "200"))
			c.Feed(http2test.Data(1, framed("1"), false))
			if c.Replied() != s {
				t.Fatal("no reply")
			}
			c.Keep(s)
			if !kept {
				c.Resume(asking(t, kind, "two"), talkLimits)
				if x.written {
					flushed(c)
				}
			}
			if err := c.Feed(x.bytes); err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
			got := c.Ended()
			switch {
			case kept && errors.Is(x.want, http1.ErrBody): // nobody waits for it
			case kept && (got != nil || c.Kept() != 0 || c.Resume(asking(t, kind, "two"), talkLimits) != nil):
				t.Errorf("%s: a stream that carries nothing ended, or is resumed", x.name)
			case !kept && (got != s || !errors.Is(s.Err(), x.want) || (s.Out() > 0) != x.written || c.Streams() != 0):
				t.Errorf("%s: %p ended with %v, %d out", x.name, got, s.Err(), s.Out())
			}
		}
	}
}

// TestLastingEndsLater: an end that comes with or after the reply is none of the request.
func TestLastingEndsLater(t *testing.T) {
	for _, together := range []bool{true, false} {
		c, s := begun(t), new(Stream)
		c.Open(s, asking(t, next(), "one"), talkLimits)
		flushed(c)
		c.Feed(http2test.Headers(1, false, ":status", "200"))
		c.Feed(http2test.Data(1, framed("1"), false))
		if together {
			c.Feed(http2test.Headers(1, true, "grpc-status", "8"))
		}
		if c.Replied() != s || string(s.Content()) != "1" {
			t.Fatal("no reply")
		}
		c.Keep(s)
		if !together {
			c.Feed(http2test.Headers(1, true, "grpc-status", "8"))
		}
		if c.Ended() != nil || c.Kept() != 0 {
			t.Error("the end is that of a request")
		}
	}
}

// TestLastingRoom: a stream that is kept gives way where a server allows no more, and a canceled one is gone.
func TestLastingRoom(t *testing.T) {
	c, kind := begun(t, 3, 1), next()
	a, b := new(Stream), new(Stream)
	c.Open(a, asking(t, kind, "one"), talkLimits)
	flushed(c)
	if c.Room() != 0 {
		t.Error("there is room")
	}
	c.Feed(http2test.Headers(1, false, ":status", "200"))
	c.Feed(http2test.Data(1, framed("1"), false))
	c.Keep(c.Replied())
	if c.Room() != 1 {
		t.Error("there is no room beside one that is kept")
	}
	c.Open(b, asking(t, next(), "other"), talkLimits)
	if c.Kept() != 0 || c.Ended() != nil || len(c.open) != 1 {
		t.Errorf("%d kept, %d open", c.Kept(), len(c.open))
	}
	flushed(c)
	c.Cancel(b)
	c.Fail(io.EOF)
	if c.Ended() != nil || c.Replied() != nil {
		t.Error("a canceled one ended")
	}
}
