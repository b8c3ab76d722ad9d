package record

import "cmp"

// Connections is what is known of the connections of a worker. All counts are ≥ 0. Make it with NewConnections: the
// histograms must not be nil.
type Connections struct {
	Opened         int64 `json:"opened,omitempty"`           // connections that the peer accepted
	Reused         int64 `json:"reused,omitempty"`           // requests over a connection that had carried one before
	ClosedByServer int64 `json:"closed_by_server,omitempty"` // connections that the server closed

	DNS     *Compact `json:"dns,omitzero"`     // lookups of the host's name
	Connect *Compact `json:"connect,omitzero"` // from the first packet until the peer accepted; with HTTP/3 the handshake of QUIC
	TLS     *Compact `json:"tls,omitzero"`     // the handshake of TLS after that
}

// NewConnections returns empty ones.
func NewConnections() Connections {
	return Connections{DNS: NewCompact(), Connect: NewCompact(), TLS: NewCompact()}
}

// IsZero reports whether there is nothing to say of connections.
func (c Connections) IsZero() bool {
	return c.Opened == 0 && c.Reused == 0 && c.ClosedByServer == 0 && c.DNS.IsZero() && c.Connect.IsZero() && c.TLS.IsZero()
}

// Merge adds the counts and buckets of o.
func (c *Connections) Merge(o *Connections) {
	c.Opened += o.Opened
	c.Reused += o.Reused
	c.ClosedByServer += o.ClosedByServer
	c.addTimes(o)
}

// addTimes adds the histograms of o.
func (c *Connections) addTimes(o *Connections) {
	c.DNS.Merge(o.DNS)
	c.Connect.Merge(o.Connect)
	c.TLS.Merge(o.TLS)
}

// dropTimes empties the histograms.
func (c *Connections) dropTimes() { c.DNS, c.Connect, c.TLS = NewCompact(), NewCompact(), NewCompact() }

// normalize makes decoded ones safe to use.
func (c *Connections) normalize() error {
	for _, h := range []**Compact{&c.DNS, &c.Connect, &c.TLS} {
		if *h == nil {
			*h = NewCompact()
		}
	}
	return cmp.Or(checkCount("opened", c.Opened), checkCount("reused", c.Reused), checkCount("closed_by_server", c.ClosedByServer))
}

// recordedConnections are those in a Recorder.
type recordedConnections struct {
	opened, reused, closed int64
	dns, connect, tls      paged
}

func newRecordedConnections() recordedConnections {
	return recordedConnections{dns: pagedCompact(), connect: pagedCompact(), tls: pagedCompact()}
}

// reset forgets all but the memory.
func (r *recordedConnections) reset() {
	r.opened, r.reused, r.closed = 0, 0, 0
	r.dns.reset()
	r.connect.reset()
	r.tls.reset()
}

// record adds what a Recorder holds.
func (c *Connections) record(r *recordedConnections) {
	c.Opened += r.opened
	c.Reused += r.reused
	c.ClosedByServer += r.closed
	r.dns.addTo(c.DNS.Histogram())
	r.connect.addTo(c.Connect.Histogram())
	r.tls.addTo(c.TLS.Histogram())
}

// LookedUp records a lookup of the host's name that took so many ns. One above 1 h is left out, as in the methods below.
func (r *Recorder) LookedUp(ns int64) { r.connections.dns.recordInRange(ns) }

// Connected counts a connection that the peer accepted after so many ns; with HTTP/3 after the whole handshake of QUIC.
func (r *Recorder) Connected(ns int64) {
	r.connections.opened++
	r.connections.connect.recordInRange(ns)
}

// Secured records a handshake of TLS that took so many ns.
func (r *Recorder) Secured(ns int64) { r.connections.tls.recordInRange(ns) }

// ClosedByServer counts a connection that the server closed.
func (r *Recorder) ClosedByServer() { r.connections.closed++ }
