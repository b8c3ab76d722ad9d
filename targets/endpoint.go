package targets

import (
	"cmp"
	"net/url"
	"time"
)

// An endpoint says where and how to connect. Connections to equal endpoints are interchangeable.
type endpoint struct {
	network, address string // "tcp" or "udp" and host:port, or "unix" and a path
	name             string // of the server in TLS; "" without TLS
	use              string // "" for HTTP/1.1 and HTTP/2; other uses have connections of their own
	streams          int    // requests that a connection carries at a time, with HTTP/2 and HTTP/3; 0 = HTTP/1.1
	login            string // commands that log in, in the form in which they are sent, or the head of a handshake; "" = none
}

// Uses of connections other than HTTP/1.1 and HTTP/2.
const (
	useThree = "h3"
	useRaw   = "raw"
	useRedis = "redis"
	useWS    = "ws"
)

// How connections are kept.
const (
	idleLimit   = 90 * time.Second      // firewalls forget connections that are idle for longer
	lookAfter   = 10 * time.Millisecond // one that was idle for longer is looked at: the server may have closed it
	dialsAtOnce = 128                   // a server that pauses for a moment has room for a few hundred that it has not accepted; further ones try again a second later
)

// Sizes of buffers, in bytes.
const (
	readBuffer = 4 << 10
	longBuffer = 32 << 10 // more is not kept from one reply to the next
)

// endpoint returns where connections for u go.
func (s Spec) endpoint(u *url.URL, by routes) endpoint {
	var to endpoint
	to.network, to.address = s.destination(u, by)
	if u.Scheme == "https" || u.Scheme == "grpcs" {
		to.name = u.Hostname()
	}
	switch s.version() {
	case HTTP2:
		to.streams = s.streams()
	case HTTP3:
		to.network, to.use, to.streams = "udp", useThree, s.streams()
	}
	return to
}

// destination returns the network and the address of connections for u.
func (s Spec) destination(u *url.URL, by routes) (network, address string) {
	if s.UnixSocket != "" {
		return "unix", s.UnixSocket
	}
	return "tcp", by.apply(u.Hostname(), port(u))
}

// port returns the port of u, or the default port of its scheme.
func port(u *url.URL) string {
	k, _ := lookup(u.Scheme)
	return cmp.Or(u.Port(), k.port)
}
