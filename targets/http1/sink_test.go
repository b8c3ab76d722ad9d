package http1

import (
	"errors"
	"testing"
)

// A taker is a Sink that notes what it gets, and has enough after some bytes.
type taker struct {
	text   string
	parts  int
	status int
	refuse bool
	enough int // bytes; 0 = never
	times  map[int64]bool
}

func (s *taker) Expects(status int) bool {
	s.status = status
	return !s.refuse
}

func (s *taker) Take(b []byte, end bool, at int64) error {
	s.text += string(b)
	s.times[at] = true
	if end {
		s.parts++
	}
	if s.enough > 0 && len(s.text) >= s.enough {
		return ErrEnough
	}
	return nil
}

const chunkedAnswer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"

// TestSink asserts that a Sink gets the body and the ends of its chunks, with the time of each read, however it is split.
func TestSink(t *testing.T) {
	for size := 1; size <= len(chunkedAnswer); size++ {
		sink := &taker{times: map[int64]bool{}}
		var r Response
		r.Begin(Limits{Sink: sink}, false)
		done, reads := false, 0
		for rest := chunkedAnswer; len(rest) > 0; reads++ {
			b := rest[:min(size, len(rest))]
			rest = rest[len(b):]
			r.At = int64(reads)
			var err error
			if _, done, err = r.Feed([]byte(b)); err != nil {
				t.Fatal(err)
			}
		}
		if !done || sink.text != "abcdef" || sink.parts != 3 || sink.status != 200 || !r.KeepAlive() {
			t.Errorf("in pieces of %d: done %v, %+v", size, done, sink)
		}
		if len(sink.times) > reads || size == 1 && len(sink.times) != 6 {
			t.Errorf("in pieces of %d: times %v", size, sink.times)
		}
	}
}

// TestSinkRefuses asserts that a Sink gets nothing of an answer whose status it does not expect.
func TestSinkRefuses(t *testing.T) {
	sink := &taker{times: map[int64]bool{}, refuse: true}
	var r Response
	r.Begin(Limits{Sink: sink}, false)
	if _, done, err := r.Feed([]byte(chunkedAnswer)); err != nil || !done || sink.text != "" || sink.parts != 0 {
		t.Errorf("%v, %v, %+v", done, err, sink)
	}
}

// TestSinkHasEnough asserts that an answer of which no more is wanted ends, and that the connection stays if the whole answer
// had come.
func TestSinkHasEnough(t *testing.T) {
	for cut, want := range map[int]error{0: nil, 1: ErrEnough, 7: ErrEnough} {
		sink := &taker{times: map[int64]bool{}, enough: 4}
		var r Response
		r.Begin(Limits{Sink: sink}, false)
		_, done, err := r.Feed([]byte(chunkedAnswer[:len(chunkedAnswer)-cut]))
		if !errors.Is(err, want) || done != (want == nil) || r.KeepAlive() != (want == nil) || sink.text != "abcde" {
			t.Errorf("without the last %d bytes: %v, %v, %+v", cut, done, err, sink)
		}
	}
}
