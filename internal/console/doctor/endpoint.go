package doctor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/engine/auth"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
)

// endpointTime bounds the connections to all servers, which are opened at the same time.
const endpointTime = 5 * time.Second

// An Aim is where the requests of a run go.
type Aim struct {
	Spec  targets.Spec
	Local targets.Local // of this machine: its certificate, and the rows of data files
	Redis Holders       // of runs, which must not be the target; may be empty
}

// Endpoint opens one connection to each server that the requests of a run go to, as the run would, and tells what it
// shows. The last finding says what was sent.
func Endpoint(ctx context.Context, a Aim) []Finding {
	source, err := auth.Open(ctx, a.Spec.Auth, auth.Options{CA: a.Spec.CA}, slog.New(slog.DiscardHandler))
	if err != nil {
		f := advised(err, "check --auth")
		return []Finding{bad(f.Found, f.Mend+"; the endpoint was not checked").of("authorization")}
	}
	defer source.Close()
	a.Local.Credential = source.Credential()
	limit, cancel := context.WithTimeout(ctx, endpointTime)
	defer cancel()
	contacts, err := probe.Contacts(limit, a.Spec, a.Local)
	switch {
	case err != nil:
		return []Finding{advised(err, "check the URL").of("endpoint")}
	case len(contacts) == 0:
		return []Finding{ok("there is none: the target opens no connections").of("endpoint")}
	}
	var findings []Finding
	failed := false
	for _, c := range contacts {
		failed = failed || c.Err != nil
		for _, f := range a.shown(c) {
			if len(contacts) > 1 && f.Check != "endpoint" {
				f.Found = c.Host + ": " + f.Found
			}
			findings = append(findings, f.of(f.Check))
		}
	}
	asked := !failed && len(a.Spec.Methods()) > 0
	if asked {
		findings = append(findings, a.methods(ctx)...)
	}
	return append(findings, sent(contacts, asked).of("sent"))
}

// advised returns a bad finding of an error that says what to do behind a semicolon; otherwise is for those that do not.
func advised(err error, otherwise string) Finding {
	text := err.Error()
	if i := strings.LastIndex(text, "; "); i > 0 {
		return bad(text[:i], text[i+2:])
	}
	return bad(text, otherwise)
}

// named returns a finding of a check; of makes its texts safe later.
func (f Finding) named(check string) Finding {
	f.Check = check
	return f
}

// closes is EOF in words.
const closes = "the server closes the connection"

// shown returns what a connection shows.
func (a Aim) shown(c probe.Contact) []Finding {
	if c.Err != nil {
		return []Finding{unusable(c).named("endpoint")}
	}
	at := cmp.Or(c.Address, c.Host)
	if c.Mute {
		return []Finding{warn(at+": this scheme does not say whether its server can be reached", "send one request with the command try").named("endpoint")}
	}
	findings := []Finding{ok(at + ", connected in " + short(c.Took)).named("endpoint")}
	switch udp := strings.HasPrefix(c.URL, "udp:"); {
	case udp && c.Sent:
		findings[0] = ok(at + ", over UDP").named("endpoint")
	case udp:
		findings[0] = warn(at+": over UDP only a reply tells that a server is there", "give what to send and expect, such as -d ping --reply any").named("endpoint")
	}
	if c.TLS != nil {
		findings = append(findings, tlsOf(c.TLS, a.Spec.Insecure, time.Now()).named("endpoint tls"))
	}
	if c.HTTP != "" {
		findings = append(findings, protocol(c).named("protocol"))
	}
	if c.HTTP == targets.HTTP2 || c.HTTP == targets.HTTP3 {
		findings = append(findings, streams(c.Streams, int64(max(1, a.Spec.Streams)))...)
	}
	if c.Upgraded {
		findings = append(findings, upgraded(c).named("websocket"))
	}
	if c.Redis != nil {
		findings = append(findings, a.apart(*c.Redis).named("endpoint redis"))
	}
	if c.Sent {
		findings = append(findings, reply(c).named("reply"))
	}
	return findings
}

// unusable tells why requests cannot be sent to a server.
func unusable(c probe.Contact) Finding {
	mend := remedyEndpoint(c)
	switch c.Class {
	case targets.ClassTLS, targets.ClassOther:
		f := advised(c.Err, mend)
		f.Found, _, _ = strings.Cut(f.Found, " (possibly because") // package x509 guesses at length
		return f
	case targets.ClassEOF:
		text := strings.TrimSuffix(strings.TrimSuffix(c.Err.Error(), "EOF"), "unexpected ")
		return bad(text+closes, mend)
	}
	return bad(c.Err.Error(), mend)
}

// protocol tells what requests speak on a connection.
func protocol(c probe.Contact) Finding {
	switch {
	case c.HTTP == targets.HTTP3:
		return ok("HTTP/3 (QUIC, h3)")
	case c.HTTP == targets.HTTP2 && c.TLS != nil:
		return ok("HTTP/2, agreed by ALPN (h2)")
	case c.HTTP == targets.HTTP2:
		return ok("HTTP/2 with prior knowledge (h2c): the server has sent its SETTINGS")
	case c.TLS == nil:
		return ok("HTTP/1.1; only a request tells whether the server speaks it")
	case c.TLS.NegotiatedProtocol == "":
		return ok("HTTP/1.1; the server names no protocol (no ALPN)")
	}
	return ok("HTTP/1.1, agreed by ALPN (" + c.TLS.NegotiatedProtocol + ")")
}

// streams warns if a server allows fewer requests at a time than the run wants.
func streams(allowed, wanted int64) []Finding {
	switch {
	case allowed == 0:
		return []Finding{bad("the server allows no request on this connection", "let the server allow streams (MAX_CONCURRENT_STREAMS)").named("streams")}
	case allowed >= wanted:
		return nil
	}
	return []Finding{warn(fmt.Sprintf("the server allows %d at a time on a connection, and --streams is %d: more wait, or use more connections", allowed, wanted),
		fmt.Sprintf("give --streams %d, or raise MAX_CONCURRENT_STREAMS of the server", allowed)).named("streams")}
}

// upgraded tells of a handshake of WebSocket.
func upgraded(c probe.Contact) Finding {
	switch {
	case c.Subprotocol != "":
		return ok("the connection was upgraded, with the subprotocol " + c.Subprotocol)
	case c.Offered:
		return warn("the connection was upgraded, and the server chose no subprotocol", "check the subprotocols in -H Sec-WebSocket-Protocol")
	}
	return ok("the connection was upgraded, without a subprotocol")
}

// apart refuses a target that is the Redis of the runs.
func (a Aim) apart(server probe.RedisServer) Finding {
	version := cmp.Or(server.Version, "of a version that it does not tell (INFO server)")
	switch {
	case a.Redis.Has(server):
		return bad("Redis "+version+" is the one that holds the runs (--redis)", "give another Redis in the URL, or another one in --redis")
	case !a.Redis.Certain(server):
		return warn("Redis "+version, "make sure that it is not the one that holds the runs (--redis)")
	}
	return ok("Redis " + version)
}

// reply tells what came of the payload that was sent.
func reply(c probe.Contact) Finding {
	const mend = "check what is sent (-d), where a reply ends (--reply) and the log of the server"
	switch c.Reply.Class {
	case "":
		return ok(fmt.Sprintf("%s in %s", units.Bytes(c.Reply.BytesIn), short(c.Waits)))
	case targets.ClassTimeout:
		if c.Reply.BytesIn == 0 {
			return bad("silence for "+short(c.Waits), mend)
		}
		return bad(fmt.Sprintf("%s in %s, which is no whole reply", units.Bytes(c.Reply.BytesIn), short(c.Waits)), mend)
	case targets.ClassConnect:
		return bad("no server at this port", "start the server, or check the port")
	case targets.ClassEOF, targets.ClassReset:
		return bad(fmt.Sprintf("%s after %s of a reply", closes, units.Bytes(c.Reply.BytesIn)), mend)
	}
	return bad("it is not as expected: "+c.Reply.Class, mend)
}

// sent says what the servers got. asked: those of gRPC were asked what they offer.
func sent(contacts []probe.Contact, asked bool) Finding {
	var payloads, handshakes, redis bool
	for _, c := range contacts {
		payloads = payloads || c.Sent
		handshakes = handshakes || c.Upgraded || c.Class == targets.ClassStatus
		redis = redis || c.Redis != nil
	}
	var also []string
	for _, x := range []struct {
		was  bool
		what string
	}{{handshakes, "a handshake of WebSocket"}, {redis, "INFO server"}, {asked, "questions for reflection and health"}} {
		if x.was {
			also = append(also, x.what)
		}
	}
	text := "no request of the run"
	switch {
	case payloads && len(contacts) > 1:
		text = "one request of the run to each server of tcp or udp"
	case payloads:
		text = "one request of the run"
	}
	if len(also) > 0 {
		text += ", but " + strings.Join(also, ", ")
	}
	return ok(text)
}
