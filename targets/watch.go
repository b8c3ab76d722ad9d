package targets

// A Watcher hears from an engine what happens beside results. The engine's goroutine calls it, so it must be fast.
type Watcher interface {
	// Worth reports whether the exchange of a request that has ended is wanted. r is complete but for Exchange.
	Worth(r *Result) bool
	// Phase notes a phase of a connection, which took so many ns.
	Phase(p Phase, took int64)
}

// A Phase is a part of opening a connection, or its end.
type Phase uint8

// The phases.
const (
	PhaseDNS     Phase = iota // a lookup of the host's name
	PhaseConnect              // from the first packet until the peer accepted; with HTTP/3 the whole handshake of QUIC
	PhaseTLS                  // the handshake of TLS after that
	PhaseClosed               // the server closed the connection; it took no time
)
