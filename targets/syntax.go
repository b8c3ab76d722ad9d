package targets

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// CheckHost checks the host and port of a URL. It checks redirects too.
func CheckHost(u *url.URL) error {
	host := u.Hostname()
	if u.Opaque != "" || host == "" {
		return errors.New("url: names no host; write http://host[:port]/path")
	}
	// The standard library cannot translate international names, and a half-right translation would connect to another
	// host.
	for _, r := range host {
		if r <= ' ' || r > '~' {
			return errors.New("url: the host is not ASCII; write an international name in its xn-- form")
		}
	}
	if port := u.Port(); port != "" && !isPort(port) {
		return errors.New("url: the port must be 1 to 65535")
	}
	return nil
}

// CheckHeaders checks names and values. It quotes only valid names. Headers that pass can be written as they are:
// nothing in them ends a line.
func CheckHeaders(headers []Header) error {
	hosts := 0
	for i, h := range headers {
		if !IsToken(h.Name) {
			// Not quoted: if the colon is missing, a secret is part of the name.
			return fmt.Errorf("header %d: the name may only hold letters, digits and -._~!#$%%&'*+^`|", i+1)
		}
		if strings.ContainsFunc(h.Value, isControl) {
			return fmt.Errorf("header %s: the value holds a line break or control character; remove it", h.Name)
		}
		switch http.CanonicalHeaderKey(h.Name) {
		// A wrong length makes the server wait, or take the rest of the body for another request. Both would look like
		// the server's failure.
		case "Content-Length", "Transfer-Encoding":
			return fmt.Errorf("header %s: follows from the body; leave it out", h.Name)
		case "Host":
			hosts++
		}
	}
	if hosts > 1 {
		return errors.New("header Host: is given twice; leave one out")
	}
	return nil
}

// isPort reports whether s is a port number to connect to: 1 to 65535.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// IsToken reports whether s is a token in the sense of RFC 9110, of which methods and header names consist.
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isControl reports whether r is not allowed in a header value: it could end the line and begin another.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// listed joins names for people: "a, b or c".
func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
