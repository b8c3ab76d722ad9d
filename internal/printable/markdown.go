package printable

import (
	"strconv"
	"strings"
)

// Clip is s as a part of one line, of at most n characters and a mark that something was left out.
func Clip(s string, n int) string {
	runes := []rune(Line(strings.ToValidUTF8(s, "\uFFFD")))
	if len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return string(runes)
}

// Markdown is at most n characters of s as they stand, with nothing in it that Markdown or HTML would read.
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

// MarkdownCode is at most n characters of s in a fixed font, which a back quote would end. It is not for tables, where a bar would end it.
func MarkdownCode(s string, n int) string {
	return "`" + strings.ReplaceAll(Clip(s, n), "`", "'") + "`"
}
