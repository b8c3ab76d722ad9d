package targets

import (
	"cmp"
	"time"
)

// timeout, bodyLimit and expect are the values in effect.
func (s Spec) timeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }
func (s Spec) bodyLimit() int64       { return cmp.Or(s.BodyLimit, DefaultBodyLimit) }

// expect is the statuses that count as success.
func (s Spec) expect() string {
	if IsGRPC(s.URL) {
		return cmp.Or(s.Expect, DefaultExpectGRPC)
	}
	return cmp.Or(s.Expect, DefaultExpect)
}
