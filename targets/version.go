package targets

import "cmp"

// The versions of HTTP that Spec.HTTP can name.
const (
	HTTP1    = "1.1"
	HTTP2    = "2"
	HTTP3    = "3"    // over QUIC; https only
	HTTPAuto = "auto" // what the server chooses of both, by ALPN (RFC 7301); 1.1 without TLS
)

// Version is the version of HTTP that is in effect.
func (s Spec) Version() string {
	if IsGRPC(s.URL) {
		return HTTP2
	}
	return cmp.Or(s.HTTP, HTTP1)
}

// EffectiveStreams is how many requests a connection carries at a time, if the version allows it.
func (s Spec) EffectiveStreams() int { return cmp.Or(s.Streams, 1) }
