package importer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A word is one word of a command line.
type word struct {
	text string
	line int // where it begins, from 1
}

// errAt is an error at a line.
type errAt struct {
	line int
	err  error
}

// Error implements error.
func (e errAt) Error() string { return e.err.Error() }

// A splitter splits text into commands, as a POSIX shell does. It runs and fills nothing: what a shell would fill in, such
// as $HOME, is an error.
type splitter struct {
	rest string
	line int
	word strings.Builder
	open bool // a word has begun, though it may be empty
	from int  // the line where it began
	now  []word
	all  [][]word
}

// split returns the commands of a text, each with at least one word. The error is an errAt.
func split(text string) ([][]word, error) {
	s := &splitter{rest: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	for s.rest != "" {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.endCommand()
	return s.all, nil
}

// fail returns an error at the current line.
func (s *splitter) fail(format string, args ...any) error {
	return errAt{s.line, fmt.Errorf(format, args...)}
}

// take removes n bytes from the rest, and counts lines.
func (s *splitter) take(n int) string {
	text := s.rest[:n]
	s.line += strings.Count(text, "\n")
	s.rest = s.rest[n:]
	return text
}

// begin begins a word, unless one has begun.
func (s *splitter) begin() {
	if !s.open {
		s.open, s.from = true, s.line
	}
}

// endWord ends a word.
func (s *splitter) endWord() {
	if s.open {
		s.now = append(s.now, word{s.word.String(), s.from})
	}
	s.word.Reset()
	s.open = false
}

// endCommand ends a command.
func (s *splitter) endCommand() {
	s.endWord()
	if len(s.now) > 0 {
		s.all = append(s.all, s.now)
	}
	s.now = nil
}

// next reads one character, or one quoted text.
func (s *splitter) next() error {
	switch c := s.rest[0]; c {
	case ' ', '\t':
		s.endWord()
		s.take(1)
	case '\n', ';', '&':
		s.endCommand()
		s.take(1)
	case '#':
		if s.open {
			s.word.WriteString(s.take(1))
			return nil
		}
		line, _, _ := strings.Cut(s.rest, "\n")
		s.take(len(line))
	case '\'':
		return s.single()
	case '"':
		return s.double()
	case '\\':
		return s.escaped()
	case '$':
		return s.dollar()
	case '|', '<', '>', '(', ')', '`':
		return s.fail("%q has a meaning in a shell, and nothing is run here; put it in quotes, or remove it", string(c))
	default:
		s.begin()
		_, n := utf8.DecodeRuneInString(s.rest)
		s.word.WriteString(s.take(n))
	}
	return nil
}

// single reads '…', in which nothing is special.
func (s *splitter) single() error {
	s.begin()
	end := strings.IndexByte(s.rest[1:], '\'')
	if end < 0 {
		return s.fail("the quote ' is not closed; add one at the end of the text")
	}
	s.word.WriteString(s.rest[1 : 1+end])
	s.take(end + 2)
	return nil
}

// escaped reads a backslash outside of quotes.
func (s *splitter) escaped() error {
	switch {
	case len(s.rest) == 1:
		return s.fail("nothing follows the backslash; remove it")
	case s.rest[1] == '\n':
		s.take(2) // the line goes on
		return nil
	}
	s.begin()
	_, n := utf8.DecodeRuneInString(s.rest[1:])
	s.word.WriteString(s.take(1 + n)[1:])
	return nil
}

// double reads "…", in which a backslash is special before some characters only.
func (s *splitter) double() error {
	s.begin()
	begin := s.line
	s.take(1)
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c == '"':
			s.take(1)
			return nil
		case c == '\\' && len(s.rest) > 1 && s.rest[1] == '\n':
			s.take(2)
		case c == '\\' && len(s.rest) > 1 && strings.IndexByte("$`\"\\", s.rest[1]) >= 0:
			s.word.WriteString(s.take(2)[1:])
		case c == '`' || c == '$' && fills(s.rest[1:]):
			return s.fail("a shell would replace what follows %q, and nothing is run here; put the value itself there, in single quotes", string(c))
		default:
			s.word.WriteString(s.take(1))
		}
	}
	s.line = begin
	return s.fail(`the quote " is not closed; add one at the end of the text`)
}

// fills reports whether a shell would replace a dollar sign before this text.
func fills(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("{(*@#?-$!", c) >= 0
}

// dollar reads $'…', or a dollar sign that means itself.
func (s *splitter) dollar() error {
	switch {
	case strings.HasPrefix(s.rest, "$'"):
		return s.ansi()
	case strings.HasPrefix(s.rest, `$"`):
		s.take(1) // a text that may be translated
		return s.double()
	case fills(s.rest[1:]):
		return s.fail("a shell would replace what follows \"$\", and nothing is run here; put the value itself there, in single quotes")
	}
	s.begin()
	s.word.WriteString(s.take(1))
	return nil
}

// ansi reads $'…', in which a backslash begins an escape as in C.
func (s *splitter) ansi() error {
	s.begin()
	begin := s.line
	s.take(2)
	for s.rest != "" {
		switch s.rest[0] {
		case '\'':
			s.take(1)
			return nil
		case '\\':
			text, n, err := unescape(s.rest[1:])
			if err != nil {
				return s.fail("%w", err)
			}
			s.word.WriteString(text)
			s.take(1 + n)
		default:
			s.word.WriteString(s.take(1))
		}
	}
	s.line = begin
	return s.fail("the quote $' is not closed; add a ' at the end of the text")
}

// unescape returns what the escape after a backslash stands for, and its length.
func unescape(text string) (string, int, error) {
	if text == "" {
		return "", 0, errors.New("nothing follows the backslash; remove it")
	}
	simple := map[byte]string{'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': "\\", '\'': "'", '"': `"`, '?': "?"}
	if s, ok := simple[text[0]]; ok {
		return s, 1, nil
	}
	switch c := text[0]; c {
	case 'x':
		return number(text, 1, 2, 16)
	case 'u':
		return number(text, 1, 4, 16)
	case 'U':
		return number(text, 1, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return number(text, 0, 3, 8)
	default:
		return "\\", 0, nil // as in a shell, the backslash stays
	}
}

// number reads up to most digits from a place on. In \x and octal they are a byte, and else a character.
func number(text string, from, most, base int) (string, int, error) {
	end := from
	for end < len(text) && end < from+most {
		if _, err := strconv.ParseUint(text[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(text[from:end], base, 32)
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("no number follows \\%c; give one, such as \\u0021", text[0])
	case n == 0:
		return "", 0, errors.New("a zero byte ends a text in a shell; remove it")
	case text[0] == 'u' || text[0] == 'U':
		return string(rune(n)), end, nil
	}
	return string([]byte{byte(n)}), end, nil
}
