package cookies

import (
	"net/http"
	"strings"
	"time"
)

// longest is how long a cookie is kept, whatever Max-Age says. Browsers use the same bound.
const longest = 400 * 24 * time.Hour

// A cookie is one that is kept.
type cookie struct {
	name, value string
	domain      string // the host that it belongs to
	below       bool   // it belongs to all hosts below the domain too
	path        string // it is for all paths below this one
	secure      bool
	expires     time.Time // zero = never
}

// parse reads a Set-Cookie header (RFC 6265, 5.2 and 5.3). It returns false if the cookie is to be ignored.
//
// http.ParseSetCookie reads the attributes. It refuses values that browsers take, such as JSON. So name and value are
// read here.
func parse(header string, from Place, now time.Time) (c cookie, ok bool) {
	pair, attributes, _ := strings.Cut(header, ";")
	name, value, found := strings.Cut(pair, "=")
	name, value = trim(name), trim(value)
	if !found || name == "" || len(header) > MostLine || strings.ContainsFunc(pair, isControl) {
		return c, false
	}
	a, err := http.ParseSetCookie("a=;" + attributes)
	if err != nil {
		return c, false
	}
	// Parts of the header would keep all of it in memory.
	c = cookie{name: strings.Clone(name), value: strings.Clone(value), path: from.folder(), secure: a.Secure, expires: a.Expires}
	if strings.HasPrefix(a.Path, "/") {
		c.path = strings.Clone(a.Path)
	}
	switch {
	case a.MaxAge < 0:
		c.expires = now
	case a.MaxAge > 0:
		c.expires = now.Add(time.Duration(min(int64(a.MaxAge), int64(longest/time.Second))) * time.Second)
	}
	c.domain, c.below, ok = from.domain(a.Domain)
	return c, ok
}

// over reports whether the cookie has expired.
func (c *cookie) over(now time.Time) bool { return !c.expires.IsZero() && !now.Before(c.expires) }

// replaces reports whether the cookie takes the place of another one.
func (c *cookie) replaces(o cookie) bool {
	return c.name == o.name && c.domain == o.domain && c.path == o.path
}

// bytes returns how much the cookie counts.
func (c *cookie) bytes() int { return len(c.name) + len(c.value) + len(c.domain) + len(c.path) }

// fits reports whether the cookie belongs into a request to a place.
func (c *cookie) fits(to Place) bool {
	host := c.domain == to.host || c.below && below(to.host, c.domain)
	return host && covers(c.path, to.path) && (to.secure || !c.secure)
}

// covers reports whether a path lies at or below another one (RFC 6265, 5.1.4).
func covers(path, of string) bool {
	rest, ok := strings.CutPrefix(of, path)
	return ok && (rest == "" || strings.HasSuffix(path, "/") || rest[0] == '/')
}

// trim removes white space at both ends.
func trim(s string) string { return strings.Trim(s, " \t") }

// isControl reports whether r would end a line, or cannot stand in one.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
