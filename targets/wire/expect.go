package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/classes"
	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
	"github.com/loadctl/loadctl/targets/status"
)

// An expectation decides whether an answer counts as success. It never changes.
type expectation struct {
	statuses status.Set
	checks   check.List
	takes    []take
	cookies  bool         // the session keeps those of the answer
	limits   http1.Limits // an answer must be read with these

	grpc    bool // the answer is one of gRPC
	calls   *grpc.Method
	limit   time.Duration // of a call, which the server knows
	talks   bool          // the answer is a message on a stream that stays open
	answers bool          // and one is expected
}

// expectation returns what is expected of an answer over HTTP or gRPC.
func expectationOf(s targets.Spec) (expectation, error) {
	if targets.IsGRPC(s.URL) {
		return newGRPCExpectation(s)
	}
	return newExpectation(s)
}

// newExpectation returns that of a spec. A check of the status says itself what is expected.
func newExpectation(s targets.Spec) (e expectation, err error) {
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if s.EffectiveMethod() == http.MethodHead && e.checks.Body() {
		return e, errors.New("check: an answer to HEAD has no body; leave checks of body, json and size out")
	}
	if e.checks.Statuses() {
		if s.Expect != "" {
			return e, errors.New("expect: contradicts the check of the status; leave one of them out")
		}
		if e.statuses = (status.Set{{First: 100, Last: 999}}); !e.checks.Allow(100, 999) {
			return e, errors.New("check: no status of HTTP passes the check; write numbers, such as status 200,404")
		}
	} else if e.statuses, err = status.Parse(cmp.Or(s.Expect, targets.DefaultExpect)); err != nil {
		return e, err
	}
	e.cookies = s.Cookies
	e.limits = http1.Limits{Body: s.EffectiveBodyLimit(), Content: e.checks.Content(), Fields: e.checks.Fields() || s.Cookies}
	return e, e.addTakes(s)
}

// classTake begins the class of an answer that lacks what the step takes; the name of the value follows. Class names have
// at most 64 bytes.
const classTake = "take "

// A take is a value that the step keeps for later ones.
type take struct {
	check.Take
	index int    // in the session
	class string // if there is none
}

// addTakes adds what the step of a flow takes.
func (e *expectation) addTakes(s targets.Spec) error {
	for _, t := range s.Takes() {
		parsed, err := check.ParseTake(t.From)
		if err != nil {
			return fmt.Errorf("take %s: %w", t.Name, err)
		}
		if s.EffectiveMethod() == http.MethodHead && parsed.Content() > 0 {
			return fmt.Errorf("take %s: an answer to HEAD has no body; take a header or a cookie", t.Name)
		}
		e.takes = append(e.takes, take{parsed, slices.Index(s.Taken(), t.Name), classTake + t.Name[:min(len(t.Name), 64-len(classTake))]})
		e.limits.Content = max(e.limits.Content, parsed.Content())
		e.limits.Fields = e.limits.Fields || parsed.Fields()
	}
	return nil
}

// outcome returns the outcome of a request, without its bytes. err is why its answer is not complete; rest is the class if
// err does not determine it.
func (e *expectation) outcome(a check.Answer, took time.Duration, err error, rest string, session *targets.Session) (out targets.Outcome) {
	if e.talks {
		out = e.streamOutcome(a, took, err, rest, session)
	} else {
		whole := e.view(a)
		out.Status = whole.Status()
		switch err = e.late(err, took); {
		case err == nil:
			out.Class = e.failed(whole, took, session)
		case errors.Is(err, http1.ErrBody):
			out.Class = targets.ClassBodyLimit
		default:
			out.Class = classes.Of(err, rest)
		}
	}
	if s, counts := a.(*http2.Stream); counts {
		out.Messages = s.Messages()
	}
	return out
}

// hold returns of which answers an engine keeps what checks do not need, and at least how many bytes of each: a message of
// gRPC is kept whole or not at all.
func (e *expectation) hold() http1.Hold {
	if e.grpc {
		return http1.Hold{Bytes: heldMessage, Good: func(status int) bool { return status == http.StatusOK }}
	}
	return http1.Hold{Bytes: 1, Good: e.statuses.Contains}
}

// heldMessage is the longest message of gRPC that is kept for a sample, in bytes.
const heldMessage = 16 << 10

// failed returns the class of an answer that took so long; "" if it is as expected. Then the session has what the step
// takes. It has the cookies in any case: the answer may be a redirect that is followed.
func (e *expectation) failed(a check.Answer, took time.Duration, session *targets.Session) string {
	if e.cookies && session != nil {
		session.SetCookies(a)
	}
	if whole, ok := a.(*grpc.Answer); ok && whole.Err() != nil {
		return targets.ClassProtocol
	}
	if !e.statuses.Contains(a.Status()) {
		return targets.ClassStatus
	}
	if class := e.checks.Failed(a, took); class != "" {
		return class
	}
	for i := range e.takes {
		value, found := e.takes[i].From(a)
		if !found {
			return e.takes[i].class
		}
		if session != nil {
			session.Keep(e.takes[i].index, value)
		}
	}
	return ""
}
