package report

import "github.com/loadctl/loadctl/report/record"

// Connections is what a Report says of connections. All is 0 if the target has none.
type Connections struct {
	Opened         int64 `json:"opened"`
	Reused         int64 `json:"reused"`               // requests over a connection that had carried one before
	ClosedByServer int64 `json:"closed_by_server"`     // connections
	Lookups        int64 `json:"lookups,omitempty"`    // of the host's name, which a worker makes in the background
	Handshakes     int64 `json:"handshakes,omitempty"` // of TLS

	DNS     record.Distribution `json:"dns_ns,omitzero"`     // of lookups
	Connect record.Distribution `json:"connect_ns,omitzero"` // from the first packet until the peer accepted; with HTTP/3 the handshake of QUIC
	TLS     record.Distribution `json:"tls_ns,omitzero"`     // of handshakes
}

// Any reports whether there were connections.
func (c Connections) Any() bool { return c != Connections{} }

// add adds the counts of another report.
func (c *Connections) add(o Connections) {
	c.addCounts(&record.Connections{Opened: o.Opened, Reused: o.Reused, ClosedByServer: o.ClosedByServer})
}

// addCounts adds counts of workers.
func (c *Connections) addCounts(o *record.Connections) {
	c.Opened += o.Opened
	c.Reused += o.Reused
	c.ClosedByServer += o.ClosedByServer
}

// Phases are the merged histograms of parts of requests, and of connections. Make it with NewPhases: none must be nil.
type Phases struct {
	FirstByte, DNS, Connect, TLS *record.Compact
	Steps                        map[string]*record.Compact // first bytes by step; nil without steps
}

// NewPhases returns empty ones.
func NewPhases() Phases {
	return Phases{FirstByte: record.NewCompact(), DNS: record.NewCompact(), Connect: record.NewCompact(), TLS: record.NewCompact()}
}

// phasesOf returns those of a sum of workers. Steps are set apart.
func phasesOf(s *record.Snapshot) Phases {
	return Phases{FirstByte: s.FirstByte, DNS: s.Connections.DNS, Connect: s.Connections.Connect, TLS: s.Connections.TLS}
}

// add adds the buckets of o, but for steps.
func (p *Phases) add(o *Phases) {
	p.FirstByte.Merge(o.FirstByte)
	p.DNS.Merge(o.DNS)
	p.Connect.Merge(o.Connect)
	p.TLS.Merge(o.TLS)
}

func (p *Phases) setStep(name string, firstByte *record.Compact) {
	if p.Steps == nil {
		p.Steps = map[string]*record.Compact{}
	}
	p.Steps[name] = firstByte
}

// sumUpPhases computes the figures of a report that follow from its histograms of phases.
func (r *Report) sumUpPhases() {
	p, c := &r.Histograms.Phases, &r.Connections
	r.FirstByte, r.FirstBytes = p.FirstByte.Histogram().Distribution(1), p.FirstByte.Count()
	c.DNS, c.Lookups = p.DNS.Histogram().Distribution(1), p.DNS.Count()
	c.Connect = p.Connect.Histogram().Distribution(1)
	c.TLS, c.Handshakes = p.TLS.Histogram().Distribution(1), p.TLS.Count()
}
