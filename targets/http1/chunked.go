package http1

import (
	"bytes"
	"errors"
	"math"
)

// Errors of a body in the chunked coding.
var (
	errChunkSize = errors.New("the size of a chunk is not a hexadecimal number of bytes")
	errChunkLine = errors.New("the line before a chunk is malformed or too long")
	errChunkEnd  = errors.New("a chunk is longer than its size")
	errPadding   = errors.New("the chunked coding takes more bytes than the data")
)

// Limits of the chunked coding: bytes that are not data must be bounded too.
const (
	maxChunkLine = 4 << 10  // bytes of a line before a chunk, with its extensions
	maxSizeLen   = 16       // digits of a size
	maxPadding   = 16 << 10 // bytes; see addPadding
)

// readChunked reads the parts around the data of chunks:
//
//	size[;extensions] CR LF data CR LF … 0 CR LF [trailers] CR LF
//
// Lines must end in CR LF. If one of two readers accepted LF alone, they might see different chunks (RFC 9112, erratum
// 7633).
func (r *Response) readChunked(b []byte) (n int, err error) {
	switch r.state {
	case chunkCR:
		if b[0] != '\r' {
			return 1, errChunkEnd
		}
		r.state = chunkLF
		return 1, nil
	case chunkLF:
		if b[0] != '\n' {
			return 1, errChunkEnd
		}
		r.state = chunkSize
		return 1, nil
	}
	line, n, err := r.readLine(b, maxChunkLine-len(r.line), errChunkLine)
	if err != nil || line == nil {
		return n, err
	}
	return n, r.parseChunkLine(line)
}

// parseChunkLine parses the line before a chunk. It ignores extensions.
func (r *Response) parseChunkLine(line []byte) error {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || !printable(text) {
		return errChunkLine
	}
	digits, _, _ := bytes.Cut(text, []byte(";"))
	size, ok := parseHex(trimRight(digits))
	if !ok {
		return errChunkSize
	}
	r.left, r.state = size, chunkData
	if size == 0 {
		r.state = trailer
	}
	return r.addPadding(len(line)+len("\r\n"), size)
}

// addPadding counts the bytes around the chunks. It allows 16 bytes and twice the data, so a server may send single
// bytes. A server that sends mostly extensions would otherwise bypass the limit of the body.
func (r *Response) addPadding(around int, size int64) error {
	r.padding = max(0, r.padding+int64(around)-16-2*min(size, maxPadding))
	if r.padding > maxPadding {
		return errPadding
	}
	return nil
}

// parseHex parses one or more hexadecimal digits, up to the largest int64.
func parseHex(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > maxSizeLen {
		return 0, false
	}
	for _, c := range b {
		var d byte
		switch {
		case '0' <= c && c <= '9':
			d = c - '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		if n > math.MaxInt64>>4 {
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, true
}

// readTrailer reads a line after the last chunk. Trailers have no effect: the response has ended. They count as part of
// its heads.
func (r *Response) readTrailer(b []byte) (n int, err error) {
	line, n, err := r.readLine(b, r.limits.Head-r.taken, ErrHead)
	r.taken += n
	if err != nil || line == nil {
		return n, err
	}
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	switch {
	case !ok:
		return n, errField
	case len(text) == 0:
		r.state = over
		return n, nil
	}
	if r.trailed && isSpace(text[0]) { // it continues the one before
		if !printable(text) {
			err = errField
		}
		return n, err
	}
	r.trailed = true
	_, _, err = cutField(text)
	return n, err
}
