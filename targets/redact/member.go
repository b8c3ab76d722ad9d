package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// members looks for names before a colon: members of JSON in all notations, arguments of GraphQL, lines of YAML and of
// heads. Each name and each value is read once, so the time is linear.
func (f *finder) members() {
	var pair named
	for i := 0; i < len(f.text); {
		colon := bytes.IndexByte(f.text[i:], ':')
		if colon < 0 {
			return
		}
		colon += i
		i = colon + 1
		name, from, quoted, found := f.nameBefore(colon)
		if !found {
			continue
		}
		value := i
		for value < len(f.text) && isSpace(f.text[value]) && (quoted || f.text[value] != '\n') {
			value++
		}
		if f.plain(from, min(value+1, len(f.text))) {
			continue
		}
		if quoted && from < pair.end && bytes.EqualFold(name, []byte("value")) {
			name = pair.name
		} else if quoted && isNaming(name) {
			pair = f.pair(value)
		}
		if !f.secret(name) {
			continue
		}
		i = f.member(name, from, value, quoted)
	}
}

// nameBefore returns the name that ends before a colon, and where it begins.
func (f *finder) nameBefore(colon int) (name []byte, from int, quoted, found bool) {
	end := colon
	for end > 0 && isSpace(f.text[end-1]) && colon-end < 16 {
		end--
	}
	if end == 0 {
		return nil, 0, false, false
	}
	if quote := f.text[end-1]; quote == '"' || quote == '\'' {
		if end > 1 && f.text[end-2] == '\\' {
			return nil, 0, false, false // its turn comes when the escapes are gone
		}
		for from = end - 2; from >= 0; from-- {
			if f.text[from] == quote && (from == 0 || f.text[from-1] != '\\') {
				return f.text[from+1 : end-1], from, true, true
			}
			if f.text[from] == ':' || f.text[from] == '\n' { // each byte is read for one colon
				break
			}
		}
		// A name with a colon in it, or one that begins before the text does.
		begin := min(from+1, end-1)
		return f.text[begin : end-1], begin, true, begin < end-1
	}
	for from = end; from > 0 && isNameByte(f.text[from-1]); from-- {
	}
	return f.text[from:end], from, false, from < end
}

// member hides the value that begins at i, behind a colon. It returns where to go on.
func (f *finder) member(name []byte, from, i int, quoted bool) int {
	if i == len(f.text) {
		return i
	}
	switch c := f.text[i]; {
	case c == '"' || c == '\'' || c == '`':
		end := endOfString(f.text, i)
		f.hide(name, i+1, end)
		return min(end+1, len(f.text))
	case quoted && (c == '{' || c == '['):
		return f.container(name, i)
	case quoted:
		end := i
		for end < len(f.text) && strings.IndexByte(",}]\n\"'\\", f.text[end]) < 0 {
			end++
		}
		f.hideSome(name, i, end, isBare(c), true)
		return end
	case f.beginsLine(from):
		end := f.endOfLine(i)
		f.hide(name, i, end)
		f.inHeader(i, end)
		return end
	}
	end := i
	for end < len(f.text) && !endsWord(f.text[end]) {
		end++
	}
	if isScheme(string(f.text[i:end])) && end < len(f.text) && f.text[end] == ' ' {
		for i, end = end+1, end+1; end < len(f.text) && !endsWord(f.text[end]); end++ {
		}
		f.hide(name, i, end)
	} else if word := f.text[i:end]; len(word) >= 16 || bytes.ContainsAny(word, "0123456789") || password.Match(name) { // else it is prose: "token: expired"
		f.hide(name, i, end)
	}
	return end
}

// password matches names after which no prose comes.
var password = regexp.MustCompile(`(?i)passw|secret`)

// A named is an object that names a secret: {"name": "password", "value": …}.
type named struct {
	name []byte
	end  int // of the object
}

// pair returns the secret whose name begins at i, or an empty one.
func (f *finder) pair(i int) named {
	if i == len(f.text) || f.text[i] != '"' {
		return named{}
	}
	end := endOfString(f.text, i)
	name := f.text[min(i+1, end):end]
	if len(name) > longName || !f.secret(name) {
		return named{}
	}
	rest := f.text[end:min(end+mostHead, len(f.text))]
	if n := bytes.IndexByte(rest, '}'); n >= 0 {
		rest = rest[:n]
	}
	return named{name, end + len(rest)}
}

// inHeader notes the token of a line such as Authorization: Bearer abc, for other places.
func (f *finder) inHeader(from, to int) { f.known.credential(string(bytes.TrimSpace(f.text[from:to]))) }

// container hides all values in an object or array, at any depth. It returns where that ends.
func (f *finder) container(name []byte, i int) int {
	for depth := 0; i < len(f.text); {
		switch c := f.text[i]; {
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			if i++; depth == 0 {
				return i
			}
		case c == '"' || c == '\'':
			end := endOfString(f.text, i)
			next := end + 1
			for next < len(f.text) && isSpace(f.text[next]) {
				next++
			}
			if next >= len(f.text) || f.text[next] != ':' {
				f.hide(name, i+1, end)
			}
			i = min(end+1, len(f.text))
		case isBare(c):
			end := endOfBare(f.text, i)
			f.hideSome(name, i, end, true, false)
			i = end
		default:
			i++
		}
	}
	return i
}

// beginsLine reports whether nothing but space, or the mark of a listing, is before i in its line.
func (f *finder) beginsLine(i int) bool {
	for n := 0; i > 0 && n < 8; n++ {
		switch i--; f.text[i] {
		case '\n':
			return true
		case ' ', '\t', '\r', '>', '<', '-', '*':
		default:
			return false
		}
	}
	return i == 0
}

// endOfLine returns where the line ends; behind escapes also where a string does that the line may be in.
func (f *finder) endOfLine(i int) int {
	stop := "\n"
	if f.level > 0 {
		stop = "\n\""
	}
	if n := bytes.IndexAny(f.text[i:], stop); n >= 0 {
		return i + n
	}
	return len(f.text)
}

// isNameByte reports whether a byte may be part of a name that has no quotes.
func isNameByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

// endsWord reports whether a byte ends a value in prose.
func endsWord(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '&', '"', '\'', '<', '>', ';', ',', ')', '`':
		return true
	}
	return false
}
