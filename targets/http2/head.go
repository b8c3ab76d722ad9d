package http2

import (
	"errors"
	"math"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/loadctl/loadctl/targets/http1"
)

// A block is a header block while it arrives and is decoded.
type block struct {
	id    uint32 // of its stream, while CONTINUATION must follow; else 0
	end   bool   // of the stream
	size  int    // of all its frames
	bytes []byte // of the frames that came, if there are several

	stream  *Stream
	code    int   // of :status
	length  int64 // of content-length
	regular bool  // a header that is no pseudo header came
	err     error
}

// readHeaders reads HEADERS. Its priority is ignored.
func (c *Conn) readHeaders(f frame, payload []byte) error {
	padding := 0
	if f.flags.Has(http2.FlagHeadersPadded) {
		if len(payload) == 0 {
			return violated(http2.ErrCodeFrameSize, "sent a frame of a wrong size")
		}
		padding, payload = int(payload[0]), payload[1:]
	}
	if f.flags.Has(http2.FlagHeadersPriority) {
		if len(payload) < 5 {
			return violated(http2.ErrCodeFrameSize, "sent a frame of a wrong size")
		}
		payload = payload[5:]
	}
	if padding > len(payload) {
		return violated(http2.ErrCodeProtocol, "sent a frame with more padding than it is long")
	}
	payload = payload[:len(payload)-padding]
	b := &c.block
	b.size, b.end = frameHeader+f.size, f.flags.Has(http2.FlagHeadersEndStream)
	if !f.flags.Has(http2.FlagHeadersEndHeaders) {
		b.id, b.bytes = f.id, append(b.bytes[:0], payload...)
		return c.bounded()
	}
	if err := c.bounded(); err != nil {
		return err
	}
	return c.decode(f.id, payload)
}

// continueBlock reads CONTINUATION.
func (c *Conn) continueBlock(f frame, payload []byte) error {
	b := &c.block
	b.size += frameHeader + f.size
	if err := c.bounded(); err != nil {
		return err
	}
	b.bytes = append(b.bytes, payload...)
	if !f.flags.Has(http2.FlagContinuationEndHeaders) {
		return nil
	}
	b.id = 0
	err := c.decode(f.id, b.bytes)
	b.bytes = kept(b.bytes)
	return err
}

// bounded checks the size of a block as it is sent, in all its frames. Without the whole block no later one can be
// decoded, so the connection ends.
func (c *Conn) bounded() error {
	if c.block.size > c.limits.Head+frameHeader {
		return violation{http2.ErrCodeEnhanceYourCalm, http1.ErrHead}
	}
	return nil
}

// decode decodes a complete header block. That of a stream that we reset is decoded too, for the table.
func (c *Conn) decode(id uint32, bytes []byte) error {
	s, err := c.find(id)
	if err != nil {
		return err
	}
	b := &c.block
	b.stream, b.code, b.length, b.regular, b.err = s, 0, unknown, false, nil
	c.decoder.SetEmitEnabled(s != nil)
	if s != nil {
		s.in += b.size
		s.begun(c.At)
		if s.status == 0 {
			s.fields = s.fields[:0] // those of an interim head
		}
	}
	_, err = c.decoder.Write(bytes)
	if err == nil {
		err = c.decoder.Close()
	}
	b.stream = nil
	switch {
	case errors.Is(err, hpack.ErrStringLength):
		return violation{http2.ErrCodeEnhanceYourCalm, http1.ErrHead}
	case err != nil:
		return violated(http2.ErrCodeCompression, "sent a header block that cannot be decoded")
	case s != nil:
		c.idle = 0
		c.endBlock(s)
	case b.end:
		c.forget(id)
	}
	return nil
}

// endBlock decides what a decoded header block means.
func (c *Conn) endBlock(s *Stream) {
	b := &c.block
	switch {
	case b.err != nil:
	case s.status != 0:
		if !b.end {
			b.err = malformed("headers in the middle of its body")
		}
	case b.code == 0:
		b.err = malformed("no status")
	case b.code == 101 || b.code < 200 && b.end:
		b.err = malformed("an interim answer that cannot be")
	case b.code < 200:
		if s.interim++; s.interim > s.limits.Interim {
			b.err = http1.ErrInterim
		}
		s.goal = s.goal[:0]
	default:
		s.status, s.length = b.code, b.length
		s.hold()
		if s.limits.Sink != nil && !s.limits.Messages && !s.limits.Sink.Expects(s.status) {
			s.limits.Sink = nil
		}
		if !redirects(s.status) {
			s.goal = s.goal[:0]
		}
	}
	switch {
	case b.err != nil:
		c.abort(s, b.err)
		if b.end {
			c.forget(s.id)
		}
	case b.end:
		c.complete(s)
	}
}

// redirects reports whether a location belongs to the status.
func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// field takes a header as the decoder emits it. After an error of the block the decoder emits no more.
func (c *Conn) field(f hpack.HeaderField) {
	b := &c.block
	if b.err = b.add(f.Name, f.Value); b.err != nil {
		c.decoder.SetEmitEnabled(false)
	}
}

// add checks a header, and notes what it says (RFC 9113, 8.2 and 8.3).
func (b *block) add(name, value string) error {
	s := b.stream
	const overhead = 32 // RFC 9113, 6.5.2
	if s.headSize += len(name) + len(value) + overhead; s.headSize > s.limits.Head {
		return http1.ErrHead
	}
	if strings.HasPrefix(name, ":") {
		return b.addPseudo(name, value)
	}
	b.regular = true
	if !validName(name) || !validValue(value) {
		return malformed("a header has a wrong character")
	}
	if forbidden(name) {
		return malformed("a header is of HTTP/1")
	}
	trailer := s.status != 0
	if s.limits.Fields || s.limits.Hold.Bytes > 0 {
		to := &s.fields
		if trailer {
			to = &s.trailers
		}
		*to = append(append(append(append(*to, name...), ':'), value...), '\n')
	}
	switch {
	case trailer:
	case name == "content-length":
		return b.addLengths(value)
	case name == "location" && len(s.goal) == 0:
		s.goal = append(s.goal, value...) // the first one counts, as in other clients
	}
	return nil
}

// addPseudo notes the status. There is no other pseudo header in an answer, and none in trailers.
func (b *block) addPseudo(name, value string) error {
	switch {
	case name != ":status", b.regular, b.code != 0, b.stream.status != 0:
		return malformed("a pseudo header is unknown, late, or comes twice")
	case len(value) != 3:
		return malformed("the status is not a number of three digits")
	}
	for i := range len(value) {
		d := int(value[i]) - '0'
		if d < 0 || d > 9 || i == 0 && d == 0 {
			return malformed("the status is not a number of three digits")
		}
		b.code = 10*b.code + d
	}
	return nil
}

// addLengths notes a content-length. It may occur several times, or be a list, if all values are equal (RFC 9110, 8.6).
func (b *block) addLengths(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		n, ok := parseDecimal(strings.Trim(one, " \t"))
		if !ok {
			return malformed("the content-length is not a number of bytes")
		}
		if b.length != unknown && b.length != n {
			return malformed("it has two different lengths")
		}
		b.length = n
	}
	return nil
}

// parseDecimal parses one or more digits, up to the largest int64.
func parseDecimal(s string) (n int64, ok bool) {
	for i := range len(s) {
		d := int64(s[i]) - '0'
		if d < 0 || d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = 10*n + d
	}
	return n, len(s) > 0
}

// forbidden reports whether an answer of HTTP/2 has no such header (RFC 9113, 8.2.2).
func forbidden(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// validName reports whether a name consists of token characters without capital letters (RFC 9113, 8.2.1, and RFC 9110,
// 5.6.2).
func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c-'a' >= 26 && c != '-' && c-'0' >= 10 && strings.IndexByte("!#$%&'*+.^_`|~", c) < 0 {
			return false
		}
	}
	return len(name) > 0
}

// validValue reports whether a value has no NUL, CR and LF, and no white space at its ends.
func validValue(value string) bool {
	n := len(value)
	if n > 0 && (isSpace(value[0]) || isSpace(value[n-1])) {
		return false
	}
	for i := range n {
		if c := value[i]; c <= '\r' && (c == 0 || c == '\r' || c == '\n') {
			return false
		}
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }
