package e2e

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// rank returns the value below or at which a share of the sorted ones are.
func rank(sorted []int64, share float64) int64 {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// alike checks that times of a report are those that someone else noted: within the bucket of a histogram never shorter, if
// the report's are from a later point of the same way, and in the acceptance run within a millisecond, or a bucket, which is
// wider above a second.
func alike(t *testing.T, what string, reported record.Distribution, noted []int64, later bool) {
	t.Helper()
	if len(noted) == 0 {
		t.Errorf("%s: nobody noted a time", what)
		return
	}
	noted = slices.Sorted(slices.Values(noted))
	for _, q := range []struct {
		share float64
		ns    int64
	}{{0, reported.Min}, {0.5, reported.P50}, {0.9, reported.P90}, {0.99, reported.P99}, {1, reported.Max}} {
		want := rank(noted, q.share)
		off := time.Duration(q.ns - want)
		const many = 10 // fewer times say how busy the machine was
		above := int(math.Round((1 - q.share) * float64(len(noted))))
		if later && off < -time.Duration(want/500+1000) || acceptance() && q.share > 0 && above >= many && off.Abs() > max(time.Millisecond, time.Duration(want>>10)) {
			t.Errorf("%s at %v: %v in the report, %v noted", what, q.share, time.Duration(q.ns), time.Duration(want))
		}
	}
}
