// Package cookies keeps the cookies of one user, as a browser does (RFC 6265).
//
//	var jar cookies.Jar
//	shop := cookies.At("shop.test", "/login", true)
//	jar.Set("sid=7; Path=/; Secure", shop, time.Now())
//	line := jar.Append([]byte("Cookie: "), "", shop, time.Now()) // Cookie: sid=7
//
// Guarantees: a jar holds at most Most cookies and MostBytes, whatever a server sends. What does not fit is dropped,
// and the cookies that are there stay. Nothing that it appends ends a line of a head.
//
// Not here: public suffixes. A server of shop.co.uk may set a cookie for all of co.uk. SameSite and HttpOnly mean
// nothing without pages and scripts.
package cookies

import (
	"slices"
	"strings"
	"time"
)

// The bounds of a jar.
const (
	Most      = 50       // cookies
	MostLine  = 4 << 10  // bytes of a Set-Cookie header
	MostBytes = 16 << 10 // bytes of all cookies: names, values, domains and paths
)

// A Jar has the cookies of one user. The zero value is empty. It is for one goroutine at a time.
type Jar struct {
	all []cookie // those of longer paths first, and else older ones (RFC 6265, 5.4)
}

// Set keeps, replaces or deletes the cookie of a Set-Cookie header in an answer that came from a place at now. It
// ignores a header that is wrong, that the place may not send, or that does not fit.
func (j *Jar) Set(header string, from Place, now time.Time) {
	c, ok := parse(header, from, now)
	if !ok {
		return
	}
	j.all = slices.DeleteFunc(j.all, func(o cookie) bool { return o.over(now) })
	i := slices.IndexFunc(j.all, c.replaces)
	room := MostBytes - c.bytes()
	for _, o := range j.all {
		room -= o.bytes()
	}
	switch {
	case c.over(now) && i >= 0:
		j.all = slices.Delete(j.all, i, i+1)
	case c.over(now):
	case i >= 0 && room+j.all[i].bytes() >= 0:
		j.all[i] = c
	case i < 0 && room >= 0 && len(j.all) < Most:
		at := slices.IndexFunc(j.all, func(o cookie) bool { return len(o.path) < len(c.path) })
		if at < 0 {
			at = len(j.all)
		}
		j.all = slices.Insert(j.all, at, c)
	}
}

// Append appends the value of the Cookie header of a request to a place at now: own, which are cookies that the request
// has itself, and those of the jar that have other names. It appends nothing if there are none.
func (j *Jar) Append(b []byte, own string, to Place, now time.Time) []byte {
	separator := ""
	if own != "" {
		b, separator = append(b, own...), "; "
	}
	for i := range j.all {
		if c := &j.all[i]; c.fits(to) && !c.over(now) && !has(own, c.name) {
			b = append(append(append(append(b, separator...), c.name...), '='), c.value...)
			separator = "; "
		}
	}
	return b
}

// has reports whether a Cookie header has a cookie of this name.
func has(header, name string) bool {
	for pair := range strings.SplitSeq(header, ";") {
		if n, _, _ := strings.Cut(pair, "="); trim(n) == name {
			return true
		}
	}
	return false
}
