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

	// Over is called when what follows in the answer says nothing more, though its end has not come: the answer may be read on for
	// a moment, so that its connection can be kept. It is to be set after Begin; nil = nobody is.
	Over func()
	Done int64 // when that was; 0 = it was not yet

	rules *Rules
	step  int
	gaps  Gaps // nil = they are in Events only

	begun  bool // an answer with events has begun
	size   int  // bytes of the event so far
	last   bool // the event that ends the answer has come
	failed bool // an event says that the answer failed
	rest   int  // bytes that came when all was said
	err    error

	line  line
	block block
}

// errOver says that the rest of the answer is not looked at.
var errOver = errors.New("the last event has come")

// Begin prepares r for the answer to the next request of a step. gaps may be nil.
func (r *Reader) Begin(rules *Rules, step int, gaps Gaps) {
	*r = Reader{
		rules: rules, step: step, gaps: gaps,
		line: line{part: emptied(r.line.part)}, block: block{held: emptied(r.block.held)},
	}
	r.Preset = rules.preset != ""
}

// mostRest is how long the rest of an answer that is over may be, in bytes. Of a longer one the end is not waited for.
const mostRest = 64 << 10

// keptPart is the largest buffer that a Reader keeps for its next answer, in bytes. It has two.
const keptPart = 2 << 10

// emptied returns the memory of b for the next answer.
func emptied(b []byte) []byte {
	if cap(b) > keptPart {
		return nil
	}
	return b[:0]
}

// Expects implements http1.Sink.
func (r *Reader) Expects(status int) bool {
	r.begun = r.rules.Expects == nil || r.rules.Expects(status)
	return r.begun
}

// Take implements http1.Sink. After an error it returns that error again.
func (r *Reader) Take(b []byte, end bool, at int64) error {
	over := errors.Is(r.err, errOver)
	switch {
	case r.err == nil:
		r.err = r.take(b, end, at)
	case over:
		if r.rest += len(b); r.rest > mostRest {
			r.err = http1.ErrEnough
		}
	}
	if !errors.Is(r.err, errOver) {
		return r.err
	}
	if !over {
		r.over(at)
	}
	return nil
}

// over notes that all was said.
func (r *Reader) over(at int64) {
	if r.Done = at; r.Over != nil {
		r.Over()
	}
}

func (r *Reader) take(b []byte, end bool, at int64) error {
	switch r.rules.kind {
	case SSE:
		return r.takeBlocks(b, at)
	case Lines:
		return r.takeLines(b, at)
	}
	return r.takePart(b, end, at)
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

// ends returns an error if an event ends the answer.
func (r *Reader) ends(data []byte) error {
	switch until := r.rules.until; {
	case r.failed:
		return errOver
	case until != nil && until.Match(data):
		r.last = true
		return http1.ErrEnough
	case r.last:
		return errOver
	}
	return nil
}

// End returns what the end of the answer means. err is why the whole answer did not come, as the protocol has it; nil = it
// came. field returns the values of a header of the answer.
func (r *Reader) End(err error, field func(name string) []string) error {
	late, cut := errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case r.failed:
		return ErrAnswer
	case errors.Is(err, http1.ErrEnough), err != nil && (r.last || r.endsOpen()): // what is missing has no event
		return r.complete()
	case r.begun && encoded(field("Content-Encoding")):
		return ErrEncoded
	case late && r.Count > 0:
		return ErrStalled
	case cut && r.begun:
		return ErrTruncated
	case err != nil || !r.begun:
		return err
	}
	return r.complete()
}

// complete returns what is wrong with a whole answer.
func (r *Reader) complete() error {
	if r.endsOpen() {
		r.last = true
	}
	r.endLine()
	switch {
	case !r.last && (r.open() || r.rules.marked() && (r.Count > 0 || r.block.any)):
		return ErrTruncated
	case r.Count == 0:
		return ErrNone
	}
	return nil
}

// open reports whether the answer ended within an event. A line may end with the answer.
func (r *Reader) open() bool {
	return r.rules.kind == SSE && (r.block.has || r.line.size > 0 && bytes.HasPrefix(r.line.part, []byte("data")))
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
