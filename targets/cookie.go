package targets

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/cookies"
	"github.com/loadctl/loadctl/targets/template"
)

// A jar has the cookies of a flow.
type jar struct {
	cookies.Jar
	asked cookies.Place // where the last request went
}

// CheckCookies checks that some request may send a cookie, for a caller that knows where the setting was written.
func (s Spec) CheckCookies() error {
	if !s.Cookies || slices.ContainsFunc(s.Flows, s.remembers) {
		return nil
	}
	return errors.New("cookies: no request follows another one that could set them; add a second step to a flow, set --redirects, or leave cookies out")
}

// remembers reports whether a flow has a request that may send cookies of an answer before it.
func (s Spec) remembers(f Flow) bool { return len(f.Steps) > 1 || s.Redirects > 0 }

// cookies returns those of the flow; none for a nil Session.
func (s *Session) cookies() *jar {
	switch {
	case s == nil:
		return new(jar)
	case s.jar == nil:
		s.jar = new(jar)
	}
	return s.jar
}

// setCookies keeps the cookies of an answer to the last request.
func (s *Session) setCookies(a check.Answer) {
	lines := a.Field("Set-Cookie")
	if len(lines) == 0 || s.jar == nil {
		return
	}
	now := time.Now()
	for _, line := range lines {
		s.jar.Set(line, s.jar.asked, now)
	}
}

// isCookie reports whether a header has cookies.
func isCookie(h Header) bool { return http.CanonicalHeaderKey(h.Name) == "Cookie" }

// placeOf returns where the message goes, as the server sees it: a header Host wins over the URL.
func (m *message) placeOf(u *url.URL) cookies.Place {
	host, path := u.Host, ""
	for i, h := range m.spec.Headers {
		if http.CanonicalHeaderKey(h.Name) == "Host" && !m.values[i].Varies() {
			host = string(m.values[i].Append(nil, m.request))
		}
	}
	if !m.target.Varies() {
		path = string(m.target.Append(nil, m.request))
	}
	return cookies.At(host, path, u.Scheme == "https")
}

// addCookies appends the line of the Cookie header, unless there are no cookies: those of the message itself, and those
// of the session that have other names. There is one line, because a request may not have two (RFC 6265, 5.4).
func (m *message) addCookies(b []byte, r template.Request, session *Session) []byte {
	j := session.cookies()
	if j.asked = m.place; m.target.Varies() {
		j.asked = m.place.WithPath(string(m.target.Append(nil, r)))
	}
	var own []byte
	for i, value := range m.cookies {
		if i > 0 {
			own = append(own, "; "...)
		}
		own = value.Append(own, r)
	}
	const name = "Cookie: "
	before := len(b)
	b = j.Append(append(b, name...), string(own), j.asked, time.Unix(0, r.Time))
	if len(b) == before+len(name) {
		return b[:before]
	}
	return append(b, "\r\n"...)
}
