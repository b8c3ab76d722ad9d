package demo

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// look says how to show things.
type look struct {
	width  int  // columns
	blocks bool // bars of block characters, else of ASCII
	colour bool
}

const (
	defaultWidth = 80
	mostWidth    = 100
)

// screen writes whole lines, and remembers the first error.
type screen struct {
	look look
	out  io.Writer
	err  error
}

// newScreen finds out what can be shown on out.
func newScreen(out io.Writer) *screen {
	s := &screen{out: out, look: look{width: defaultWidth, blocks: speaksUTF8(os.Getenv)}}
	file, ok := printable.File(out)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.out = file // needed for colours
	s.look.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		s.look.width = min(width, mostWidth)
	}
	return s
}

// speaksUTF8 tells whether the locale in an environment uses UTF-8.
func speaksUTF8(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// line writes a line.
func (s *screen) line(format string, args ...any) { s.text(fmt.Sprintf(format, args...) + "\n") }

// heading writes a line that stands out.
func (s *screen) heading(format string, args ...any) {
	s.text(s.look.paint(bold, fmt.Sprintf(format, args...)) + "\n")
}

// text writes lines in one call, so that an interrupted demo shows no half lines.
func (s *screen) text(lines string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, lines)
	}
}

// failure returns the error of writing.
func (s *screen) failure() error { return fmt.Errorf("write the demo: %w", s.err) }

// Styles of paint, as SGR parameters.
const (
	bold   = "1"
	green  = "32"
	yellow = "33"
)

// paint colours a text, if colours are on.
func (l look) paint(sgr, text string) string {
	if !l.colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// wrap breaks a paragraph into lines of at most width columns, as far as its words permit.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}
