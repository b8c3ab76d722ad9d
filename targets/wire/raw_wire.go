package wire

import (
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/reply"
)

// A Reply reads the reply to one request of tcp, udp or redis, as its bytes arrive. It is the check.Answer of a request
// that ended. It is for one goroutine at a time.
type Reply struct {
	reply.Reading
	rules *rawRules
	more  bool // bytes came behind the reply
}

// Reply returns a Reply to the request that is sent next: old, if it fits, without what it read. old may be nil.
func (w *Wire) Reply(old *Reply) *Reply {
	if old == nil || old.rules != w.raw {
		old = &Reply{Reading: w.raw.newReply(), rules: w.raw}
	}
	old.Begin()
	old.more = false
	return old
}

// Feed takes bytes: all of a datagram, or what was read of a stream. It reports how many of them belong to the reply,
// and whether it is complete. All bytes of a datagram do.
func (r *Reply) Feed(b []byte) (used int, done bool, err error) {
	used, done, err = r.Reading.Feed(b)
	if r.rules.datagrams() {
		return len(b), done, err
	}
	r.more = used < len(b)
	return used, done, err
}

// EOF says what it means that the server closed the connection before the reply was complete.
func (r *Reply) EOF() error { return io.ErrUnexpectedEOF }

// KeepAlive reports whether the connection can carry another request: nothing came behind the reply.
func (r *Reply) KeepAlive() bool { return !r.more }

// Release leaves no large buffer behind.
func (r *Reply) Release() { r.Begin() }

// Raw reports whether the Wire's requests are bytes of tcp, udp or redis. Then Reply reads what is replied. Request is
// nil if each request has other bytes; if Request is empty, a request of tcp is its connection, and one of udp an empty datagram.
func (w *Wire) Raw() bool { return w.raw != nil }

// Datagrams reports whether each write is a request, and each read a datagram.
func (w *Wire) Datagrams() bool { return w.raw != nil && w.raw.datagrams() }

// useRaw makes the Wire one of tcp or udp.
func (w *Wire) useRaw(s targets.Spec, _ *url.URL, local targets.Local) error {
	rules, err := newRawRules(s, local.Tables)
	w.obey(rules)
	return err
}

// useRedis makes the Wire one of redis or rediss.
func (w *Wire) useRedis(s targets.Spec, _ *url.URL, local targets.Local) error {
	rules, err := newRedisRules(s, local.Tables)
	w.obey(rules)
	return err
}

// obey makes requests those of the rules.
func (w *Wire) obey(rules rawRules) {
	w.raw, w.Network, w.Address, w.Request, w.Close = &rules, rules.to.Network, rules.to.Address, rules.fixed, rules.once
	w.Name = rules.to.Name
}

// datagrams reports whether requests are datagrams.
func (r *rawRules) datagrams() bool { return r.to.Network == "udp" }

// outcome is Wire.Outcome.
func (r *rawRules) outcome(a check.Answer, took time.Duration, err error, rest string, session *targets.Session) (out targets.Outcome) {
	came, answered := a.(*Reply)
	switch {
	case errors.Is(err, reply.ErrTooLong):
		out.Class = targets.ClassBodyLimit
	case err != nil:
		out.Class = classes.Of(err, rest)
	case !r.answers:
		out.Class = r.expect.failed(noReply{}, took, session)
	case answered && came.Refusal() != "":
		out.Class = came.Refusal()
	default:
		out.Class = r.expect.failed(a, took, session)
	}
	return out
}

// Follows reports whether the payload may have what earlier steps of its flow took.
func (w *Wire) Follows() bool { return w.raw != nil && w.raw.later }
