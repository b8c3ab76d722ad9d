package grpc

// AppendField appends a field to a block of headers (RFC 7541): a literal that neither side keeps, so that blocks do not
// depend on each other and can be made once for many calls. The name is in lower case.
func AppendField(b []byte, name, value string) []byte {
	b = appendString(append(b, neverIndexed), name)
	return appendString(b, value)
}

// AppendName appends the begin of a field whose value AppendValue appends.
func AppendName(b []byte, name string) []byte { return appendString(append(b, neverIndexed), name) }

// AppendValue appends what fill appends, as the value of the field whose name was appended last.
func AppendValue(b []byte, fill func(b []byte) []byte) []byte {
	at := len(b)
	b = fill(b)
	var room [8]byte
	n := len(b) - at
	size := appendInt(room[:0], 0, 7, n)
	b = append(b, size...)
	copy(b[at+len(size):], b[at:at+n])
	copy(b[at:], size)
	return b
}

// AppendTarget appends what a call is about: POST, the scheme, the path of the method, and the host.
func AppendTarget(b []byte, secure bool, path, authority string) []byte {
	b = append(b, methodPost)
	if secure {
		b = append(b, schemeHTTPS)
	} else {
		b = append(b, schemeHTTP)
	}
	b = appendString(append(b, namePath), path)
	return appendString(append(b, nameAuthority), authority)
}

// First bytes of fields, with indexes of the static table (RFC 7541, 6 and A).
const (
	methodPost    = 0x80 | 3
	schemeHTTP    = 0x80 | 6
	schemeHTTPS   = 0x80 | 7
	nameAuthority = 1
	namePath      = 4
	neverIndexed  = 0x10 // a proxy keeps it neither: it may be a secret
)

// appendString appends a string without Huffman's code (5.2).
func appendString(b []byte, s string) []byte { return append(appendInt(b, 0, 7, len(s)), s...) }

// appendInt appends a number below 2^31 with a prefix of some bits (5.1).
func appendInt(b []byte, first byte, bits, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
