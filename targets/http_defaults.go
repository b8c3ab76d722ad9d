package targets

import (
	"cmp"
	"time"
)

// EffectiveTimeout is the timeout of a request that is in effect.
func (s Spec) EffectiveTimeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }

// EffectiveBodyLimit is the largest body of an answer, in bytes.
func (s Spec) EffectiveBodyLimit() int64 { return cmp.Or(s.BodyLimit, DefaultBodyLimit) }

// expect is the statuses that count as success.
func (s Spec) expect() string {
	if IsGRPC(s.URL) {
		return cmp.Or(s.Expect, DefaultExpectGRPC)
	}
	return cmp.Or(s.Expect, DefaultExpect)
}
