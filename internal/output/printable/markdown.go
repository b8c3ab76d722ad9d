package printable

import (
	"strconv"
	"strings"
)

// Clip makes s part of one line: at most n characters, and a mark if something was left out.
func Clip(s string, n int) string {
	runes := []rune(Line(strings.ToValidUTF8(s, "\uFFFD")))
	if len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return string(runes)
}

// Markdown returns at most n characters of s, escaped so that Markdown and HTML show them unchanged.
func Markdown(s string, n int) string {
	var b strings.Builder
	for _, r := range Clip(s, n) {
		switch {
		case r == '<' || r == '>' || r == '&' || r == '@':
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
		case strings.ContainsRune("\\`*_[]|~#$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// MarkdownCode returns at most n characters of s as code. A back quote, which would end the code, is replaced. It is
// not for tables, where a bar would end the cell.
func MarkdownCode(s string, n int) string {
	return "`" + strings.ReplaceAll(Clip(s, n), "`", "'") + "`"
}
