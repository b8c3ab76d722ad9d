package wire

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/status"
	"github.com/loadctl/loadctl/targets/template"
)

// ofGRPC returns the spec without what a call of gRPC does not have; others stay as they are.
func ofGRPC(s targets.Spec) targets.Spec {
	if !targets.IsGRPC(s.URL) {
		return s
	}
	s.Cookies, s.Redirects = false, 0
	if a, err := targets.ParseAuth(s.Auth); err == nil && a.Kind == targets.AuthSigV4 {
		s.Auth = ""
	}
	return s
}

// grpcHeaders returns the headers that gRPC adds to a request of HTTP; none if it is not of gRPC. A stream that stays open
// has no time limit.
func (m *message) grpcHeaders() []targets.Header {
	if !targets.IsGRPC(m.spec.URL) {
		return nil
	}
	all := []targets.Header{{Name: "Te", Value: "trailers"}, {Name: "Content-Type", Value: "application/grpc"}}
	if m.longLived == nil {
		all = append(all, targets.Header{Name: "Grpc-Timeout", Value: grpcTimeout(m.spec.EffectiveTimeout())})
	}
	return all
}

// scheme is that of HTTP.
func (m *message) scheme() string {
	if m.url.Scheme == "grpcs" || m.url.Scheme == "https" {
		return "https"
	}
	return "http"
}

// grpcTimeout writes a time as the protocol wants it: at most eight digits.
func grpcTimeout(d time.Duration) string {
	if ms := (d + time.Millisecond - 1) / time.Millisecond; ms < 1e8 {
		return strconv.FormatInt(int64(ms), 10) + "m"
	}
	return strconv.FormatInt(int64(min(d/time.Second, 1e8-1)), 10) + "S"
}

// find finds out what the body is a message of, and how its requests share streams. Without descriptors nothing is known.
func (m *message) find() (err error) {
	if !targets.IsGRPC(m.spec.URL) || len(m.spec.Descriptors) == 0 {
		return nil
	}
	if m.calls, err = m.spec.Called(m.url); err == nil {
		m.longLived, err = sharing(m.spec, m.calls)
	}
	return err
}

// describe checks the message. One that varies may not fit with what stands for its placeholders, and fit later.
func (m *message) describe() error {
	if m.calls == nil {
		return nil
	}
	var r template.Request
	for range m.spec.Taken() {
		r.Taken = append(r.Taken, targets.ExampleCell)
	}
	_, err := m.encoded(nil, r)
	wrong, isMessage := errors.AsType[*grpc.MessageError](err)
	if err != nil && (!isMessage || wrong.Shape || !m.body.Varies()) {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// encoded appends the message, with its prefix.
func (m *message) encoded(b []byte, r template.Request) ([]byte, error) {
	return grpc.AppendMessage(b, func(b []byte) ([]byte, error) {
		return m.calls.AppendRequest(b, m.body.Append(nil, r))
	})
}

// appendCall appends the message to a head. It returns nothing if there is no such message.
func (m *message) appendCall(b []byte, r template.Request) []byte {
	whole, err := m.encoded(b, r)
	if err != nil {
		return b[:0]
	}
	return whole
}

// newGRPCExpectation returns what is expected of an answer.
func newGRPCExpectation(s targets.Spec) (e expectation, err error) {
	if _, u, failed := s.ParseURL(); failed == nil && len(s.Descriptors) > 0 {
		if e.calls, err = s.Called(u); err != nil {
			return e, err
		}
		if longLived(s, e.calls) {
			return newTalkExpectation(s, e.calls)
		}
	}
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if e.checks.Statuses() {
		if s.Expect != "" {
			return e, errors.New("expect: contradicts the check of the status; leave one of them out")
		}
		if e.statuses = (status.Set{{First: 1, Last: 999}}); !e.checks.Allow(status.FirstGRPC, status.LastGRPC) {
			return e, errors.New("check: no status of gRPC passes the check; write names, such as status OK,NOT_FOUND")
		}
	} else if e.statuses, err = status.ParseGRPC(cmp.Or(s.Expect, targets.DefaultExpectGRPC)); err != nil {
		return e, err
	}
	e.limits = http1.Limits{Body: s.EffectiveBodyLimit(), Content: e.checks.Content(), Fields: true, Messages: true}
	err = e.addTakes(s)
	e.limits.Content = min(e.limits.Content, grpc.MaxShown)
	e.grpc, e.limit = true, s.EffectiveTimeout()
	return e, err
}

// view returns what checks and takes see of an answer: that of a call, if it is one.
func (e *expectation) view(a check.Answer) check.Answer {
	if reply, ok := a.(grpc.Reply); ok && e.grpc {
		return grpc.NewAnswer(reply, e.calls)
	}
	return a
}

// late returns the error of an answer. A server that knows the time limit of a call may end the call a moment before we
// do: that is our timeout.
func (e *expectation) late(err error, took time.Duration) error {
	if _, reset := errors.AsType[http2.ResetError](err); reset && e.grpc && took >= e.limit {
		return os.ErrDeadlineExceeded
	}
	return err
}
