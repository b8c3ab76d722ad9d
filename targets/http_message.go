package targets

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// A message is a request ready to be written. It never changes, so all requests in flight share it.
type message struct {
	spec  Spec
	url   *url.URL
	to    endpoint
	wire  []byte // head and body as sent
	head  bool   // the method is HEAD: the answer has no body
	close bool   // the connection is not reused
}

// newMessage builds the request of s for u. Headers keep their order and case, so a server sees what the user wrote.
func newMessage(s Spec, u *url.URL, to endpoint) *message {
	m := &message{spec: s, url: u, to: to, head: s.method() == http.MethodHead, close: s.NoKeepAlive}
	given := func(name string) bool { return len(values(s.Headers, name)) > 0 }
	var b bytes.Buffer
	// A raw query may contain spaces, which would end the request target early.
	target := strings.ReplaceAll(u.RequestURI(), " ", "%20")
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", s.method(), target)
	if !given("Host") {
		fmt.Fprintf(&b, "Host: %s\r\n", hostHeader(u))
	}
	if !given("User-Agent") {
		b.WriteString("User-Agent: loadctl\r\n")
	}
	// A header wins over the URL, because it is more explicit.
	if u.User != nil && !given("Authorization") {
		password, _ := u.User.Password()
		plain := u.User.Username() + ":" + password
		fmt.Fprintf(&b, "Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(plain)))
	}
	for _, h := range s.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	// One buffer, so that small requests leave in one segment, with one call.
	if len(s.Body) > 0 || expectsBody(s.method()) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(s.Body))
	}
	// A server that was asked to close need not say that it will.
	for _, v := range values(s.Headers, "Connection") {
		m.close = m.close || strings.EqualFold(strings.TrimSpace(v), "close")
	}
	if s.NoKeepAlive && !given("Connection") {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	b.Write(s.Body)
	m.wire = b.Bytes()
	return m
}

// expectsBody reports whether a server may insist on a length even if the body is empty (RFC 9110, 8.6).
func expectsBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// hostHeader returns the host for the Host header. It leaves out the zone of an IPv6 address, which names an interface
// of this machine.
func hostHeader(u *url.URL) string {
	before, zone, ok := strings.Cut(u.Host, "%")
	if !ok || !strings.HasPrefix(before, "[") {
		return u.Host
	}
	_, after, _ := strings.Cut(zone, "]")
	return before + "]" + after
}
