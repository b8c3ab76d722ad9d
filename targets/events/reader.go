package events

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/loadctl/loadctl/targets/http1"
)

// Gaps hears of the times between the events of answers.
type Gaps interface {
	// Gap notes that two events of an answer of a step came so many ns after each other.
	Gap(step int, ns int64)
}

// A Reader reads the events of one answer after the other. The zero value is ready for Begin. It implements http1.Sink. It is
// for one goroutine at a time.
type Reader struct {
	Events

	rules *Rules
	step  int
	gaps  Gaps // nil = they are in Events only

	begun bool   // an answer with events has begun
	part  []byte // the beginning of an event, if its bytes are looked at
	size  int    // bytes of the event so far
	last  bool   // the event that ends the answer has come
	err   error
}

// Begin prepares r for the answer to the next request of a step. gaps may be nil.
func (r *Reader) Begin(rules *Rules, step int, gaps Gaps) {
	part := r.part[:0]
	if cap(part) > keptPart {
		part = nil
	}
	*r = Reader{rules: rules, step: step, gaps: gaps, part: part}
}

// keptPart is the largest buffer that a Reader keeps for its next answer, in bytes.
const keptPart = 4 << 10

// Expects implements http1.Sink.
func (r *Reader) Expects(status int) bool {
	r.begun = r.rules.Expects == nil || r.rules.Expects(status)
	return r.begun
}

// Take implements http1.Sink. After an error it returns that error again.
func (r *Reader) Take(b []byte, end bool, at int64) error {
	if r.err != nil {
		return r.err
	}
	switch r.rules.kind {
	case Lines:
		r.err = r.takeLines(b, at)
	default:
		r.err = r.takePart(b, end, at)
	}
	return r.err
}

// takePart takes bytes of a chunk or a message.
func (r *Reader) takePart(b []byte, end bool, at int64) error {
	r.size += len(b)
	if r.size > r.rules.limit {
		return ErrLimit
	}
	if !end {
		return nil
	}
	if r.size > 0 || r.rules.kind == Messages {
		r.event(at)
	}
	r.size = 0
	return nil
}

// takeLines takes bytes of lines.
func (r *Reader) takeLines(b []byte, at int64) error {
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		if r.size += len(line); r.size > r.rules.limit {
			return ErrLimit
		}
		if !whole {
			if r.rules.whole {
				r.part = append(r.part, line...)
			}
			return nil
		}
		if len(r.part) > 0 {
			r.part = append(r.part, line...)
			line = r.part
		}
		size := r.size
		r.size, r.part = 0, r.part[:0]
		if size == 0 || len(line) == 1 && size == 1 && line[0] == '\r' {
			continue
		}
		r.event(at)
		if r.ends(line) {
			return http1.ErrEnough
		}
	}
	return nil
}

// event notes that an event is complete.
func (r *Reader) event(at int64) {
	if r.Count++; r.Count == 1 {
		r.First, r.Last = at, at
		return
	}
	gap := at - r.Last
	r.Last, r.Longest = at, max(r.Longest, gap)
	for i := range r.rules.goals {
		if g := &r.rules.goals[i]; g.Metric == "event_gap" && gap < g.Limit {
			r.Within[i]++
		}
	}
	if r.gaps != nil {
		r.gaps.Gap(r.step, gap)
	}
}

// ends reports whether an event ends the answer.
func (r *Reader) ends(data []byte) bool {
	r.last = r.last || r.rules.until != nil && r.rules.until.Match(data)
	return r.last
}

// End returns what the end of the answer means. err is why the whole answer did not come, as the protocol has it; nil = it
// came. field returns the values of a header of the answer.
func (r *Reader) End(err error, field func(name string) []string) error {
	switch {
	case errors.Is(err, http1.ErrEnough):
		return nil
	case r.begun && encoded(field("Content-Encoding")):
		return ErrEncoded
	case errors.Is(err, os.ErrDeadlineExceeded) && r.Count > 0:
		return ErrStalled
	case errors.Is(err, io.ErrUnexpectedEOF) && r.begun:
		return ErrTruncated
	case err != nil || !r.begun:
		return err
	}
	return r.complete()
}

// complete returns what is wrong with a whole answer.
func (r *Reader) complete() error {
	switch {
	case r.size > 0 && r.rules.kind == Lines: // the last line has no end
		return ErrTruncated
	case r.Count == 0:
		return ErrNone
	case r.rules.until != nil && !r.last:
		return ErrTruncated
	}
	return nil
}

// encoded reports whether a header names a coding.
func encoded(values []string) bool {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" && !strings.EqualFold(v, "identity") {
			return true
		}
	}
	return false
}
