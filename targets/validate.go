package targets

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// errReply refuses Spec.Reply where a reply tells itself where it ends.
var errReply = errors.New("reply: only tcp, udp, ws and streams of gRPC need it; leave it out")

// maxRedirects bounds the redirects that may be asked for: more would be a loop.
const maxRedirects = 20

// Validate checks all that can be checked without network and files. Its error is the first problem found: one line
// that says what to do, without secrets.
func (s Spec) Validate() error {
	check := s.checkRequest
	switch {
	case len(s.Flows) > 0:
		check = s.checkFlows
	case s.Pick != "":
		return errors.New("targets pick: there are no requests to mix; give a file of targets or a workload, or leave it out")
	}
	if err := cmp.Or(check(), s.checkData()); err != nil {
		return err
	}
	return cmp.Or(s.checkShared(), s.CheckCookies(), s.checkAuth()) // the steps are valid
}

// checkRequest checks the spec of one step, but not its data files.
func (s Spec) checkRequest() error {
	k, u, err := s.kind()
	if err != nil {
		return err
	}
	if err := k.check(s, u); err != nil {
		return err
	}
	_, err = newMessage(s, u, endpoint{}, s.parser(nil), nil) // it finds wrong placeholders
	return err
}

// ValidateWith checks as Validate, and that the rows of data files are there and fit where they are used.
func (s Spec) ValidateWith(tables Tables) error {
	if err := cmp.Or(s.Validate(), s.checkTables(tables)); err != nil || len(s.Data) == 0 {
		return err
	}
	for i, one := range s.steps() {
		_, u, err := one.kind()
		if err == nil {
			_, err = newMessage(one, u, endpoint{}, one.parser(tables), nil)
		}
		if err != nil {
			return s.blame(i, err)
		}
	}
	return nil
}

// blame says which step an error is about.
func (s Spec) blame(step int, err error) error {
	if len(s.Flows) == 0 {
		return err
	}
	return fmt.Errorf("step %s: %w", s.Mix().names[step], err)
}

// checkHTTP checks the spec of an http or https target. It runs where a run is created and on each worker. So a mistake
// is found before anything is stored, and a spec from elsewhere is not trusted.
func checkHTTP(s Spec, u *url.URL) error {
	if err := checkHost(u); err != nil {
		return err
	}
	if s.Reply != "" {
		return errReply
	}
	if s.Method != "" && !isToken(s.Method) {
		return errors.New("method: may only hold letters, digits and -._~!#$%&'*+^`|")
	}
	if s.Method == http.MethodConnect {
		return errors.New("method: CONNECT makes a tunnel and not a request; choose another")
	}
	if err := checkHeaders(s.Headers); err != nil {
		return err
	}
	if err := checkRouting(s); err != nil {
		return err
	}
	if err := cmp.Or(checkLimits(s), checkVersion(s), checkThree(s, u)); err != nil {
		return err
	}
	if _, err := newExpectation(s); err != nil {
		return err
	}
	return checkTrust(s)
}

// checkTrust checks which servers are trusted.
func checkTrust(s Spec) error {
	// A user who sets both believes to be protected by the first, and is not.
	if s.CA != "" && s.Insecure {
		return errors.New("ca: contradicts insecure; leave one of them out")
	}
	if s.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CA)) {
		return errors.New("ca: holds no PEM certificate; give one that begins with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// checkHost checks the host and port of a URL. It checks redirects too.
func checkHost(u *url.URL) error {
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

// checkHeaders checks names and values. It quotes only valid names. Headers that pass can be written as they are:
// nothing in them ends a line.
func checkHeaders(headers []Header) error {
	hosts := 0
	for i, h := range headers {
		if !isToken(h.Name) {
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

// checkRouting checks where connections are redirected. A socket takes all connections, so a route beside it would have
// no effect.
func checkRouting(s Spec) error {
	if _, err := parseRoutes(s.ConnectTo); err != nil {
		return err
	}
	if s.UnixSocket != "" && len(s.ConnectTo) > 0 {
		return errors.New("unix socket: contradicts connect-to; leave one of them out")
	}
	return nil
}

// checkLimits checks the numbers.
func checkLimits(s Spec) error {
	switch {
	case s.Timeout < 0:
		return fmt.Errorf("timeout: must not be negative; 0 means %v", DefaultTimeout)
	case s.BodyLimit < 0:
		return fmt.Errorf("body limit: must not be negative; 0 means %d bytes", DefaultBodyLimit)
	case s.Redirects < 0 || s.Redirects > maxRedirects:
		return fmt.Errorf("redirects: must be 0 to %d", maxRedirects)
	}
	return nil
}

// isPort reports whether s is a port number to connect to: 1 to 65535.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// isToken reports whether s is a token in the sense of RFC 9110, of which methods and header names consist.
func isToken(s string) bool {
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
