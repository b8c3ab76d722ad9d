package show

import (
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// word returns a text as one word for a shell, as POSIX has it. What a terminal must not see is made by printf, which leaves
// out line breaks at the end, and cannot make NUL.
func word(s string) string {
	if quotable(s) {
		return quoted(s)
	}
	return `"$(printf '` + octal(s) + `')"`
}

// quotable reports whether a text stays as it is on its way through a terminal.
func quotable(s string) bool { return printable.Line(s) == s }

// quoted puts a text into quotes, in which a shell reads nothing but the quote.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// octal returns the format of a printf that prints these bytes. It begins with no dash, which would be an option.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == '\'' || c == '\\' || c == '%' || c == '-' && i == 0 {
			fmt.Fprintf(&b, `\%03o`, c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
