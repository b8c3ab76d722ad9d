package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/reply"
	"github.com/loadctl/loadctl/targets/status"
	"github.com/loadctl/loadctl/targets/template"
)

// mostDatagram is the largest payload of UDP over IPv4, in bytes.
const mostDatagram = 65_507

// rawRules is what a request of tcp, udp or redis is, and how its reply is read. It never changes.
type rawRules struct {
	to       Endpoint
	once     bool   // a connection carries one request
	answers  bool   // a reply is expected
	later    bool   // the payload may have what earlier steps took
	fixed    []byte // the payload; nil if it varies
	fill     func(b []byte, r template.Request) []byte
	expect   expectation
	newReply func() reply.Reading
}

// checkRaw checks the spec of a tcp or udp target.
func checkRaw(s targets.Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("url: %s has neither login nor path; write %s://HOST:PORT", u.Scheme, u.Scheme)
	}
	if err := checkBare(s, u.Scheme); err != nil {
		return err
	}
	if _, err := newRawExpectation(s); err != nil {
		return err
	}
	switch rule, _ := reply.Parse(s.Reply); {
	case rule.Messages > 0 || rule.End:
		return fmt.Errorf("reply: %s has no messages and no streams; write any, bytes N, until TEXT or matches /REGEX/", u.Scheme)
	case u.Scheme == "udp" && s.UnixSocket != "":
		return errors.New("unix socket: udp has none; leave it out, or write tcp://")
	case u.Scheme == "udp" && len(s.Body) > mostDatagram:
		return fmt.Errorf("body: a datagram has at most %d bytes; send less", mostDatagram)
	case u.Scheme == "udp" && rule.Count > 0 && rule.Count > s.EffectiveBodyLimit():
		return fmt.Errorf("reply: %d bytes are more than the body limit", rule.Count)
	case u.Scheme == "tcp" && len(s.Body) == 0 && !s.NoKeepAlive:
		return errors.New("body: is missing; give what to send, or --no-keep-alive to open a connection for each request and send nothing")
	}
	return checkRouting(s)
}

// checkAddress checks that a URL has a host and a port, as far as its scheme needs them, and nothing after the path.
func checkAddress(u *url.URL) error {
	switch {
	case u.Hostname() == "" || u.Opaque != "" || targets.Port(u) == targets.NoPort:
		return fmt.Errorf("url: names no host and port; write %s://HOST:PORT", u.Scheme)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("url: %s has neither ? nor #; leave out what begins there", u.Scheme)
	}
	return targets.CheckHost(u)
}

// checkBare refuses what only HTTP has, of one request.
func checkBare(s targets.Spec, scheme string) error {
	switch {
	case s.Method != "":
		return fmt.Errorf("method: %s has none; leave it out", scheme)
	case len(s.Headers) > 0:
		return fmt.Errorf("header: %s has none; leave them out", scheme)
	case s.Expect != "":
		return fmt.Errorf("expect: %s has no statuses; leave it out", scheme)
	}
	return checkLimits(s)
}

// sharedRaw refuses what only HTTP has, of the settings that all requests share.
func sharedRaw(s targets.Spec) error {
	for _, x := range []struct {
		name  string
		given bool
	}{{"insecure", s.Insecure}, {"cacert", s.CA != ""}} {
		if x.given {
			return fmt.Errorf("%s: tcp and udp have no TLS; leave it out", x.name)
		}
	}
	return sharedBare(s)
}

// sharedBare refuses settings that all requests share and only other schemes have.
func sharedBare(s targets.Spec) error {
	for _, x := range []struct {
		name, owners string
		given        bool
	}{
		{"auth", "http, grpc and ws", s.Auth != ""}, {"redirects", "http and https", s.Redirects != 0}, {"cookies", "http and https", s.Cookies},
		{"http", "http and https", s.HTTP != ""}, {"streams", "http and grpc", s.Streams != 0},
	} {
		if x.given {
			return fmt.Errorf("%s: only %s have that; leave it out", x.name, x.owners)
		}
	}
	if s.Trace {
		return errors.New("trace: only http, grpc and ws have headers for it; leave it out, and write ${trace_id} into the body")
	}
	return nil
}

// newRawExpectation returns what is expected of a reply without statuses and headers.
func newRawExpectation(s targets.Spec) (e expectation, err error) {
	rule, err := reply.Parse(s.Reply)
	if err != nil {
		return e, fmt.Errorf("reply: %w", err)
	}
	if e, err = bareExpectation(s); err == nil && !rule.Expected && (e.checks.Body() || len(e.takes) > 0) {
		err = errors.New("check: no reply is expected; say where it ends with --reply, or leave out checks and takes of it")
	}
	return e, err
}

// bareExpectation returns what is expected of a reply, whatever its form.
func bareExpectation(s targets.Spec) (e expectation, err error) {
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if e.checks.Statuses() || e.checks.Fields() {
		return e, errors.New("check: only http and grpc have statuses and headers; check body, json, size or time")
	}
	e.statuses = status.Set{{First: 0, Last: 0}}
	e.limits.Content = e.checks.Content()
	if err := e.addTakes(s); err != nil {
		return e, err
	}
	if e.limits.Fields {
		return e, errors.New("take: only http and grpc have headers, and only http has cookies; take json or regex")
	}
	return e, nil
}

// newRawRules returns the rules of a valid spec of tcp or udp.
func newRawRules(s targets.Spec, tables targets.Tables) (rawRules, error) {
	r, u, err := newBareRules(s)
	if err != nil {
		return r, err
	}
	r.to.Use = UseRaw
	if u.Scheme == "udp" {
		r.to.Network = "udp"
	}
	if r.expect, err = newRawExpectation(s); err != nil {
		return r, err
	}
	rule, err := reply.Parse(s.Reply)
	if err != nil {
		return r, err
	}
	limit, content := s.EffectiveBodyLimit(), r.expect.limits.Content
	r.answers, r.newReply = rule.Expected, func() reply.Reading { return reply.New(&rule, limit, content) }
	body, err := s.Parser(tables)(string(s.Body), targets.SaltBody)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	r.pay(body.Varies(), body.Append)
	return r, nil
}

// newBareRules returns what all rules have in common of requests without methods and headers.
func newBareRules(s targets.Spec) (r rawRules, u *url.URL, err error) {
	if _, u, err = s.ParseURL(); err != nil {
		return r, nil, err
	}
	routes, err := targets.ParseRoutes(s.ConnectTo)
	if err != nil {
		return r, nil, err
	}
	r.once, r.later = s.NoKeepAlive, s.FollowsTakes()
	r.to.Network, r.to.Address = destination(s, u, routes)
	return r, u, nil
}

// pay sets the payload.
func (r *rawRules) pay(varies bool, fill func(b []byte, r template.Request) []byte) {
	if r.fill = fill; !varies {
		r.fixed = fill([]byte{}, template.Request{})
	}
}

// checkShared refuses settings of all requests that none of them uses.
func checkShared(s targets.Spec) error {
	var first error
	for _, one := range s.Steps() {
		p, _, err := protocolOf(one)
		if err != nil || p.shared == nil {
			return err
		}
		if err = p.shared(s); err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
