package resp

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/template"
)

// Split splits the line of a command as redis-cli does: at spaces, with 'single' and "double" quotes, and \n,
// \r, \t, \b, \a and \xHH in double ones. A placeholder is never split, whatever it is filled with.
func Split(t template.Text) ([]template.Text, error) {
	var s splitter
	literals := t.Literals()
	for i, literal := range literals {
		if err := s.literal(literal); err != nil {
			return nil, err
		}
		if i == len(literals)-1 {
			break
		}
		if s.closed {
			return nil, errQuote
		}
		s.flush()
		s.argument, s.open = s.argument.Then(t.Placeholder(i)), true
	}
	if s.quote != 0 {
		return nil, errors.New("a quote is not closed; close it, or write \\\" for the character")
	}
	s.end()
	return s.all, nil
}

// errQuote is what redis-cli refuses too.
var errQuote = errors.New("behind a closing quote comes a space; put the whole argument in quotes")

// A splitter is where splitCommand is.
type splitter struct {
	all      []template.Text
	argument template.Text // what there is of it
	text     []byte        // the literal at its end
	open     bool          // there is an argument, maybe an empty one
	quote    byte          // that is open; 0 = none
	closed   bool          // a quote was just closed
}

// flush moves the literal into the argument.
func (s *splitter) flush() {
	s.argument, s.text = s.argument.Then(template.Literal(string(s.text))), s.text[:0]
}

// end ends the argument, if there is one.
func (s *splitter) end() {
	if s.flush(); s.open {
		s.all = append(s.all, s.argument)
	}
	s.argument, s.open, s.closed = template.Text{}, false, false
}

// literal takes text between placeholders.
func (s *splitter) literal(text string) error {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.quote == 0 && bytes.IndexByte([]byte(" \t\n\r\v\f"), c) >= 0:
			s.end()
		case s.closed:
			return errQuote
		case s.quote == 0 && !s.open && (c == '"' || c == '\''):
			s.quote, s.open = c, true
		case c == s.quote && c != 0:
			s.quote, s.closed = 0, true
		case s.quote == '"' && c == '\\' && i+1 < len(text):
			i += s.escaped(text[i+1:])
		case s.quote == '\'' && strings.HasPrefix(text[i:], `\'`):
			s.text = append(s.text, '\'')
			i++
		default:
			s.text, s.open = append(s.text, c), true
		}
	}
	return nil
}

// escaped takes what follows a backslash, and returns how many bytes that are.
func (s *splitter) escaped(text string) int {
	if text[0] == 'x' && len(text) > 2 {
		if n, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			s.text = append(s.text, byte(n))
			return 3
		}
	}
	c := text[0]
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		c = "\n\r\t\b\a"[i]
	}
	s.text = append(s.text, c)
	return 1
}
