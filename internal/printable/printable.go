// Package printable keeps what others wrote from steering a terminal, or from looking like lines of ours.
//
//	printable.Line("a\x1b[2J\nb")                  // "a [2J b": a single line
//	printable.Fprintf(w, "%s\t%s\n", id, state)    // the format ends lines, its arguments do not
//	out := printable.NewWriter(os.Stdout)          // whatever is written: only \n and \t steer
//	json.NewEncoder(printable.NewJSONWriter(out))  // escapes instead of spaces: nothing is lost
//
// What steers is each control character (C0, DEL and C1), and each that hides or turns text: format characters such as zero-width spaces
// and bidirectional overrides, line and paragraph separators. Bytes that are no UTF-8 become U+FFFD, so that none of them is left.
package printable

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
)

// steers tells whether a character does something else than to be seen.
func steers(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Line is s as a part of one line: a space stands for whatever steers.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return ' '
		}
		return r
	}, s)
}

// Fprintf is fmt.Fprintf with each text, error, and struct that tells its text among its arguments as a Line. Line breaks and tabs come from
// the format alone.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	lines := make([]any, len(args))
	for i, arg := range args {
		lines[i] = arg
		if err, is := arg.(error); is {
			lines[i] = Line(err.Error())
		} else if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			lines[i] = Line(v.String())
		} else if told, is := arg.(fmt.Stringer); is && v.Kind() == reflect.Struct {
			lines[i] = Line(told.String())
		}
	}
	return fmt.Fprintf(w, format, lines...)
}

// writer replaces what steers in all that is written through it.
type writer struct {
	to      io.Writer
	replace func(r rune) string // "" = r stays
}

// NewWriter returns a writer that lets through what may be shown, \n and \t. A space stands for whatever else steers.
func NewWriter(to io.Writer) io.Writer {
	return &writer{to, func(r rune) string {
		if steers(r) && r != '\n' && r != '\t' {
			return " "
		}
		return ""
	}}
}

// NewJSONWriter returns a writer for JSON. The encoder leaves some of what steers as it is; here it is escaped, so that it is read back unchanged.
func NewJSONWriter(to io.Writer) io.Writer {
	return &writer{to, func(r rune) string {
		switch high, low := utf16.EncodeRune(r); {
		case !steers(r) || r == '\n' || r == '\t': // between its values; in them the encoder has escaped these
			return ""
		case r > 0xffff:
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		default:
			return fmt.Sprintf(`\u%04x`, r)
		}
	}}
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		if instead := w.replace(r); instead != "" {
			b.WriteString(instead)
		} else {
			b.WriteRune(r)
		}
	}
	if _, err := io.WriteString(w.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// File is the file that w writes to in the end, for whoever has to know whether that is a terminal, and for who steers it on purpose.
func File(w io.Writer) (f *os.File, ok bool) {
	if filter, is := w.(*writer); is {
		w = filter.to
	}
	f, ok = w.(*os.File)
	return f, ok
}
