package http2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2/http2test"
)

// A peer reads what a Conn sends.
type peer struct {
	greeted bool
	rest    []byte
	body    int    // bytes of all DATA
	sent    string // RST_STREAM and GOAWAY
	pings   int    // answers
}

// read takes over the output of c, in parts of a size.
func (p *peer) read(tb testing.TB, c *Conn, size int) {
	tb.Helper()
	for out := c.Output(); len(out) > 0; out = c.Output() {
		n := min(len(out), size)
		p.rest = append(p.rest, out[:n]...)
		c.Wrote(n)
	}
	if preface := []byte(http2.ClientPreface); !p.greeted && len(p.rest) >= len(preface) {
		if !bytes.HasPrefix(p.rest, preface) {
			tb.Fatalf("begins with %q", p.rest[:len(preface)])
		}
		p.greeted, p.rest = true, p.rest[len(preface):]
	}
	for len(p.rest) >= frameHeader {
		size := frameHeader + int(binary.BigEndian.Uint32(p.rest)>>8)
		if len(p.rest) < size {
			return
		}
		p.frame(p.rest[:size])
		p.rest = p.rest[size:]
	}
}

func (p *peer) frame(b []byte) {
	id, payload := binary.BigEndian.Uint32(b[5:]), b[frameHeader:]
	say := func(format string, a ...any) {
		if p.sent != "" {
			p.sent += "; "
		}
		p.sent += fmt.Sprintf(format, a...)
	}
	switch http2.FrameType(b[3]) {
	case http2.FrameData:
		p.body += len(payload)
	case http2.FrameRSTStream:
		say("RST_STREAM %d %v", id, http2.ErrCode(binary.BigEndian.Uint32(payload)))
	case http2.FrameGoAway:
		say("GOAWAY %v", http2.ErrCode(binary.BigEndian.Uint32(payload[4:])))
	case http2.FramePing:
		p.pings++
	}
}

// A result is how a case ended.
type result struct {
	outcomes string
	in       string // bytes of each stream
	sent     string
	ends     bool
	pings    int
}

// play lets a peer do what a case says; it cuts what it sends into pieces as next says.
func play(tb testing.TB, c *http2test.Case, next func(left int) int) (r result) {
	tb.Helper()
	conn, p := NewConn(http1.Limits{}), new(peer)
	streams := make([]Stream, c.Count())
	requests := make([]Request, len(streams))
	ended := map[*Stream]int{}
	feed := func(b []byte) {
		for len(b) > 0 {
			n := next(len(b))
			conn.Feed(b[:n])
			b = b[n:]
			p.read(tb, conn, 1000)
		}
		for s := conn.Ended(); s != nil; s = conn.Ended() {
			ended[s]++
		}
	}
	for i := range streams {
		method := c.Method
		if method == "" {
			method = "GET"
		}
		message := append([]byte(method+" / HTTP/1.1\r\nHost: a\r\n\r\n"), make([]byte, c.Body)...)
		if err := requests[i].Encode("http", message); err != nil {
			tb.Fatal(err)
		}
		if conn.Room() == 0 {
			tb.Fatal("no room")
		}
		conn.Open(&streams[i], &requests[i], http1.Limits{Body: c.BodyLimit})
		p.read(tb, conn, 1000)
		if i == 0 {
			feed(c.First()) // it says how many streams there may be
		}
	}
	for i, step := range c.Steps {
		if p.body < step.After {
			tb.Fatalf("%s: step %d: %d bytes instead of %d", c.Name, i, p.body, step.After)
		}
		feed(step.Bytes)
	}
	if c.Closes {
		conn.Fail(io.EOF)
		feed(nil)
	}
	if p.sent != "" && c.Ends {
		p.pings = 0 // the end comes earlier if the output could not be written in between
	}
	var outcomes, in []string
	for i := range streams {
		s := &streams[i]
		o := http2test.Outcome{Class: class(s.Err()), Status: s.Status(), Body: s.Length()}
		switch {
		case ended[s] > 1:
			tb.Fatalf("%s: stream %d ended %d times", c.Name, i, ended[s])
		case ended[s] == 0:
			o.Class = http2test.Timeout
		}
		outcomes, in = append(outcomes, fmt.Sprintf("%+v", o)), append(in, fmt.Sprint(s.In()))
	}
	return result{strings.Join(outcomes, " "), strings.Join(in, " "), p.sent, conn.Leaving(), p.pings}
}

// class returns the class of an error, as package targets does.
func class(err error) string {
	reset, isReset := errors.AsType[ResetError](err)
	switch {
	case err == nil:
		return http2test.OK
	case isReset:
		return http2test.Reset + reset.Name()
	case errors.Is(err, ErrUnprocessed):
		return http2test.Unprocessed
	case errors.Is(err, http1.ErrBody):
		return http2test.BodyLimit
	case errors.Is(err, http1.ErrHead):
		return http2test.HeadLimit
	case errors.Is(err, io.ErrUnexpectedEOF):
		return http2test.EOF
	}
	return http2test.Protocol
}

// TestCases: however the bytes arrive, the outcome is the same.
func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range http2test.Cases() {
		if names[c.Name] {
			t.Errorf("%s: twice", c.Name)
		}
		names[c.Name] = true
		size := 0
		for _, s := range c.Steps {
			size += len(s.Bytes)
		}
		whole := play(t, &c, func(left int) int { return left })
		var want []string
		for i := range c.Count() {
			want = append(want, fmt.Sprintf("%+v", c.Outcome(i)))
		}
		if w := strings.Join(want, " "); whole.outcomes != w || whole.sent != c.Sent || whole.ends != c.Ends {
			t.Errorf("%s\ngot  %.200s, sent %.200q, ends %v\nwant %.200s, sent %.200q, ends %v", c.Name, whole.outcomes, whole.sent, whole.ends, w, c.Sent, c.Ends)
		}
		pieces := []int{1, 2, 7, 1000}
		if size > 20000 {
			pieces = []int{4001}
		}
		for _, n := range pieces {
			if got := play(t, &c, func(left int) int { return min(left, n) }); got != whole {
				t.Errorf("%s, in pieces of %d\ngot  %.300v\nwant %.300v", c.Name, n, got, whole)
			}
		}
		for at := 1; at < size && size < 200; at++ {
			first := true
			cut := func(left int) int {
				if first {
					first = false
					return min(left, at)
				}
				return left
			}
			if got := play(t, &c, cut); got != whole {
				t.Errorf("%s, cut at %d\ngot  %.300v\nwant %.300v", c.Name, at, got, whole)
			}
		}
	}
	if len(names) < 250 {
		t.Errorf("only %d cases", len(names))
	}
}
