package targets

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/loadctl/loadctl/targets/http1"
)

// A Wire is a plain HTTP target as bytes, for an engine that owns its sockets: what to connect to, what to write, and
// what is made of the answer. It follows the same rules as the Target that New returns for the same Spec, and comes to
// the same outcomes. It is never changed, so any number of connections share one.
type Wire struct {
	Address   string        // host:port to connect to, after ConnectTo; the port is a number
	Request   []byte        // head and body, to be written as they are
	Head      bool          // the method is HEAD: no answer has a body
	Close     bool          // a connection carries one request
	Timeout   time.Duration // of a request with all that belongs to it; never 0
	BodyLimit int64         // longest body of an answer, in bytes; never 0
	IdleLimit time.Duration // how long a connection may have been idle and be used again
	LookAfter time.Duration // from then on one is looked at before: the end of it may have come
	Opening   int           // how many connections may be opened at the same time, where they are kept; never 0
	Local     []net.IP      // addresses to connect from, in turn; none means the system chooses
	Halted    func() bool   // Local.Halted, never nil: asked before the first byte of a request is written

	expect statuses
}

// NewWire returns the Wire of spec; ok is false where bytes over TCP are not all there is to it (TLS, a unix socket,
// redirects to follow, another scheme), and New is the way. It fails where New would, and opens no connection.
func NewWire(spec Spec, local Local) (w *Wire, ok bool, err error) {
	if err := spec.Validate(); err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	if err := local.validate(); err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	_, u, err := spec.kind()
	if err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	if u.Scheme != "http" || spec.UnixSocket != "" || spec.Redirects > 0 {
		return nil, false, nil
	}
	routes, err := parseRoutes(spec.ConnectTo)
	if err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	expect, err := parseStatuses(spec.Expect)
	if err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	// Nobody asks for it, but who gave one that cannot be read believes to be known by it.
	if _, err := local.certificates(); err != nil {
		return nil, false, fmt.Errorf("new wire: %w", err)
	}
	m := newMessage(spec, u, endpoint{})
	w = &Wire{
		Address: routes.apply(u.Hostname(), port(u)), Request: m.wire, Head: spec.method() == "HEAD", Close: m.close,
		Timeout: spec.timeout(), BodyLimit: spec.bodyLimit(), IdleLimit: idleLimit, LookAfter: lookAfter, Opening: dialsAtOnce,
		Halted: local.Halted, expect: expect,
	}
	for _, a := range local.Addresses {
		w.Local = append(w.Local, net.ParseIP(a))
	}
	if w.Halted == nil {
		w.Halted = func() bool { return false }
	}
	return w, true, nil
}

// Outcome is what a request came to that got so far as status, 0 for no answer, and ended with err; rest is the class
// of an err that does not tell, for the caller knows the phase. The bytes are the caller's to fill in.
//
// Errors of connecting MUST be a *net.OpError with Op "dial", as those of package net are; those of the system a
// syscall.Errno; an expired deadline os.ErrDeadlineExceeded; a request that was not written because of Halted
// context.Canceled.
func (w *Wire) Outcome(status int, err error, rest string) Outcome {
	if err == nil {
		if !w.expect.contain(status) {
			return Outcome{Status: status, Class: ClassStatus}
		}
		return Outcome{Status: status}
	}
	if errors.Is(err, http1.ErrBody) {
		err = errBodyLimit
	}
	return Outcome{Status: status, Class: classify(err, rest)}
}
