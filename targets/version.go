package targets

import (
	"cmp"
	"errors"
	"fmt"
)

// The versions of HTTP that Spec.HTTP can name.
const (
	HTTP1    = "1.1"
	HTTP2    = "2"
	HTTP3    = "3"    // over QUIC; https only
	HTTPAuto = "auto" // what the server chooses of both, by ALPN (RFC 7301); 1.1 without TLS
)

// maxStreams bounds Spec.Streams. Servers allow 100 to 250, and more hide how long requests wait for one another.
const maxStreams = 1000

// version and streams are the values in effect.
func (s Spec) version() string { return cmp.Or(s.HTTP, HTTP1) }
func (s Spec) streams() int    { return cmp.Or(s.Streams, 1) }

// checkVersion checks the version of HTTP, and what depends on it.
func checkVersion(s Spec) error {
	switch s.version() {
	case HTTP1, HTTP2, HTTP3, HTTPAuto:
	default:
		return fmt.Errorf("http: is %.20q; write %s, %s, %s or %s", s.HTTP, HTTP1, HTTP2, HTTP3, HTTPAuto)
	}
	switch {
	case s.Streams < 0 || s.Streams > maxStreams:
		return fmt.Errorf("streams: must be 1 to %d", maxStreams)
	case s.streams() > 1 && s.version() == HTTP1:
		return errors.New("streams: HTTP/1.1 carries one request at a time; add --http 2, or leave it out")
	case s.streams() > 1 && s.NoKeepAlive:
		return errors.New("streams: contradicts no-keep-alive; leave one of them out")
	}
	return nil
}
