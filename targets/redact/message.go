package redact

import (
	"bytes"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// inURL stands for a secret in a URL, where brackets would be escaped.
var inURL = strings.Trim(targets.Redacted, "[]") //nolint:gochecknoglobals // it never changes

// A page has all texts of an exchange.
type page struct{ documents []*document }

// add adds a text whose secrets by name are found now. finish finds the others, when all are known.
func (p *page) add(r *Redactor, known *secrets, d *document) {
	if len(d.source) == 0 {
		return
	}
	d.find(r, known)
	p.documents = append(p.documents, d)
}

// text adds a text that stands at a place.
func (p *page) text(r *Redactor, known *secrets, at *string) {
	p.add(r, known, &document{source: []byte(*at), word: targets.Redacted, store: func(b []byte) { *at = string(b) }})
}

// message adds the texts of a message, and replaces headers whose values are not shown. It reports whether the message is
// a command of Redis about a secret.
func (r *Redactor) message(p *page, known *secrets, m *targets.Message, shows func(name string) bool) (secretKey bool) {
	p.add(r, known, &document{source: []byte(m.Start), word: inURL, store: func(b []byte) { m.Start = string(b) }})
	for i := range m.Headers {
		h := &m.Headers[i]
		if !shows(h.Name) {
			r.header(known, *h)
			p.documents = append(p.documents, &document{source: []byte(h.Value), whole: h.Value != "", store: func([]byte) { h.Value = targets.Redacted }})
			continue
		}
		d := &document{source: []byte(h.Value), word: targets.Redacted, store: func(b []byte) { h.Value = string(b) }}
		if name := strings.ToLower(h.Name); name == "location" || name == "content-location" || name == ":path" {
			d.word = inURL
		}
		p.add(r, known, d)
	}
	body := &document{source: m.Body, word: targets.Redacted, body: true, store: func(b []byte) { m.Body = b }}
	body.whole = m.Binary && len(m.Body) > 0 && compressed(m)
	body.form = formLike(m)
	if r.redis && m.Start == "" && len(m.Headers) == 0 {
		secretKey = body.commands(r, known)
	}
	p.add(r, known, body)
	return secretKey
}

// hide replaces a body as a whole.
func hide(body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	return []byte(targets.Redacted)
}

// compressed reports whether secrets in the body could be read by who decompresses it, and not by this package.
func compressed(m *targets.Message) bool {
	for _, value := range targets.HeaderValues(m.Headers, "Content-Encoding") {
		if value = strings.TrimSpace(value); value != "" && !strings.EqualFold(value, "identity") {
			return true
		}
	}
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "PK\x03\x04", "BZh", "\xfd7zXZ\x00"} {
		if bytes.HasPrefix(m.Body, []byte(magic)) {
			return true
		}
	}
	return false
}

// formLike reports whether a body is a form in the encoding of URLs: then only & ends a value.
func formLike(m *targets.Message) bool {
	for _, value := range targets.HeaderValues(m.Headers, "Content-Type") {
		return strings.HasPrefix(strings.ToLower(value), "application/x-www-form-urlencoded")
	}
	return !m.Binary && bytes.IndexByte(m.Body, '=') > 0 && !bytes.ContainsAny(m.Body, " \r\n\t\"{}<>")
}
