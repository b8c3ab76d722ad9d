package targets

// The classes of failed requests. The set is fixed, so that reports of different workers and versions can be merged;
// ClassOther takes the rest. If several classes fit, the first in this list is used.
const (
	ClassCanceled    = "canceled"    // the run ended, or the target was closed
	ClassTimeout     = "timeout"     // did not end in time, in any phase
	ClassDNS         = "dns"         // the host name does not resolve
	ClassDescriptors = "descriptors" // this process or machine has no file descriptor left (EMFILE): see ulimit -n
	ClassPorts       = "ports"       // this machine has no free local port for the address (EADDRNOTAVAIL)
	ClassConnect     = "connect"     // no connection: refused or unreachable
	ClassReset       = "reset"       // the connection was cut while in use (RST), or a stream of HTTP/2 or HTTP/3; its code may follow, after a space, or GOAWAY
	ClassTLS         = "tls"         // a certificate was rejected by either side, or there is no common version
	ClassBodyLimit   = "body-limit"  // the body of the answer is longer than the spec allows
	ClassHeadLimit   = "head-limit"  // status line, headers and trailers of the answer together exceed 64 KiB
	ClassEOF         = "eof"         // the server closed the connection before the answer was complete
	ClassProtocol    = "protocol"    // the answer does not follow the protocol
	ClassRedirect    = "redirect"    // more redirects than allowed, or to a host that is not allowed
	ClassStatus      = "status"      // a complete answer with an unexpected status
	ClassReply       = "reply"       // a complete answer that is an error of the protocol; its code may follow, after a space
	ClassClosed      = "closed"      // a closing frame, or the end of an open stream, came in place of the answer; its code may follow, after a space
	ClassTruncated   = "truncated"   // an answer in pieces ended before its last event
	ClassStalled     = "stalled"     // no event of an answer in pieces came in time, after others had come
	ClassNoEvent     = "no-event"    // an answer in pieces ended without an event
	ClassEventLimit  = "event-limit" // an event is longer than the limit
	ClassEncoded     = "encoded"     // an answer in pieces is compressed, though nobody asked for it
	ClassErrorEvent  = "error-event" // an event says that the answer failed
	ClassRequest     = "request"     // the request cannot be made, so it was not sent: its JSON does not fit the message
	ClassPanic       = "panic"       // the code of a scheme that is not ours panicked
	ClassFlow        = "flow"        // the answer was as expected, and then its flow failed: a condition that cannot be computed, a bound, or fail; the reason follows, after a space
	ClassOther       = "other"       // none of these
)

// Classes returns all classes of every target, in the order of the constants. Checks and takes have classes of their own.
func Classes() []string {
	return []string{
		ClassCanceled, ClassTimeout, ClassDNS, ClassDescriptors, ClassPorts, ClassConnect, ClassReset,
		ClassTLS, ClassBodyLimit, ClassHeadLimit, ClassEOF, ClassProtocol, ClassRedirect, ClassStatus, ClassReply, ClassClosed, ClassTruncated, ClassStalled,
		ClassNoEvent, ClassEventLimit, ClassEncoded, ClassErrorEvent, ClassRequest, ClassPanic, ClassFlow,
		ClassOther,
	}
}
