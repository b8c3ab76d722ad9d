package events

import "bytes"

// A scanner walks through JSON from left to right, without an allocation:
//
//	for s.key() { // after s.enter('{')
//		switch string(s.name) {
//		case "usage":
//			…
//		default:
//			s.skip()
//		}
//	}
//
// Each value has to be read or skipped. JSON that is broken may pass, but each call reads at least one byte or sets bad.
type scanner struct {
	b    []byte
	i    int
	name []byte // of the field, as it is written
	bad  bool   // the JSON is broken, or ends too early
}

// peek returns the first byte of the next value or the end of the present one; 0 = there is none.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r', ',':
		default:
			return c
		}
	}
	s.bad = true
	return 0
}

// enter goes into an object or an array, if the next value is one.
func (s *scanner) enter(open byte) bool {
	if s.peek() != open {
		return false
	}
	s.i++
	return true
}

// key reads the name of the next field of an object. It reports false at the end of the object.
func (s *scanner) key() bool {
	switch c := s.peek(); {
	case s.bad:
		return false
	case c == '}':
		s.i++
		return false
	case c != '"':
		s.bad = true
		return false
	}
	s.name = s.quoted()
	if s.peek() != ':' {
		s.bad = true
		return false
	}
	s.i++
	return !s.bad
}

// element reports whether an array has a next value.
func (s *scanner) element() bool {
	c := s.peek()
	if c == ']' {
		s.i++
	}
	return !s.bad && c != ']'
}

// quoted reads a string, and returns it as it is written.
func (s *scanner) quoted() []byte {
	s.i++
	for begin, at := s.i, s.i; ; {
		n := bytes.IndexByte(s.b[at:], '"')
		if n < 0 {
			s.bad = true
			return nil
		}
		at += n + 1
		escapes := 0
		for j := at - 2; j >= begin && s.b[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			s.i = at
			return s.b[begin : at-1]
		}
	}
}

// text reads a string; another value is skipped.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	return s.quoted()
}

// most is the largest number of tokens that is believed.
const most = 1 << 40

// count reads a number of tokens; 0 if the value is none.
func (s *scanner) count() (n int64) {
	s.peek()
	begin := s.i
	s.skip()
	if s.bad {
		return 0
	}
	for _, c := range s.b[begin:s.i] {
		if c < '0' || c > '9' || n > most {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if n > most {
		return 0
	}
	return n
}

// filled skips a value, and reports whether it says something: all but null, false, 0, "", {} and [].
func (s *scanner) filled() bool {
	c := s.peek()
	begin := s.i
	s.skip()
	switch c {
	case '"':
		return s.i > begin+2
	case '{', '[':
		return !s.bad && len(bytes.TrimSpace(s.b[begin+1:s.i-1])) > 0
	}
	return c != 'n' && c != 'f' && c != '0'
}

// skip skips a value.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.quoted()
	case '{', '[':
		s.skipNested()
	default:
		n := bytes.IndexAny(s.b[s.i:], ",:]}{[\" \t\r\n")
		if n <= 0 {
			s.bad = true
			return
		}
		s.i += n
	}
}

// skipNested skips an object or an array.
func (s *scanner) skipNested() {
	for depth := 0; s.i < len(s.b) && !s.bad; {
		switch s.b[s.i] {
		case '"':
			s.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.i++; depth == 0 {
			return
		}
	}
	s.bad = true
}
