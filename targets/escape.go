package targets

import "strings"

// An escape appends the cell of a data file as a place demands.
type escape = func(b []byte, cell string) []byte

// escape returns how cells are escaped in the text with a salt, as template.Options takes it: %XX in URL and form, \n
// and so on in a string of JSON. A header takes it without control characters, and any other body as it is.
func (s Spec) escape(salt uint64) func(literal string) escape {
	types := HeaderValues(s.Headers, "Content-Type")
	switch {
	case salt == SaltBody && IsGRPC(s.URL):
		return new(jsonPlace).escape
	case salt == SaltURL:
		return func(string) escape { return Percent }
	case salt >= SaltHeaders:
		return func(string) escape { return oneLine }
	case len(types) == 0:
		return nil
	}
	media, _, _ := strings.Cut(strings.ToLower(types[0]), ";")
	switch {
	case strings.Contains(media, "json"): // also application/problem+json, application/x-ndjson
		return new(jsonPlace).escape
	case strings.TrimSpace(media) == "application/x-www-form-urlencoded":
		return func(string) escape { return Percent }
	}
	return nil
}

// oneLine leaves out control characters: a value that a server sent could begin another header.
func oneLine(b []byte, cell string) []byte {
	for i := range len(cell) {
		if c := cell[i]; c >= ' ' && c != 0x7f || c == '\t' {
			b = append(b, c)
		}
	}
	return b
}

// Percent escapes all but unreserved characters (RFC 3986, 2.3), so a cell stays one segment of a path, or one value of
// a query.
func Percent(b []byte, cell string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(cell) {
		switch c := cell[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// jsonPlace knows whether the next placeholder of a JSON text is inside a string.
type jsonPlace struct{ inString bool }

// escape returns how a cell is escaped behind the next literal. Outside a string it is a value of its own, such as a
// number, and stays as it is.
func (p *jsonPlace) escape(literal string) escape {
	for i := 0; i < len(literal); i++ {
		switch {
		case literal[i] == '"':
			p.inString = !p.inString
		case p.inString && literal[i] == '\\':
			i++
		}
	}
	if p.inString {
		return quotable
	}
	return verbatim
}

func verbatim(b []byte, cell string) []byte { return append(b, cell...) }

// quotable escapes what a string of JSON cannot hold (RFC 8259, 7).
func quotable(b []byte, cell string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(cell) {
		switch c := cell[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}
