package http1

import "bytes"

// keptHead is the longest head that a Memo keeps, in bytes.
const keptHead = 2 << 10

// A Memo remembers the last head, so that an identical one need not be parsed again. Servers send the same head until
// the second of their Date ends, and parsing a head costs more than everything else that Feed does for a small answer.
// One Memo serves all Responses of one goroutine. The zero value is ready.
type Memo struct {
	text []byte
	head head // as it was after it had been read completely
}

// Remember lets r use m from now on, also after Begin.
func (r *Response) Remember(m *Memo) { r.memo = m }

// readKnown reads a head from its first byte, as far as it has arrived. Only the text of the head is remembered: its
// meaning for this request is decided again.
func (r *Response) readKnown(b []byte) (n int, err error) {
	m := r.memo
	if size := len(m.text); size > 0 && size <= r.limits.Head && bytes.HasPrefix(b, m.text) {
		r.head, r.taken = m.head, size
		r.endHead()
		return size, nil
	}
	for n < len(b) && r.state <= fold {
		k, err := r.readHead(b[n:])
		if n += k; err != nil {
			return n, err
		}
	}
	// An interim head is followed by another one, and the location of a redirect is not part of a head.
	if r.status != 0 && r.interim == 0 && !r.head.redirect() && n <= keptHead {
		m.text, m.head = append(m.text[:0], b[:n]...), r.head
	}
	return n, nil
}
