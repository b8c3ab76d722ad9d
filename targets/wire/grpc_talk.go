package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/reply"
	"github.com/loadctl/loadctl/targets/status"
)

// A request to a method that takes a stream is a message on a stream that stays open, as one of ws is a message on an
// open connection. Spec.Reply says which message of the server is its reply. With "end", and without keep-alive, each
// request has a stream of its own instead.

// talkRule reads Spec.Reply for a method that takes a stream.
func talkRule(s targets.Spec, m *grpc.Method) (reply.Rule, error) {
	usual := reply.None
	if m.Streams() {
		usual = "any"
	}
	return reply.Parse(cmp.Or(s.Reply, usual))
}

// longLived reports whether requests to a method are messages on streams that stay open.
func longLived(s targets.Spec, m *grpc.Method) bool {
	if !m.Takes() || s.NoKeepAlive {
		return false
	}
	rule, err := talkRule(s, m)
	return err == nil && !rule.End
}

// sharing returns how requests to a method share streams; nil if each has one of its own.
func sharing(s targets.Spec, m *grpc.Method) (*http2.LongLived, error) {
	if !longLived(s, m) {
		return nil, nil
	}
	rule, err := talkRule(s, m)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reply: %w", err)
	case !rule.Expected:
		return &http2.LongLived{}, nil
	case rule.Pattern != nil:
		return &http2.LongLived{Fits: func(s *http2.Stream, _ int) bool { return rule.Pattern.Match(grpc.NewAnswer(s, m).Content()) }}, nil
	}
	last := max(1, rule.Messages)
	return &http2.LongLived{Fits: func(_ *http2.Stream, n int) bool { return n == last }}, nil
}

// checkTalk checks Spec.Reply, and what requests share that are messages on one stream. Without descriptors nobody knows
// whether a method takes one.
func checkTalk(s targets.Spec, u *url.URL) error {
	rule, err := reply.Parse(s.Reply)
	switch {
	case err != nil:
		return fmt.Errorf("reply: %w", err)
	case rule.Count > 0 || len(rule.Until) > 0:
		return errors.New("reply: over gRPC a message tells where it ends; write any, messages N, matches /REGEX/, none or end")
	case s.NoKeepAlive && rule.Expected && !rule.End:
		return errors.New("reply: with --no-keep-alive each request has a stream of its own, up to its end; leave one of them out")
	case len(s.Descriptors) == 0:
		return nil
	}
	m, err := s.Called(u)
	switch {
	case err != nil:
		return err
	case !m.Takes() && s.Reply != "" && !rule.End:
		return fmt.Errorf("reply: %s takes one message, so each request is a call of its own; leave it out", m.Path())
	case !m.Streams() && rule.Expected && !rule.End:
		return fmt.Errorf("reply: %s answers once, at the end of its stream; leave it out, or write end", m.Path())
	case !longLived(s, m):
		return nil
	}
	for i, h := range s.Headers {
		if t, err := s.Parser(nil)(h.Value, targets.SaltHeaders+uint64(i)); err == nil && t.Varies() {
			return fmt.Errorf("header %s: a stream carries many messages, so its headers have no placeholders; put them into the message, or give --reply end", h.Name)
		}
	}
	return nil
}

// newTalkExpectation returns what is expected of a message on a stream that stays open.
func newTalkExpectation(s targets.Spec, m *grpc.Method) (e expectation, err error) {
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if s.Expect != "" || e.checks.Statuses() {
		return e, errors.New("expect: a message on an open stream has no status; leave it out, or give --reply end for a stream for each request")
	}
	rule, err := talkRule(s, m)
	if err != nil {
		return e, fmt.Errorf("reply: %w", err)
	}
	e.grpc, e.talks, e.answers, e.calls, e.limit = true, true, rule.Expected, m, s.EffectiveTimeout()
	e.statuses = status.Set{{First: 0, Last: 0}}
	e.limits = http1.Limits{Body: s.EffectiveBodyLimit(), Content: e.checks.Content(), Fields: true, Messages: true}
	if err := e.addTakes(s); err != nil {
		return e, err
	}
	if !e.answers && (e.checks.Body() || e.checks.Fields() || len(e.takes) > 0) {
		return e, errors.New("check: no reply is expected; leave out checks and takes of it, or give --reply end for a stream for each request")
	}
	if e.limits.Content = min(e.limits.Content, grpc.MaxShown); rule.Pattern != nil {
		e.limits.Content = grpc.MaxShown
	}
	return e, nil
}

// streamOutcome returns the outcome of a request that is a message on a stream that stays open, without its bytes. err
// is why there was no reply; rest is the class if err does not determine it.
func (e *expectation) streamOutcome(a check.Answer, took time.Duration, err error, rest string, session *targets.Session) targets.Outcome {
	s, begun := a.(*http2.Stream)
	switch {
	case err == nil && e.answers:
		return targets.Outcome{Class: e.failed(grpc.NewMessage(s, e.calls), took, session)}
	case err == nil:
		return targets.Outcome{Class: e.failed(noReply{}, took, session)}
	case errors.Is(err, http1.ErrBody):
		return targets.Outcome{Class: targets.ClassBodyLimit}
	case !begun || !errors.Is(err, http2.ErrOver):
		return targets.Outcome{Class: classes.Of(err, rest)}
	}
	// The server has ended the stream in place of a reply, and says how.
	switch n := grpc.NewAnswer(s, e.calls).Status(); n {
	case 0:
		return targets.Outcome{Class: targets.ClassProtocol}
	case status.FirstGRPC:
		return targets.Outcome{Status: n, Class: targets.ClassClosed}
	default:
		return targets.Outcome{Status: n, Class: targets.ClassStatus}
	}
}
