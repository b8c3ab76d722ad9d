package http1

import "bytes"

// keptHead is the longest head that a Memo keeps, in bytes.
const keptHead = 2 << 10

// A Memo remembers the head that was read last, so that the same one, byte for byte, need not be read again. Servers send the same
// until the second of their Date has passed; and to read a head costs more than all else that Feed does for a small answer. It serves
// the Responses of one goroutine, all of them together. The zero value is ready.
type Memo struct {
	text []byte
	head head // as it was when it had been read to its end
}

// Remember lets r use m from now on, also after Begin.
func (r *Response) Remember(m *Memo) { r.memo = m }

// readKnown takes a head from its first byte on, as far as it has come. What the head means for this request is decided anew: only what
// it says is remembered.
func (r *Response) readKnown(b []byte) (n int, err error) {
	m := r.memo
	if size := len(m.text); size > 0 && size <= r.limits.Head && bytes.HasPrefix(b, m.text) {
		r.head, r.taken = m.head, size
		r.endHead()
		return size, nil
	}
	for n < len(b) && r.state <= fields {
		k, err := r.readHead(b[n:])
		if n += k; err != nil {
			return n, err
		}
	}
	// An interim head is followed by another, and a place to go to is not part of a head.
	if r.status != 0 && r.interim == 0 && !r.head.redirect() && n <= keptHead {
		m.text, m.head = append(m.text[:0], b[:n]...), r.head
	}
	return n, nil
}
