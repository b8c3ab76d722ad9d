package spec

import (
	"math"
	"testing"
	"time"
)

func TestSurge(t *testing.T) {
	for _, c := range []struct {
		spec  Spec
		burst int64
		want  float64
	}{
		{Spec{}, 0, 0},
		{Spec{Limiter: "gcra"}, 0, 0}, // the schedule alone
		{Spec{Limiter: "gcra", Burst: 7}, 7, 7},
		{Spec{Limiter: "token-bucket"}, 0, 500},
		{Spec{Limiter: "token-bucket"}, 10_000, 10_000},
		{Spec{Limiter: "token-bucket", Debt: true}, 1, math.Inf(1)},
		{Spec{Limiter: "leaky-bucket", Burst: 100}, 100, 0}, // it lets out one after the other
		{Spec{Limiter: "sliding-log"}, 0, 0},
		{Spec{Limiter: "sliding-list", Window: 100 * time.Millisecond}, 0, 0},
		{Spec{Limiter: "sliding-list", Window: 300 * time.Millisecond}, 0, 200}, // 4 windows of 300
		{Spec{Limiter: "sliding-log", Window: 10 * time.Second}, 0, 9_000},
		{Spec{Limiter: "sliding-window"}, 0, 200},
		{Spec{Limiter: "fixed-window"}, 0, 1_000},
		{Spec{Limiter: "fixed-window", Window: 10 * time.Second}, 0, 19_000},
	} {
		if got := c.spec.Surge(1000, c.burst); math.Abs(got-c.want) > 1e-6 && got != c.want {
			t.Errorf("%+v: %v, want %v", c.spec, got, c.want)
		}
	}
}
