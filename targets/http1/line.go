package http1

import (
	"bytes"
	"encoding/binary"
)

// readLine reads bytes up to and including the next LF, at most room of them; the first byte beyond that is an error.
// It returns the line, or nil while its end has not arrived. It copies only a line that was split, and of a long one
// only what matters: see shorten.
func (r *Response) readLine(b []byte, room int, tooLong error) (line []byte, n int, err error) {
	end := bytes.IndexByte(b, '\n')
	n = end + 1
	if end < 0 {
		n = len(b)
	}
	switch {
	case n > room:
		return nil, room + 1, tooLong
	case end < 0:
		r.hold(b)
		return nil, n, nil
	case len(r.line) == 0:
		return b[:n], n, nil
	}
	r.hold(b[:end])
	line = append(r.line, '\n')
	r.line = line[:0]
	return line, n, nil
}

// How much of an unfinished line is held, in bytes. A line of the chunked coding is shorter (maxChunkLine).
const (
	maxHeld = 12 << 10 // beyond it the line is shortened
	maxRead = 8 << 10  // to this length; headers that matter here must be shorter
	maxName = 1 << 10  // and its name to this length
)

// hold adds b to the unfinished line.
func (r *Response) hold(b []byte) {
	for len(b) > 0 {
		n := min(len(b), maxHeld-len(r.line))
		r.line, b = append(r.line, b[:n]...), b[n:]
		if len(r.line) == maxHeld {
			r.line = shorten(r.line)
		}
	}
}

// shorten removes from a line of a head, in place, bytes that change nothing: those of a name beyond maxName, and those
// of a value or reason beyond maxRead. It keeps a control character and the byte after it, which shows whether it is
// the CR before the end.
func shorten(line []byte) []byte {
	if name := tokenLen(line); name > maxName {
		line = append(line[:maxName], line[name:]...)
	}
	if len(line) <= maxRead {
		return line
	}
	bad := maxRead - 1
	for bad < len(line) && printableEach(line[bad:bad+1]) {
		bad++
	}
	return append(line[:maxRead], line[max(bad, maxRead):min(bad+2, len(line))]...)
}

// trimEnd removes the LF of a line and a CR before it.
func trimEnd(line []byte) []byte {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// trim removes white space, as HTTP defines it, at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return trimRight(b)
}

// trimRight removes white space at the end.
func trimRight(b []byte) []byte {
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// equalFold reports whether b equals lower, ignoring case. lower consists of small letters and hyphens. b has no
// control characters.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// tokenLen returns how many bytes at the beginning of b may be in the name of a header (RFC 9110, 5.6.2).
func tokenLen(b []byte) int {
	for i, c := range b {
		// Nearly all are letters and hyphens.
		if (c|0x20)-'a' >= 26 && c != '-' && !isToken(c) {
			return i
		}
	}
	return len(b)
}

// isToken reports whether c may be in the name of a header.
func isToken(c byte) bool {
	// A bit for each character of ASCII; those beyond it shift out.
	const (
		digits  = 1<<10 - 1
		letters = 1<<26 - 1
		low     = digits<<'0' | 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.'
		high    = letters<<('A'-64) | letters<<('a'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 1<<('|'-64) | 1<<('~'-64)
	)
	return uint64(low)>>c&1|uint64(high)>>(c-64)&1 != 0
}

// printable reports whether b has no control characters except tabs, so neither NUL nor CR (RFC 9110, 5.5).
func printable(b []byte) bool {
	// Eight bytes at a time: the first term sets a bit for each byte below space, the second for DEL. Tabs are among
	// them, so hits are checked again.
	const each, top = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		del := x ^ each*0x7f
		if ((x-each*' ')&^x|(del-each)&^del)&top != 0 && !printableEach(b[:8]) {
			return false
		}
		b = b[8:]
	}
	return printableEach(b)
}

func printableEach(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
