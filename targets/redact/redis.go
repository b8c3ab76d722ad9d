package redact

import (
	"bytes"
	"strconv"
	"strings"
)

// An argument is one of a command of Redis, with its range in the body.
type argument struct {
	text     []byte
	from, to int
}

// commands hides logins of Redis and values of keys whose names tell of a secret. It reports whether a key does: then
// the reply is a secret as well.
func (d *document) commands(r *Redactor, known *secrets) (secretKey bool) {
	all := arguments(d.source)
	if len(all) < 2 {
		return false
	}
	f := finder{Redactor: r, view: view{text: d.source}, known: known, d: d}
	name := strings.ToUpper(string(all[0].text))
	hiding := name == "AUTH"
	for _, a := range all[1:] {
		word := string(a.text)
		switch {
		case hiding && !isOption(word):
			f.hide(nil, a.from, a.to)
		case name == "HELLO" && strings.EqualFold(word, "AUTH"):
			hiding = true
		case name != "HELLO" && name != "AUTH" && r.secret(word):
			hiding, secretKey = true, true
		}
	}
	return secretKey
}

// isOption reports whether an argument of SET is no value.
func isOption(word string) bool {
	switch strings.ToUpper(word) {
	case "EX", "PX", "NX", "XX", "GET", "KEEPTTL", "EXAT", "PXAT":
		return true
	}
	return false
}

// command reports whether a reply of Redis is a status, an error or a number, which hold no stored value.
func command(reply []byte) bool {
	return len(reply) == 0 || strings.IndexByte("+-:", reply[0]) >= 0 || bytes.Equal(reply, []byte("OK"))
}

// arguments reads a command, as it is sent or as people write it. One that is cut off has its last argument in part.
func arguments(b []byte) (all []argument) {
	if len(b) == 0 || b[0] != '*' {
		return inline(b)
	}
	i := bytes.IndexByte(b, '\n') + 1
	for i > 0 && i < len(b) && b[i] == '$' {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			break
		}
		size, err := strconv.Atoi(strings.TrimSpace(string(b[i+1 : i+n])))
		from := i + n + 1
		if err != nil || size < 0 {
			break
		}
		to := len(b)
		if size <= len(b)-from {
			to = from + size
		}
		all = append(all, argument{b[from:to], from, to})
		i = min(to+2, len(b))
	}
	return all
}

// inline reads words with spaces between, or with quotes around them.
func inline(b []byte) (all []argument) {
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case isSpace(c):
			i++
		case c == '"' || c == '\'':
			end := endOfString(b, i)
			all = append(all, argument{b[min(i+1, end):end], min(i+1, end), end})
			i = end + 1
		default:
			from := i
			for i < len(b) && !isSpace(b[i]) {
				i++
			}
			all = append(all, argument{b[from:i], from, i})
		}
	}
	return all
}
