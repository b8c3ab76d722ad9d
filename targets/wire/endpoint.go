package wire

import (
	"errors"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// An Endpoint says where and how to connect. Connections to equal endpoints are interchangeable.
type Endpoint struct {
	Network, Address string // "tcp" or "udp" and host:port, or "unix" and a path
	Name             string // of the server in TLS; "" without TLS
	Use              string // "" for HTTP/1.1 and HTTP/2; other uses have connections of their own
	Streams          int    // requests that a connection carries at a time, with HTTP/2 and HTTP/3; 0 = HTTP/1.1
	Login            string // commands that log in, in the form in which they are sent, or the head of a handshake; "" = none
}

// Uses of connections other than HTTP/1.1 and HTTP/2.
const (
	UseThree = "h3"
	UseRaw   = "raw"
	UseRedis = "redis"
	UseWS    = "ws"
)

// How connections are kept.
const (
	idleLimit   = 90 * time.Second      // firewalls forget connections that are idle for longer
	lookAfter   = 10 * time.Millisecond // one that was idle for longer is looked at: the server may have closed it
	dialsAtOnce = 128                   // a server that pauses for a moment has room for a few hundred that it has not accepted; further ones try again a second later
)

// ReadBuffer is how much is read of a connection at once, in bytes.
const ReadBuffer = 4 << 10

// ErrNoLocal says that all addresses of a host are of another kind (IPv4 or IPv6) than those of Local.
var ErrNoLocal = errors.New("no address of the host fits the local addresses")

// EndpointOf returns where connections for u go.
func EndpointOf(s targets.Spec, u *url.URL, by targets.Routes) Endpoint {
	var to Endpoint
	to.Network, to.Address = destination(s, u, by)
	if u.Scheme == "https" || u.Scheme == "grpcs" {
		to.Name = u.Hostname()
	}
	switch s.Version() {
	case targets.HTTP2:
		to.Streams = s.EffectiveStreams()
	case targets.HTTP3:
		to.Network, to.Use, to.Streams = "udp", UseThree, s.EffectiveStreams()
	}
	return to
}

// destination returns the network and the address of connections for u.
func destination(s targets.Spec, u *url.URL, by targets.Routes) (network, address string) {
	if s.UnixSocket != "" {
		return "unix", s.UnixSocket
	}
	return "tcp", by.Apply(u.Hostname(), targets.Port(u))
}

// Endpoint returns where connections go.
func (w *Wire) Endpoint() Endpoint {
	switch {
	case w.messages != nil:
		return Endpoint{Network: w.Network, Address: w.Address, Name: w.Name, Use: UseWS, Login: w.messages.head}
	case w.raw != nil:
		return w.raw.to
	case w.message != nil:
		return w.message.to
	case w.own != nil:
		return w.own.to
	}
	return Endpoint{}
}
