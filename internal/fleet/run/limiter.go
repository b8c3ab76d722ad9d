package run

import (
	"context"

	"github.com/loadctl/loadctl/internal/fleet/spec"
)

// Warning returns one line that says why the limiter, with its present settings, may not let the whole rate pass,
// and which setting is enough. It is "" if the limiter does, or if Redis does not report its limits. Workers ask at
// most every 5 ms: what a bucket or a short window has no room for until then is lost.
func (r *Run) Warning(ctx context.Context) string {
	if !r.Spec.HasLimiter() || !r.Ended.IsZero() {
		return ""
	}
	s, err := r.State(ctx)
	if err != nil {
		return ""
	}
	return r.Spec.Warning(s.newest(), s.burst)
}

// Surge returns Spec.Surge with the burst that is in force now.
func (r *Run) Surge(ctx context.Context) (func(rate float64) float64, error) {
	if !r.Spec.HasLimiter() {
		return func(float64) float64 { return 0 }, nil
	}
	fields, err := r.Client.HMGet(ctx, r.Keys.Budget, "uid", "limit").Result()
	if err != nil {
		return nil, Explain("read run", r.Name, err)
	}
	now, found := State{}, map[string]string{}
	for i, name := range []string{"uid", "limit"} {
		found[name], _ = fields[i].(string)
	}
	if found["uid"] != r.UID {
		return nil, ErrNoRun
	}
	if err := now.parseBurst(found); err != nil {
		return nil, spec.Broken(r.Name, err.Error())
	}
	return func(rate float64) float64 { return r.Spec.Surge(rate, now.burst) }, nil
}
