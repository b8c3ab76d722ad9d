package events

import "bytes"

// A line is one that may come in several pieces.
type line struct {
	size int    // bytes so far that came in earlier pieces
	part []byte // the first of them, as many as the rules keep
	at   int64  // when the last of them came; of kind Lines only

	first uint8 // what is known of the first bytes of the answer
}

// What is known of the first bytes of an answer.
const (
	unread uint8 = iota
	maybeZipped
	settled
)

// zipped reports whether the answer begins as gzip does. b are its next bytes.
func (l *line) zipped(b []byte) bool {
	if l.first == unread && len(b) > 0 {
		if l.first = settled; b[0] == 0x1f {
			l.first = maybeZipped
		}
		b = b[1:]
	}
	if l.first == maybeZipped && len(b) > 0 {
		l.first = settled
		return b[0] == 0x8b
	}
	return false
}

// hold keeps the beginning of a line whose rest comes with the next piece.
func (r *Reader) hold(b []byte) error {
	r.line.size += len(b)
	r.line.part = appendUpTo(r.rules.keep, r.line.part, b)
	if r.size+r.line.size > r.rules.limit {
		return ErrLimit
	}
	return nil
}

// appendUpTo appends to dst what fits into so many bytes.
func appendUpTo(most int, dst, b []byte) []byte {
	return append(dst, b[:min(len(b), max(0, most-len(dst)))]...)
}

// whole returns the line that ends after b, and how long it is. It lies in b, or in the memory of r until the next hold. It is
// cut off after what the rules keep.
func (r *Reader) whole(b []byte) (text []byte, size int, err error) {
	if r.line.size == 0 {
		if size = len(b); r.size+size > r.rules.limit {
			err = ErrLimit
		}
		return b, size, err
	}
	err = r.hold(b)
	text, size = r.line.part, r.line.size
	r.line.part, r.line.size = r.line.part[:0], 0
	return text, size, err
}

// takeLines takes bytes of lines. Each that is not empty is an event.
func (r *Reader) takeLines(b []byte, at int64) error {
	if r.line.zipped(b) {
		return ErrEncoded
	}
	for {
		tail, rest, ended := bytes.Cut(b, []byte("\n"))
		if !ended {
			if len(tail) > 0 {
				r.line.at = at
			}
			return r.hold(tail)
		}
		text, _, err := r.whole(tail)
		if err == nil {
			err = r.oneLine(text, at)
		}
		if err != nil {
			return err
		}
		b = rest
	}
}

// oneLine takes a line without its end.
func (r *Reader) oneLine(text []byte, at int64) error {
	if text = bytes.TrimSuffix(text, []byte("\r")); len(text) == 0 {
		return nil
	}
	r.event(at)
	return r.ends(text)
}

// endLine takes the last line of a whole answer: the end of the answer ends it too. JSON lines often have no other end.
func (r *Reader) endLine() {
	text := r.line.part
	if r.line.size == 0 || r.rules.kind != Lines || r.last {
		return
	}
	r.line.size = 0
	_ = r.oneLine(text, r.line.at) // nothing comes after it, whether it ends the answer or not
}
