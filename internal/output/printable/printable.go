// Package printable keeps untrusted text from controlling a terminal, or from looking like our own lines.
//
//	printable.Line("a\x1b[2J\nb")                  // "a [2J b": a single line
//	printable.Fprintf(w, "%s\t%s\n", id, state)    // only the format ends lines, not its arguments
//	out := printable.NewWriter(os.Stdout)          // only \n and \t keep their effect
//	json.NewEncoder(printable.NewJSONWriter(out))  // escapes instead of spaces: nothing is lost
//
// It replaces each control character (C0, DEL and C1), and each character that hides or turns text: format characters
// such as zero-width spaces and bidirectional overrides, line and paragraph separators. Bytes that are not UTF-8 become
// U+FFFD.
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

// steers reports whether a character is a control character in this sense.
func steers(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// Line makes s part of one line: it replaces control characters by spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return ' '
		}
		return r
	}, s)
}

// Fprintf is fmt.Fprintf that makes each argument a Line: texts, errors, and structs with a text. Only the format adds
// line breaks and tabs.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	lines := make([]any, len(args))
	for i, arg := range args {
		lines[i] = arg
		if err, is := arg.(error); is {
			lines[i] = Line(err.Error())
		} else if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			lines[i] = Line(v.String())
		} else if stringer, is := arg.(fmt.Stringer); is && v.Kind() == reflect.Struct {
			lines[i] = Line(stringer.String())
		}
	}
	return fmt.Fprintf(w, format, lines...)
}

// writer replaces control characters in everything written through it.
type writer struct {
	to      io.Writer
	replace func(r rune) string // "" = r stays
}

// NewWriter returns a writer that replaces control characters by spaces, except \n and \t.
func NewWriter(to io.Writer) io.Writer {
	return &writer{to, func(r rune) string {
		if steers(r) && r != '\n' && r != '\t' {
			return " "
		}
		return ""
	}}
}

// NewJSONWriter returns a writer for JSON. The encoder leaves some control characters unchanged; this writer escapes
// them, so that they are read back unchanged.
func NewJSONWriter(to io.Writer) io.Writer {
	return &writer{to, func(r rune) string {
		switch high, low := utf16.EncodeRune(r); {
		case !steers(r) || r == '\n' || r == '\t': // between values; inside them the encoder has escaped these
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

// File returns the file that w finally writes to, for callers that need to know whether it is a terminal, or control it
// on purpose.
func File(w io.Writer) (f *os.File, ok bool) {
	if filter, is := w.(*writer); is {
		w = filter.to
	}
	f, ok = w.(*os.File)
	return f, ok
}
