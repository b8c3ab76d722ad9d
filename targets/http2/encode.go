package http2

// Representations of a header in a block (RFC 7541, 6). A name of the static table is an index.
const (
	indexed = 0x80 // with a value of the static table
	never   = 0x10 // a literal that no intermediary may put in a table
	noTable = 0x20 // the size of the dynamic table is 0 from now on
)

// appendField appends a header as a literal that is not indexed. Secrets are marked.
func appendField(b, name, value []byte) []byte {
	index, secret := staticName(name)
	kind := byte(0)
	if secret {
		kind = never
	}
	switch {
	case index == 0:
		b = appendString(append(b, kind), name)
		lower(b[len(b)-len(name):])
	case index < 15:
		b = append(b, kind|index)
	default:
		b = append(b, kind|15, index-15)
	}
	return appendString(b, value)
}

// lower makes capital letters of ASCII small.
func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
}

// appendString appends a string that is not compressed further: a static request is encoded once, but a request that
// varies is encoded for each call.
func appendString[S []byte | string](b []byte, s S) []byte {
	n := len(s)
	if n < 0x7f {
		return append(append(b, byte(n)), s...)
	}
	b = append(b, 0x7f)
	for n -= 0x7f; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), s...)
}

// longestStatic is the length of the longest name that staticName knows.
const longestStatic = len("if-unmodified-since")

// staticName returns the index of the first entry of the static table that has the name of a header of requests, in
// whatever case; 0 if there is none. It reports whether the value is a secret.
func staticName(name []byte) (index byte, secret bool) {
	var small [longestStatic]byte
	if len(name) > len(small) {
		return 0, false
	}
	n := copy(small[:], name)
	lower(small[:n])
	switch string(small[:n]) {
	case "authorization":
		return 23, true
	case "cookie":
		return 32, true
	case "proxy-authorization":
		return 49, true
	}
	return plainName(small[:n]), false
}

// plainName is staticName for headers that are no secrets, in small letters.
func plainName(name []byte) byte {
	switch string(name) {
	case "accept":
		return 19
	case "accept-charset":
		return 15
	case "accept-encoding":
		return 16
	case "accept-language":
		return 17
	case "cache-control":
		return 24
	case "content-encoding":
		return 26
	case "content-length":
		return 28
	case "content-type":
		return 31
	case "date":
		return 33
	case "expect":
		return 35
	case "if-match":
		return 39
	case "if-modified-since":
		return 40
	case "if-none-match":
		return 41
	case "if-range":
		return 42
	case "if-unmodified-since":
		return 43
	case "range":
		return 50
	case "referer":
		return 51
	case "user-agent":
		return 58
	case "via":
		return 60
	}
	return 0
}
