package http1

import (
	"bytes"
	"errors"
	"math"
)

// What is wrong with a head.
var (
	errProtocol   = errors.New("the answer is not of HTTP/1")
	errStatusLine = errors.New("the answer's status line is malformed")
	errField      = errors.New("a header of the answer is malformed")
	errFold       = errors.New("a header of the answer continues on the next line")
	errLength     = errors.New("the answer's Content-Length is not a number of bytes")
	errLengths    = errors.New("the answer has two different lengths")
	errEncoding   = errors.New("the answer's Transfer-Encoding is not chunked")
)

const (
	protocol = "HTTP/1." // the beginning of every answer
	unknown  = -1        // no header gave a length
)

// A head holds what the status line and the headers read so far say.
type head struct {
	code      int
	old       bool  // HTTP/1.0
	length    int64 // of Content-Length
	encoded   bool  // there was a Transfer-Encoding
	close     bool  // options of Connection
	keepAlive bool
}

// readHead reads a line of a head, or a part of one.
func (r *Response) readHead(b []byte) (n int, err error) {
	if r.state == statusLine {
		// A peer that does not speak HTTP may never send the end of a line.
		if i := r.foreign(b); i >= 0 && i < r.limits.Head-r.taken {
			return i + 1, errProtocol
		}
	}
	line, n, err := r.readLine(b, r.limits.Head-r.taken, ErrHead)
	r.taken += n
	switch {
	case err != nil || line == nil:
		return n, err
	case r.state == statusLine:
		return n, r.parseStatusLine(trimEnd(line))
	}
	if line = trimEnd(line); len(line) > 0 {
		return n, r.parseField(line)
	}
	r.endHead()
	return n, nil
}

// foreign returns the index of the first byte that cannot be in an answer at this place; -1 if there is none, as far as
// protocol reaches.
func (r *Response) foreign(b []byte) int {
	if len(r.line) >= len(protocol) {
		return -1
	}
	want := protocol[len(r.line):]
	for i := range min(len(b), len(want)) {
		if b[i] != want[i] {
			return i
		}
	}
	return -1
}

// parseStatusLine parses
//
//	HTTP/1.x SSS[ reason]
//
// The beginning, protocol, has been checked. An unknown minor version is read as 1.1 (RFC 9110, 2.5). The reason and
// the space before it may be missing, as some servers leave them out.
func (r *Response) parseStatusLine(line []byte) error {
	const code = len("HTTP/1.1 ") // where the code is
	if len(line) < code+3 || line[code-1] != ' ' || len(line) > code+3 && line[code+3] != ' ' {
		return errStatusLine
	}
	minor, a, b, c := line[len(protocol)]-'0', line[code]-'0', line[code+1]-'0', line[code+2]-'0'
	if minor > 9 || a == 0 || a > 9 || b > 9 || c > 9 || !printable(line[code+3:]) {
		return errStatusLine
	}
	r.fields = r.fields[:0] // those of an interim head
	r.head = head{code: int(a)*100 + int(b)*10 + int(c), old: minor == 0, length: unknown}
	if r.head.interim() {
		if r.interim++; r.interim > r.limits.Interim {
			return ErrInterim
		}
	}
	r.state = headers
	return nil
}

// interim reports whether another head follows.
func (h *head) interim() bool { return h.code < 200 && h.code != 101 }

// redirect reports whether a location belongs to the status.
func (h *head) redirect() bool {
	switch h.code {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// parseField parses "name:value" and notes the fields that matter here.
func (r *Response) parseField(line []byte) error {
	name, value, err := cutField(line)
	if err != nil {
		return err
	}
	h := &r.head
	if r.limits.Fields {
		r.fields = append(append(append(append(r.fields, name...), ':'), trim(value)...), '\n')
	}
	if len(line) >= maxRead && concerns(name) {
		return ErrHead // its end may be missing
	}
	switch len(name) {
	case len("location"):
		// The first one counts, as in other clients.
		if h.redirect() && len(r.goal) == 0 && equalFold(name, "location") {
			r.goal = append(r.goal, trim(value)...)
		}
	case len("connection"):
		if equalFold(name, "connection") {
			h.addOptions(value)
		}
	case len("content-length"):
		if equalFold(name, "content-length") {
			return h.addLengths(value)
		}
	case len("transfer-encoding"):
		if equalFold(name, "transfer-encoding") {
			return h.addEncoding(trim(value))
		}
	}
	return nil
}

// concerns reports whether parseField reads the value of a header.
func concerns(name []byte) bool {
	return equalFold(name, "location") || equalFold(name, "connection") ||
		equalFold(name, "content-length") || equalFold(name, "transfer-encoding")
}

// cutField checks a header and cuts it at its colon. It leaves the white space of the value.
func cutField(line []byte) (name, value []byte, err error) {
	if line[0] == ' ' || line[0] == '\t' {
		return nil, nil, errFold
	}
	i := tokenLen(line)
	if i == 0 || i == len(line) || line[i] != ':' || !printable(line[i+1:]) {
		return nil, nil, errField
	}
	return line[:i], line[i+1:], nil
}

// addOptions notes the options of a Connection header.
func (h *head) addOptions(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte(","))
		option = trim(option)
		h.close = h.close || equalFold(option, "close")
		h.keepAlive = h.keepAlive || equalFold(option, "keep-alive")
	}
}

// addLengths notes a Content-Length header. It may occur several times, or be a list, if all values are equal: some
// gateways merge headers in this way (RFC 9110, 8.6).
func (h *head) addLengths(value []byte) error {
	for more := true; more; {
		var one []byte
		one, value, more = bytes.Cut(value, []byte(","))
		n, ok := parseDecimal(trim(one))
		if !ok {
			return errLength
		}
		if h.length != unknown && h.length != n {
			return errLengths
		}
		h.length = n
	}
	return nil
}

// parseDecimal parses one or more digits, up to the largest int64.
func parseDecimal(b []byte) (n int64, ok bool) {
	for _, c := range b {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = 10*n + d
	}
	return n, len(b) > 0
}

// addEncoding notes a Transfer-Encoding header. HTTP/1.0 does not know it, so there it says nothing about the body.
func (h *head) addEncoding(value []byte) error {
	if !h.old && (h.encoded || !equalFold(value, "chunked")) {
		return errEncoding
	}
	h.encoded = true
	return nil
}

// endHead decides at the empty line what follows (RFC 9112, 6.3 and 9.3).
//
// If there is both a length and the chunked coding, the coding counts. It marks its own end, so the answer is read
// correctly; an error would count as failed what every browser accepts. But the next answer on that connection cannot
// be trusted.
func (r *Response) endHead() {
	h := &r.head
	if h.interim() {
		r.state = statusLine
		return
	}
	r.status = h.code
	r.keep = !h.close && (!h.old || h.keepAlive) && !h.doubtful()
	switch {
	case h.code == 101: // another protocol follows
		r.state, r.keep = over, false
	case r.toHead, h.code == 204, h.code == 304, !h.chunked() && h.length == 0:
		r.state = over
	case h.chunked():
		r.state = chunkSize
	case h.length != unknown:
		r.state, r.left = sized, h.length
	default:
		r.state, r.keep = unbounded, false
	}
}

// chunked reports whether a body is in the chunked coding.
func (h *head) chunked() bool { return h.encoded && !h.old }

// doubtful reports whether the head gives the end of the body in two ways, or in a way that its version does not have.
func (h *head) doubtful() bool { return h.encoded && (h.old || h.length != unknown) }
