package targets

import "github.com/loadctl/loadctl/targets/check"

// An Exchange is what a request sent and what came back, as far as it is known. It holds secrets: print it redacted.
type Exchange struct {
	Sent, Came Message
	Scheme     string    // http or https, after redirects; "" for other protocols
	Error      string    // why there is no whole answer; "" if there is one
	Remote     string    // address of the server, also of one that refused; "" = unknown
	Opened     int64     // when the connection was opened, ns of the clock of Result; 0 = it was not
	Connect    int64     // how long connecting took, ns; 0 = unknown, or it was not opened
	Handshake  int64     // the same of TLS
	TLS        *TLS      // nil = it had none, or its handshake did not end
	Checks     []Verdict // what each check and take said, in their order; nil without a whole answer
}

// A Message is a request or an answer, decoded.
type Message struct {
	Start   string   // the request line or the status line; "" if the protocol has none
	Headers []Header // in their order; nil if the protocol has none
	Body    []byte   // the beginning of the body
	Length  int64    // bytes of the whole body, as far as it is known
	Binary  bool     // the body is no text
}

// Cut reports whether the body is longer than what is known of it. It is true of a message as it was read: one that was
// redacted may have a body of any length.
func (m *Message) Cut() bool { return int64(len(m.Body)) < m.Length }

// A Verdict is what a check or a take said about an answer.
type Verdict = check.Verdict
