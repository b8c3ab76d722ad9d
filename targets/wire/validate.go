package wire

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/loadctl/loadctl/targets"
)

// errReply refuses Spec.Reply where a reply itself says where it ends.
var errReply = errors.New("reply: only tcp, udp, ws and streams of gRPC need it; leave it out")

// maxRedirects bounds the redirects that may be asked for: more would be a loop.
const maxRedirects = 20

// Validate checks all that can be checked without network and files. Its error is the first problem found: one line
// that says what to do, without secrets.
func Validate(s targets.Spec) error {
	if err := cmp.Or(s.CheckSettings(), s.CheckWith(checkRequest)); err != nil {
		return err
	}
	return cmp.Or(checkSampled(s), checkShared(s), s.CheckCookies(), s.CheckAuth()) // the steps are valid
}

// CheckStep checks one step of s, for a caller that knows where the step was written. taken are the names that earlier
// steps of its flow take. An error is as that of Validate.
func CheckStep(s targets.Spec, step targets.Step, taken ...string) error {
	return s.CheckStepWith(checkRequest, step, taken...)
}

// checkRequest checks the spec of one step, but not its data files.
func checkRequest(s targets.Spec) error {
	p, u, err := protocolOf(s)
	if err != nil {
		return err
	}
	if err := cmp.Or(p.check(s, u), checkTraced(s), checkStream(s, p.events)); err != nil {
		return err
	}
	_, err = newMessage(s, u, Endpoint{}, s.Parser(nil), nil) // it finds wrong placeholders
	return err
}

// ValidateWith checks as Validate, and that the rows of data files are there and fit where they are used.
func ValidateWith(s targets.Spec, tables targets.Tables) error {
	if err := cmp.Or(Validate(s), s.CheckTables(tables)); err != nil || len(s.Data) == 0 {
		return err
	}
	for i, one := range s.Steps() {
		_, u, err := one.ParseURL()
		if err == nil {
			_, err = newMessage(one, u, Endpoint{}, one.Parser(tables), nil)
		}
		if err != nil {
			return s.Blame(i, err)
		}
	}
	return nil
}

// checkHTTP checks the spec of an http or https target. It runs where a run is created and on each worker. So a mistake
// is found before anything is stored, and a spec from elsewhere is not trusted.
func checkHTTP(s targets.Spec, u *url.URL) error {
	if err := targets.CheckHost(u); err != nil {
		return err
	}
	if s.Reply != "" {
		return errReply
	}
	if s.Method != "" && !targets.IsToken(s.Method) {
		return errors.New("method: may only hold letters, digits and -._~!#$%&'*+^`|")
	}
	if s.Method == http.MethodConnect {
		return errors.New("method: CONNECT makes a tunnel and not a request; choose another")
	}
	if err := targets.CheckHeaders(s.Headers); err != nil {
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
func checkTrust(s targets.Spec) error {
	// A user who sets both believes to be protected by the first, and is not.
	if s.CA != "" && s.Insecure {
		return errors.New("ca: contradicts insecure; leave one of them out")
	}
	if s.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(s.CA)) {
		return errors.New("ca: holds no PEM certificate; give one that begins with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// checkRouting checks where connections are redirected. A socket takes all connections, so a route beside it would have
// no effect.
func checkRouting(s targets.Spec) error {
	if _, err := targets.ParseRoutes(s.ConnectTo); err != nil {
		return err
	}
	if s.UnixSocket != "" && len(s.ConnectTo) > 0 {
		return errors.New("unix socket: contradicts connect-to; leave one of them out")
	}
	return nil
}

// checkLimits checks the numbers.
func checkLimits(s targets.Spec) error {
	switch {
	case s.Timeout < 0:
		return fmt.Errorf("timeout: must not be negative; 0 means %v", targets.DefaultTimeout)
	case s.BodyLimit < 0:
		return fmt.Errorf("body limit: must not be negative; 0 means %d bytes", targets.DefaultBodyLimit)
	case s.Redirects < 0 || s.Redirects > maxRedirects:
		return fmt.Errorf("redirects: must be 0 to %d", maxRedirects)
	}
	return nil
}
