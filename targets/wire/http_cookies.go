package wire

import (
	"net/http"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/cookies"
	"github.com/loadctl/loadctl/targets/template"
)

// isCookie reports whether a header has cookies.
func isCookie(h targets.Header) bool { return http.CanonicalHeaderKey(h.Name) == "Cookie" }

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
func (m *message) addCookies(b []byte, r template.Request, session *targets.Session) []byte {
	j := session.Cookies()
	if j.Asked = m.place; m.target.Varies() {
		j.Asked = m.place.WithPath(string(m.target.Append(nil, r)))
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
	b = j.Append(append(b, name...), string(own), j.Asked, time.Unix(0, r.Time))
	if len(b) == before+len(name) {
		return b[:before]
	}
	return append(b, "\r\n"...)
}
