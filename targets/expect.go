package targets

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/http1"
)

// An expectation decides whether an answer counts as success. It never changes.
type expectation struct {
	statuses statuses
	checks   check.List
	limits   http1.Limits // an answer must be read with these
}

// newExpectation returns that of a spec. A check of the status says itself what is expected.
func newExpectation(s Spec) (e expectation, err error) {
	if e.checks, err = check.Parse(s.Checks); err != nil {
		return e, fmt.Errorf("check: %w", err)
	}
	if s.method() == http.MethodHead && e.checks.Body() {
		return e, errors.New("check: an answer to HEAD has no body; leave checks of body, json and size out")
	}
	if e.checks.Statuses() {
		if s.Expect != "" {
			return e, errors.New("expect: contradicts the check of the status; leave one of them out")
		}
		e.statuses = statuses{{100, 999}}
	} else if e.statuses, err = parseStatuses(s.Expect); err != nil {
		return e, err
	}
	e.limits = http1.Limits{Body: s.bodyLimit(), Content: e.checks.Content(), Fields: e.checks.Fields()}
	return e, nil
}

// failed returns the class of an answer that took so long; "" if it is as expected.
func (e *expectation) failed(a check.Answer, took time.Duration) string {
	if !e.statuses.contain(a.Status()) {
		return ClassStatus
	}
	return e.checks.Failed(a, took)
}
