package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/loadctl/loadctl/targets"
)

// given reports whether a name was given as that of a secret: as a whole, or as one of the names in it, as in
// user[ssn], user.ssn and ns:ssn.
func (r *Redactor) given(name string) bool {
	if len(r.names) == 0 {
		return false
	}
	name = strings.ToLower(name)
	if r.names[name] {
		return true
	}
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return strings.ContainsRune("[].:", c) }) {
		if r.names[part] {
			return true
		}
	}
	return false
}

// secret reports whether a name is that of a secret.
func (r *Redactor) secret(name string) bool {
	return r.given(name) || suspicious(name) && targets.SecretName(name) && !tokenType.MatchString(name)
}

// secret is that of the Redactor. It asks for each name once.
func (f *finder) secret(name []byte) bool {
	if len(name) > longName {
		return f.Redactor.secret(string(name))
	}
	yes, asked := f.known.names[string(name)]
	if !asked {
		yes = f.Redactor.secret(string(name))
		f.known.names[string(name)] = yes
	}
	return yes
}

// longName is how long a name is that is not worth to be remembered.
const longName = 100

// readable reports whether a value stays although its name tells of a secret: it is empty, or a truth, or it counts.
func (r *Redactor) readable(name, value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "null", targets.Redacted, inURL:
		return true
	}
	return number.MatchString(value) && !r.given(name) && counts(name)
}

// counts reports whether a name is that of a number of things or a time, such as max_tokens and sessionTimeout.
func counts(name string) bool {
	return counting.MatchString(strings.ToLower(wordBegins.ReplaceAllString(name, "${1}_$2")))
}

var (
	tokenType  = regexp.MustCompile(`(?i)^token[-_]?type$`)
	number     = regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]{1,12})?$`)
	wordBegins = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	counting   = regexp.MustCompile(`(^|[^a-z])(tokens|count|limit|timeout|ttl|length|size|age|expires|total|used|seconds)([^a-z]|$)`)
)

// suspicious reports whether a name may be that of a secret. It is quick, and never wrong if it says no: most names of a
// long text need no more.
func suspicious(name string) bool {
	if strings.ContainsFunc(name, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return true // some become letters of ASCII in lower case
	}
	for i := 0; i+2 <= len(name); i++ {
		a, b := name[i]|0x20, name[i+1]|0x20
		var c byte
		if i+2 < len(name) {
			c = name[i+2] | 0x20
		}
		switch {
		case a == 'p' && (b == 'a' && c == 's' || b == 'w' || b == 'i' && c == 'n'),
			a == 's' && (b == 'e' && (c == 'c' || c == 's') || b == 'i' && (c == 'g' || c == 'd') || b == 'r' && c == 'f'),
			a == 't' && b == 'o' && c == 'k', a == 'c' && (b == 'r' && c == 'e' || b == 'o' && c == 'o'),
			a == 'k' && b == 'e' && c == 'y', a == 'a' && b == 'u' && c == 't', a == 'o' && b == 't' && c == 'p',
			a == 'j' && b == 'w' && c == 't':
			return true
		}
	}
	return false
}
