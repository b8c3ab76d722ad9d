package run

import (
	"context"
	"math"
	"time"
)

// windowParts is the number of parts of a run's sliding window.
const windowParts = 10

// Surge returns how many requests the limiter may let pass in a second above a rate. It is the burst of a bucket. For
// a window of length w with c = rate·w:
//
//	n·c − rate              sliding-log and sliding-list, n = ⌈1s/w⌉
//	(n + 2/parts)·c − rate  sliding-window
//	(n + 1)·c − rate        fixed-window
//
// burst is the one in force; 0 = what the rate makes in half a second. Surge is +Inf if nothing bounds it.
func (s Spec) Surge(rate float64, burst int64) float64 {
	if !s.hasLimiter() || s.kind().Queues {
		return 0
	}
	windows := math.Ceil(time.Second.Seconds() / s.window().Seconds())
	switch s.Limiter {
	case "fixed-window":
		windows++
	case "sliding-window":
		windows += 2.0 / windowParts
	}
	switch {
	case s.Debt: // one token is enough for any number
		return math.Inf(1)
	case !s.kind().Bursts:
		return max(0, windows*rate*s.window().Seconds()-rate)
	case burst > 0:
		return float64(burst)
	default:
		return max(1, math.Floor(rate/2))
	}
}

// Surge returns that of the spec with the burst in force now.
func (r *Run) Surge(ctx context.Context) (func(rate float64) float64, error) {
	if !r.Spec.hasLimiter() {
		return func(float64) float64 { return 0 }, nil
	}
	fields, err := r.client.HMGet(ctx, r.keys.Budget, "uid", "limit").Result()
	if err != nil {
		return nil, explain("read run", r.Name, err)
	}
	now, found := State{}, map[string]string{}
	for i, name := range []string{"uid", "limit"} {
		found[name], _ = fields[i].(string)
	}
	if found["uid"] != r.UID {
		return nil, ErrNoRun
	}
	if err := now.parseBurst(found); err != nil {
		return nil, broken(r.Name, err.Error())
	}
	return func(rate float64) float64 { return r.Spec.Surge(rate, now.burst) }, nil
}
