package http3

import (
	"bytes"
	"strings"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go/quicvarint"
)

// An Encoder writes requests. The zero value is ready. It is for one goroutine at a time.
type Encoder struct {
	block  bytes.Buffer // a field section
	writer *qpack.Encoder
}

// Append appends a request, which is given as a message of HTTP/1.1, as frames of HTTP/3: so both versions send the same
// request. Its headers keep their order. Their names are in lower case, Host is :authority, and headers of a single
// connection are left out, as RFC 9114, section 4.2, wants it. The scheme is https.
func (e *Encoder) Append(b, message []byte) []byte {
	head, body, _ := bytes.Cut(message, []byte("\r\n\r\n"))
	line, fields, _ := strings.Cut(string(head), "\r\n")
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	e.block.Reset()
	if e.writer == nil {
		e.writer = qpack.NewEncoder(&e.block)
	}
	e.field(":method", method)
	e.field(":scheme", "https")
	for field := range strings.SplitSeq(fields, "\r\n") {
		if name, value, _ := strings.Cut(field, ":"); strings.EqualFold(name, "Host") {
			e.field(":authority", strings.TrimSpace(value))
		}
	}
	e.field(":path", path)
	for field := range strings.SplitSeq(fields, "\r\n") {
		name, value, ok := strings.Cut(field, ":")
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		if ok && name != "host" && !ofConnection(name, value) {
			e.field(name, value)
		}
	}
	_ = e.writer.Close() // a buffer takes everything
	b = quicvarint.Append(append(b, frameHeaders), uint64(e.block.Len()))
	b = append(b, e.block.Bytes()...)
	if len(body) > 0 {
		b = append(quicvarint.Append(append(b, frameData), uint64(len(body))), body...)
	}
	return b
}

func (e *Encoder) field(name, value string) {
	_ = e.writer.WriteField(qpack.HeaderField{Name: name, Value: value}) // a buffer takes everything
}

// ofConnection reports whether a header is of one connection, and not of a request. Its name is in lower case.
func ofConnection(name, value string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "te":
		return value != "trailers"
	}
	return false
}
