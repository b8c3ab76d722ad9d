package wire

import (
	"errors"
	"fmt"

	"github.com/loadctl/loadctl/targets"
)

// maxStreams bounds Spec.Streams. Servers allow 100 to 250, and more hide how long requests wait for one another.
const maxStreams = 1000

// Names of the versions in TLS (ALPN, RFC 7301).
const (
	ALPNHTTP1 = "http/1.1"
	ALPNHTTP2 = "h2"
)

// ErrNoHTTP2 says that a server was asked for HTTP/2, and has none.
var ErrNoHTTP2 = errors.New("the server does not speak HTTP/2")

// protocols returns what connections with TLS offer: the one version that requests use.
func protocols(s targets.Spec) []string {
	if s.Version() == targets.HTTP2 {
		return []string{ALPNHTTP2}
	}
	return []string{ALPNHTTP1}
}

// checkVersion checks the version of HTTP, and what depends on it.
func checkVersion(s targets.Spec) error {
	switch s.Version() {
	case targets.HTTP1, targets.HTTP2, targets.HTTP3, targets.HTTPAuto:
	default:
		return fmt.Errorf("http: is %.20q; write %s, %s, %s or %s", s.HTTP, targets.HTTP1, targets.HTTP2, targets.HTTP3, targets.HTTPAuto)
	}
	switch {
	case s.Streams < 0 || s.Streams > maxStreams:
		return fmt.Errorf("streams: must be 1 to %d", maxStreams)
	case s.EffectiveStreams() > 1 && s.Version() == targets.HTTP1:
		return errors.New("streams: HTTP/1.1 carries one request at a time; add --http 2 or 3, or leave it out")
	case s.EffectiveStreams() > 1 && s.NoKeepAlive:
		return errors.New("streams: contradicts no-keep-alive; leave one of them out")
	}
	return nil
}

// errUnsettled says that a caller forgot Settle.
var errUnsettled = errors.New("http: auto is not settled")
