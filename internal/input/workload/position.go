package workload

import (
	"bytes"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// position returns the line and the column of a character of a scalar: offset counts the characters of its value. It walks
// the file and the value together, over quotes, escapes and the indentation of further lines.
func (d *document) position(n *yaml.Node, offset int) (line, column int) {
	lines := bytes.SplitAfterN(d.content, []byte("\n"), n.Line)
	rest := []rune(string(lines[len(lines)-1]))
	s := source{rest[min(len(rest), n.Column-1):], n.Style}
	at := s.begin()
	for i, r := range []rune(n.Value) {
		if at = s.find(at, r); i == offset {
			break
		}
		at += s.width(at)
	}
	line, column = n.Line, n.Column
	for _, r := range s.text[:min(at, len(s.text))] {
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// source is the file from the begin of a scalar on.
type source struct {
	text  []rune
	style yaml.Style
}

// begin returns where the value begins.
func (s source) begin() (at int) {
	switch {
	case s.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return 1
	case s.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		for at < len(s.text) && s.text[at] != '\n' {
			at++
		}
		return at + 1
	}
	return 0
}

// find returns where a character of the value stands, from a place on: line breaks and indentation may be before it.
func (s source) find(at int, r rune) int {
	for at < len(s.text) && unicode.IsSpace(s.text[at]) && !unicode.IsSpace(r) {
		at++
	}
	return at
}

// width returns how many characters of the file make the one of the value at a place.
func (s source) width(at int) int {
	next := rune(0)
	if at+1 < len(s.text) {
		next = s.text[at+1]
	}
	switch {
	case at >= len(s.text):
		return 0
	case s.style&yaml.SingleQuotedStyle != 0 && s.text[at] == '\'' && next == '\'':
		return 2
	case s.style&yaml.DoubleQuotedStyle == 0 || s.text[at] != '\\':
		return 1
	case next == 'x':
		return 4
	case next == 'u':
		return 6
	case next == 'U':
		return 10
	}
	return 2
}
