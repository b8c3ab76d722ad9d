package redact

import (
	"encoding/base64"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// showsSent reports whether the value of a request's header is shown. All others are secrets, because a list of secret
// ones is never complete.
func (r *Redactor) showsSent(name string) bool {
	if r.given(name) {
		return false
	}
	switch strings.ToLower(name) {
	case "content-length", "content-encoding", "transfer-encoding", "te", "upgrade", "traceparent", "sec-websocket-version",
		"grpc-timeout", "grpc-encoding", "grpc-accept-encoding", ":method", ":scheme", ":authority", ":path":
		return true
	}
	return targets.Harmless(name)
}

// showsCame reports the same of an answer. An ETag and an X-Request-Id are shown: the one names content, and the other
// finds the request in the logs of the server. Neither opens anything.
func (r *Redactor) showsCame(name string) bool {
	if r.given(name) {
		return false
	}
	name = strings.ToLower(name)
	switch name {
	case "content-type", "content-length", "content-encoding", "content-language", "content-location", "transfer-encoding", "date", "server",
		"retry-after", "cache-control", "age", "etag", "vary", "allow", "location", "connection", "keep-alive", "expires", "last-modified", "pragma",
		"upgrade", "trailer", "via", "alt-svc", "accept-ranges", "server-timing", "grpc-status", "grpc-message", "grpc-encoding",
		"grpc-accept-encoding", "sec-websocket-accept", "x-request-id", "x-cache", "x-powered-by", "x-frame-options",
		"x-content-type-options", "strict-transport-security", "referrer-policy", "traceparent", ":status":
		return true
	}
	return strings.HasPrefix(name, "ratelimit") || strings.HasPrefix(name, "x-ratelimit-") || strings.HasPrefix(name, "access-control-")
}

// header adds what the value of a header that is not shown has in it.
func (r *Redactor) header(known *secrets, h targets.Header) {
	switch name := strings.ToLower(h.Name); {
	case name == "cookie":
		r.cookies(known, strings.Split(h.Value, ";"))
	case name == "set-cookie":
		r.cookies(known, strings.SplitN(h.Value, ";", 2)[:1])
	case r.secret(name) || telling(h.Value):
		known.credential(h.Value)
	}
	// Such as the signature in an Authorization header, and a token in a URL of a Referer.
	inner := &document{source: []byte(h.Value)}
	inner.find(r, known)
}

// cookies adds the values of cookies.
func (r *Redactor) cookies(known *secrets, pairs []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.Trim(value, ` "`); telling(value) || r.secret(strings.TrimSpace(name)) {
			known.add(value, false)
		}
	}
}

// telling reports whether a value that is hidden without the name of a secret is looked for elsewhere. A short word or number,
// such as "bytes" or 2026, would make other texts unreadable.
func telling(value string) bool {
	if len(value) >= 8 {
		return true
	}
	letter := strings.ContainsFunc(value, func(c rune) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' })
	return letter && strings.ContainsFunc(value, func(c rune) bool { return c < 'A' || c > 'Z' && c < 'a' || c > 'z' })
}

// credential adds the value of a header such as Authorization: what follows the scheme, and the login that it may stand
// for.
func (s *secrets) credential(value string) {
	scheme, rest, found := strings.Cut(value, " ")
	if !found || !isScheme(scheme) {
		s.add(value, false)
		return
	}
	rest = strings.TrimSpace(rest)
	s.add(rest, false)
	if !strings.EqualFold(scheme, targets.AuthBasic) {
		return
	}
	if login, err := base64.StdEncoding.DecodeString(rest); err == nil {
		s.login(string(login))
	}
}

// login adds user and password, and what a header has of them.
func (s *secrets) login(userPassword string) {
	user, password, found := strings.Cut(userPassword, ":")
	if !found {
		return
	}
	s.add(user, false)
	s.add(password, false)
	s.add(base64.StdEncoding.EncodeToString([]byte(userPassword)), false)
}

// isScheme reports whether a word is that of a way to authorize.
func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "bearer", "basic", "digest", "negotiate", "ntlm", "token", "apikey", "dpop", "hoba", "mutual", "aws4-hmac-sha256":
		return true
	}
	return false
}
