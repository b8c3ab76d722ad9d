package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// leastBytes is how long a value must be to be looked for elsewhere.
const leastBytes = 4

// secrets are values that must not be shown, wherever they stand.
type secrets struct {
	seen map[string]bool
	list []string
	open map[string]bool // of those that were cut off: they may go on elsewhere

	names map[string]bool // names that were asked for, and whether they are those of secrets
}

func newSecrets() *secrets { return &secrets{seen: map[string]bool{}, names: map[string]bool{}} }

// add adds a value. open: it was cut off.
func (s *secrets) add(value string, open bool) {
	value = strings.TrimSpace(value)
	if len(value) < leastBytes || s.seen[value] || isScheme(value) || strings.Trim(value, "*") == "" || strings.Contains(value, inURL) && len(value) <= len("[redacted]") {
		return
	}
	switch strings.ToLower(value) {
	case "true", "false", "null", "none":
		return
	}
	s.seen[value] = true
	s.list = append(s.list, value)
	if open {
		if s.open == nil {
			s.open = map[string]bool{}
		}
		s.open[value] = true
	}
}

// The bounds of what is looked for. Beyond mostEncoded values none is looked for in base64 and hexadecimal; beyond
// mostNodes no body is shown.
const (
	mostEncoded  = 200
	mostNodes    = 1 << 18
	encodedBytes = 12 // of a value; all around it goes with it
	leastEncoded = 6  // letters
)

// matcher returns what finds the values in all their forms; nil if they are too many.
func (s *secrets) matcher() *matcher {
	b := builder{seen: map[string]bool{}}
	for i, value := range s.list {
		ends := exact
		if s.open[value] {
			ends = toDelimiter
		}
		b.forms(value, ends, i < mostEncoded)
		if !strings.ContainsAny(value, allEscapes) {
			continue
		}
		for _, begins := range []string{allEscapes, `%\&`, `\`, `%`, `%+`, `&`} {
			for v, more := (view{text: []byte(value)}).decoded(begins); more; v, more = v.decoded(begins) {
				b.forms(string(v.text), ends, i < mostEncoded)
			}
		}
	}
	return b.build()
}

// forms adds a value, and what encodings make of it.
func (b *builder) forms(value string, ends extent, encoded bool) {
	if b.seen[value] { // several escapes stand for it
		return
	}
	b.seen[value] = true
	b.add(value, ends)
	if encoded {
		b.encoded(value[:min(len(value), encodedBytes)], len(value) > encodedBytes || ends != exact)
	}
}

// encoded adds a value as it is within base64, which depends on how many bytes are before it (mod 3), and in hexadecimal.
// cut: it has more bytes.
func (b *builder) encoded(value string, cut bool) {
	for before := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := alphabet.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			text = text[(before*8+5)/6:]
			if (before+len(value))%3 != 0 && (before > 0 || cut || len(text) > leastEncoded) {
				text = text[:len(text)-1] // it depends on what follows
			}
			if len(text) >= leastEncoded {
				b.add(text, allBase64)
			}
			if !strings.ContainsAny(text, "+/-_") {
				break // both alphabets are the same
			}
		}
	}
	if len(value) >= leastEncoded {
		text := hex.EncodeToString([]byte(value))
		b.add(text, allHex)
		b.add(strings.ToUpper(text), allHex)
	}
}
