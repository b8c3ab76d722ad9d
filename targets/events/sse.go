package events

import "bytes"

// Server-sent events, as WHATWG's standard reads them (HTML, 9.2.6). An answer consists of blocks. A block consists of lines and
// ends with an empty one. A line ends with LF, CR or CRLF. Lines that begin with a colon are comments.

// doneMark is the data that ends an answer, unless the rules say otherwise. It is no event. The answer is over at the end of its
// line: some servers leave the empty line after it out, and stay.
const doneMark = "[DONE]"

// A block is the one that is being read.
type block struct {
	has    bool   // it has data, so it is an event
	data   []byte // so far: its lines, joined by LF
	placed bool   // data lies in the piece that is being taken, not in held
	held   []byte // memory for data
	failed bool   // its event is "error"

	any     bool // one with data has been read
	afterCR bool // the last byte was CR: an LF belongs to it
	later   bool // the first line of the answer has been read
}

// takeBlocks takes bytes of server-sent events.
func (r *Reader) takeBlocks(b []byte, at int64) error {
	if r.line.zipped(b) {
		return ErrEncoded
	}
	for ended := true; ended; {
		var tail []byte
		if tail, b, ended = bytes.Cut(b, []byte("\n")); !ended && len(tail) == 0 {
			break
		}
		for {
			before, after, cr := bytes.Cut(tail, []byte("\r"))
			if !cr {
				break
			}
			if err := r.takeLine(before, at); err != nil {
				return err
			}
			tail, r.block.afterCR = after, true
		}
		if err := r.takeTail(tail, ended, at); err != nil {
			return err
		}
	}
	r.holdData()
	return nil
}

// takeTail takes what follows the last CR of a piece. ended says that LF follows.
func (r *Reader) takeTail(tail []byte, ended bool, at int64) error {
	k := &r.block
	if len(tail) > 0 {
		k.afterCR = false
	}
	if !ended {
		return r.hold(tail)
	}
	if k.afterCR {
		k.afterCR = false
		return nil
	}
	return r.takeLine(tail, at)
}

// takeLine takes the end of a line.
func (r *Reader) takeLine(tail []byte, at int64) error {
	placed := r.line.size == 0
	text, size, err := r.whole(tail)
	if err != nil {
		return err
	}
	if !r.block.later {
		r.block.later = true
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	if len(text) == 0 {
		return r.endBlock(at)
	}
	switch name, value := field(text); string(name) {
	case "data":
		if !r.block.has && r.rules.until == nil && string(value) == doneMark {
			r.last = true
			return errOver
		}
		r.size += size
		r.addData(value, placed)
	case "event":
		r.block.failed = string(value) == "error"
	}
	return nil
}

// field returns the field of a line; that of a comment has no name.
func field(text []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(text, []byte(":"))
	return name, bytes.TrimPrefix(value, []byte(" "))
}

// addData adds a line to the data of the block. placed says that it lies in the piece that is being taken.
func (r *Reader) addData(value []byte, placed bool) {
	k := &r.block
	if !k.has && placed {
		k.has, k.data, k.placed = true, value, true
		return
	}
	r.holdData()
	if k.has {
		k.held = appendUpTo(r.rules.keep, k.held, []byte("\n"))
	}
	k.held = appendUpTo(r.rules.keep, k.held, value)
	k.has, k.data = true, k.held
}

// holdData moves data out of the piece that is being taken.
func (r *Reader) holdData() {
	if k := &r.block; k.placed {
		k.held = appendUpTo(r.rules.keep, k.held[:0], k.data)
		k.data, k.placed = k.held, false
	}
}

// endBlock takes the end of a block.
func (r *Reader) endBlock(at int64) error {
	k := &r.block
	has, data, failed := k.has, k.data, k.failed
	*k = block{held: k.held[:0], any: k.any || has, afterCR: k.afterCR, later: true}
	r.size = 0
	switch {
	case !has:
		return nil
	case string(data) == doneMark: // another event is the last one
	case r.rules.preset == OpenAI:
		r.takeChunk(data, failed, at)
	default:
		r.event(at)
	}
	return r.ends(data)
}

// endsOpen reports whether the answer ends with the end mark, in a line that has no end.
func (r *Reader) endsOpen() bool {
	if r.rules.kind != SSE || r.rules.until != nil || r.block.has {
		return false
	}
	name, value := field(r.line.part)
	return r.line.size > 0 && string(name) == "data" && string(value) == doneMark
}
