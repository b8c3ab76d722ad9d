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
	errFold       = errors.New("the first header of the answer begins with white space")
	errBlank      = errors.New("too many blank lines before the answer")
	errLength     = errors.New("the answer's Content-Length is not a number of bytes")
	errLengths    = errors.New("the answer has two different lengths")
	errEncoding   = errors.New("the answer's Transfer-Encoding is not a list of codings, with chunked at most once")
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
	chunks    bool  // it named chunked
	coded     bool  // the last coding that it named is not chunked
	close     bool  // options of Connection
	keepAlive bool
}

// readHead reads a line of a head, or a part of one.
func (r *Response) readHead(b []byte) (n int, err error) {
	switch r.state {
	case fieldEnd:
		return 0, r.endField(b[0])
	case fold:
		return r.skipFold(b)
	case statusLine:
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
	}
	line = trimEnd(line)
	switch {
	case r.state == statusLine && len(line) == 0:
		return n, r.skipBlank()
	case r.state == statusLine:
		return n, r.parseStatusLine(line)
	case len(line) == 0:
		r.endHead()
		return n, nil
	case !r.folded && n < len(b) && !isSpace(b[n]):
		return n, r.parseField(line)
	}
	return n, r.holdField(line)
}

// foreign returns the index of the first byte that cannot be in an answer at this place; -1 if there is none, as far as
// protocol or the end of a blank line reaches.
func (r *Response) foreign(b []byte) int {
	want, first := protocol, b[0]
	if len(r.line) > 0 {
		first = r.line[0]
	}
	switch first {
	case '\r':
		want = "\r\n"
	case '\n':
		want = "\n"
	}
	if len(r.line) >= len(want) {
		return -1
	}
	want = want[len(r.line):]
	for i := range min(len(b), len(want)) {
		if b[i] != want[i] {
			return i
		}
	}
	return -1
}

// skipBlank counts a blank line before a status line. Some servers send one after a body, and then it begins the answer
// to the next request.
func (r *Response) skipBlank() error {
	if r.blank++; r.blank > mostBlank {
		return errBlank
	}
	return nil
}

// parseStatusLine parses
//
//	HTTP/1.x SSS[ reason]
//
// The beginning, protocol, has been checked. An unknown minor version is read as 1.1 (RFC 9110, 2.5). There may be several
// spaces before the code. The reason and the space before it may be missing, as some servers leave them out.
func (r *Response) parseStatusLine(line []byte) error {
	code := len("HTTP/1.1") // where the code is
	for code < len(line) && line[code] == ' ' {
		code++
	}
	// A code beyond maxRead may be missing.
	if code == len("HTTP/1.1") || code+3 > min(len(line), maxRead) || len(line) > code+3 && line[code+3] != ' ' {
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

// holdField holds the line of a header until the next byte shows whether it continues (RFC 9112, 5.2). What is wrong
// with a first line stays wrong, so it need not wait.
func (r *Response) holdField(line []byte) error {
	r.state = fieldEnd
	if r.folded { // it is held already, and may have many more lines
		r.line = line
		return nil
	}
	r.line = r.line[:0]
	r.hold(line) // may be the same memory
	_, _, err := cutField(line)
	return err
}

// endField looks at the byte after the line of a header. White space continues it, and stands for one space, with all that
// is beside it. Each header is parsed once, however many lines it has.
func (r *Response) endField(next byte) error {
	if !isSpace(next) {
		line := r.line
		r.line, r.state, r.folded = r.line[:0], headers, false
		return r.parseField(line)
	}
	if len(r.line) < maxRead { // a longer one may have been shortened
		r.line = trimRight(r.line)
	}
	r.hold([]byte{' '})
	r.state, r.folded = fold, true
	return nil
}

// skipFold reads the white space before the rest of a header.
func (r *Response) skipFold(b []byte) (n int, err error) {
	for n < len(b) && isSpace(b[n]) {
		n++
	}
	if room := r.limits.Head - r.taken; n > room {
		return room + 1, ErrHead
	}
	r.taken += n
	if n < len(b) {
		r.state = headers
	}
	return n, nil
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
	i := tokenLen(line)
	if i == 0 && len(line) > 0 && isSpace(line[0]) {
		return nil, nil, errFold
	}
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

// addEncoding notes the codings of a Transfer-Encoding header. HTTP/1.0 does not know it, so there it says nothing about
// the body. Nor does identity, which RFC 2616 had. No coding has parameters that servers use, so what is no token is wrong.
func (h *head) addEncoding(value []byte) error {
	h.encoded = true
	for len(value) > 0 && !h.old {
		var coding []byte
		coding, value, _ = bytes.Cut(value, []byte(","))
		coding = trim(coding)
		chunked := equalFold(coding, "chunked")
		switch {
		case tokenLen(coding) < len(coding), chunked && h.chunks:
			return errEncoding
		case len(coding) > 0 && !equalFold(coding, "identity"):
			h.chunks, h.coded = h.chunks || chunked, !chunked
		}
	}
	return nil
}

// endHead decides at the empty line what follows (RFC 9112, 6.3 and 9.3).
//
// If there is both a length and the chunked coding, the coding counts. It marks its own end, so the answer is read
// correctly; an error would count as failed what every browser accepts. But the next answer on that connection cannot
// be trusted. Other codings than chunked do not mark the end, so only the peer's close does, whatever the length says.
func (r *Response) endHead() {
	h := &r.head
	if h.interim() {
		r.state = statusLine
		return
	}
	r.status = h.code
	if r.limits.Sink != nil && !r.limits.Sink.Expects(h.code) {
		r.limits.Sink = nil
	}
	r.keep = !h.close && (!h.old || h.keepAlive) && !h.doubtful()
	switch {
	case h.code == 101: // another protocol follows
		r.state, r.keep = over, false
	case r.toHead, h.code == 204, h.code == 304:
		r.state = over
	case h.chunked():
		r.state = chunkSize
	case h.length == 0 && !h.coded:
		r.state = over
	case h.length != unknown && !h.coded:
		r.state, r.left = sized, h.length
	default:
		r.state, r.keep = unbounded, false
	}
}

// chunked reports whether a body is in the chunked coding.
func (h *head) chunked() bool { return h.chunks && !h.coded }

// doubtful reports whether the head gives the end of the body in two ways, or in a way that its version does not have, or
// that no server should use.
func (h *head) doubtful() bool { return h.encoded && (h.length != unknown || !h.chunked()) }
