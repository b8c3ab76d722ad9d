package redact

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// mostLevels bounds how often escapes are taken out of a text: so many times may one be escaped.
const mostLevels = 3

// A view is a text, or what is left of it when escapes are replaced by what they stand for.
type view struct {
	text []byte
	at   []int32 // where each byte, and the end, comes from in the source; nil = from the same place
	was  []int32 // the same in the view before
}

// source returns the range of the source that a range of the view comes from. Escapes are in it as a whole.
func (v view) source(from, to int) (int, int) {
	if v.at == nil {
		return from, to
	}
	end := to
	for end < len(v.text) && to > 0 && v.at[end] == v.at[to-1] {
		end++
	}
	return int(v.at[from]), int(v.at[end])
}

// plain reports whether a range stands in the view before as it is. Then it was looked at there.
func (v view) plain(from, to int) bool {
	return v.was != nil && int(v.was[to]-v.was[from]) == to-from
}

// allEscapes begin the escapes of URLs, JSON and HTML. In a form a plus is a space.
const allEscapes = `%\&+`

// decoded returns the view without one level of escapes, of those that begin with these bytes. It reports false if there are
// none.
func (v view) decoded(begins string) (view, bool) {
	if !bytes.ContainsAny(v.text, begins) {
		return view{}, false
	}
	out := view{make([]byte, 0, len(v.text)), make([]int32, 0, len(v.text)+1), make([]int32, 0, len(v.text)+1)}
	var char [4]byte
	changed := false
	for i := 0; i < len(v.text); {
		size, as := 1, append(char[:0], v.text[i])
		c := v.text[i]
		if strings.IndexByte(begins, c) < 0 {
			c = 0
		}
		switch c {
		case '+':
			as[0], changed = ' ', true
		case '%':
			size, as = percent(v.text[i:], as)
		case '\\':
			size, as = backslash(v.text[i:], as)
		case '&':
			size, as = entity(v.text[i:], as)
		}
		from, _ := v.source(i, i)
		for _, c := range as {
			out.text, out.at, out.was = append(out.text, c), append(out.at, int32(from)), append(out.was, int32(i))
		}
		changed = changed || size > 1
		i += size
	}
	end := len(v.text)
	if v.at != nil {
		end = int(v.at[end])
	}
	out.at, out.was = append(out.at, int32(end)), append(out.was, int32(len(v.text)))
	return out, changed
}

// percent reads %41.
func percent(b, as []byte) (int, []byte) {
	if len(b) < 3 || !isHex(b[1]) || !isHex(b[2]) {
		return 1, as
	}
	return 3, append(as[:0], digit(b[1])<<4|digit(b[2]))
}

// backslash reads \n and \u0041. A lone half of a pair becomes what stands for no character.
func backslash(b, as []byte) (int, []byte) {
	if len(b) < 2 {
		return 1, as
	}
	switch b[1] {
	case '"', '\'', '/', '\\':
		return 2, append(as[:0], b[1])
	case 'n':
		return 2, append(as[:0], '\n')
	case 'r':
		return 2, append(as[:0], '\r')
	case 't':
		return 2, append(as[:0], '\t')
	case 'b', 'f':
		return 2, append(as[:0], ' ')
	case 'x':
		if len(b) >= 4 && isHex(b[2]) && isHex(b[3]) {
			return 4, append(as[:0], digit(b[2])<<4|digit(b[3]))
		}
	case 'u':
		first, ok := unit(b)
		if !ok {
			return 1, as
		}
		if utf16.IsSurrogate(first) {
			if second, ok := unit(b[6:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
				return 12, utf8.AppendRune(as[:0], utf16.DecodeRune(first, second))
			}
		}
		return 6, utf8.AppendRune(as[:0], first)
	}
	return 1, as
}

// unit reads \u0041.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// entity reads &amp; and &#65;.
func entity(b, as []byte) (int, []byte) {
	end := bytes.IndexByte(b[:min(len(b), 10)], ';')
	if end < 0 {
		return 1, as
	}
	name := string(b[1:end])
	switch name {
	case "amp":
		return end + 1, append(as[:0], '&')
	case "lt":
		return end + 1, append(as[:0], '<')
	case "gt":
		return end + 1, append(as[:0], '>')
	case "quot":
		return end + 1, append(as[:0], '"')
	case "apos":
		return end + 1, append(as[:0], '\'')
	}
	if len(name) < 2 || name[0] != '#' {
		return 1, as
	}
	text, base := name[1:], 10
	if text[0]|0x20 == 'x' {
		text, base = text[1:], 16
	}
	n, err := strconv.ParseUint(text, base, 21)
	if err != nil {
		return 1, as
	}
	return end + 1, utf8.AppendRune(as[:0], rune(n))
}

// longEscape is how long an escape may be, such as a pair of \u0041.
const longEscape = 12

// unfinished reports whether a text is the begin of an escape.
func unfinished(b []byte) bool {
	var digits []byte
	switch {
	case len(b) >= 6 && b[0] == '\\' && b[1] == 'u': // the first of a pair
		return unfinished(b[6:]) && b[6] == '\\'
	case len(b) == 1:
		return b[0] == '%' || b[0] == '\\' || b[0] == '&'
	case len(b) == 0:
		return false
	case b[0] == '%' && len(b) < 3:
		digits = b[1:]
	case b[0] == '\\' && (b[1] == 'u' || b[1] == 'x'):
		digits = b[2:]
	case b[0] == '&':
		return !bytes.ContainsAny(b, "; \"=<")
	default:
		return false
	}
	for _, c := range digits {
		if !isHex(c) {
			return false
		}
	}
	return true
}

// finished returns a text without an escape at its end that is cut off.
func finished(b []byte) []byte {
	for i := max(0, len(b)-longEscape); i < len(b); i++ {
		if unfinished(b[i:]) {
			return b[:i]
		}
	}
	return b
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// digit returns what a hexadecimal digit stands for.
func digit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
