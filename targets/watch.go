package targets

// A Watcher chooses requests whose exchanges it wants. The engine's goroutine calls it, so it must be fast.
type Watcher interface {
	// Worth reports whether the exchange of a request that has ended is wanted. r is complete but for Exchange.
	Worth(r *Result) bool
	// Holds returns from which time on an answer that begins is wanted, ns of the clock of r; 0 if r is wanted in any case. r
	// has begun, and has only what is known then. It is for protocols whose answers are kept from their head on or not at all.
	Holds(r *Result) int64
}

// Phases hears how long parts of opening connections took. The engine's goroutine calls it.
type Phases interface {
	// Phase notes a phase of a connection, which took so many ns.
	Phase(p Phase, took int64)
}

// A Follower is a Watcher that hears of redirects too. Each is an exchange of its own, which costs: it is for few requests.
type Follower interface {
	Watcher
	// Followed notes an answer that was a redirect, with its Exchange. The request goes on: r has no Outcome yet.
	Followed(r Result)
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
