package wire

import (
	"errors"
	"net/url"

	"github.com/loadctl/loadctl/targets"
)

// ErrNoQUIC says that no server answered. Over UDP silence is all that shows it, whatever the reason.
var ErrNoQUIC = errors.New("nothing there answers in HTTP/3 over UDP")

// checkThree checks what HTTP/3 needs beyond other versions.
func checkThree(s targets.Spec, u *url.URL) error {
	switch {
	case s.Version() != targets.HTTP3:
		return nil
	case u.Scheme != "https":
		return errors.New("http: HTTP/3 needs https; write https:// in the URL, or leave out --http 3")
	case s.UnixSocket != "":
		return errors.New("unix socket: HTTP/3 goes over UDP; leave one of them out")
	}
	return nil
}
