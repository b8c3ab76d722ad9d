package run

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer"
)

// Limiter leases from the run's budget. Its errors say what to do about them. The client should be one of its own.
func (r *Run) Limiter(client redis.UniversalClient) pacer.Limiter {
	if !r.Spec.gated() {
		return advised{pacer.NewRedis(client, r.keys.lease(), r.UID)}
	}
	return advised{pacer.NewGated(client, r.keys.lease(), r.UID, r.Spec.kind().Script)}
}

// advised is a limiter whose errors say what to do about them.
type advised struct{ redis *pacer.Redis }

// Lease implements pacer.Limiter.
func (l advised) Lease(ctx context.Context, a pacer.Ask) (pacer.Reply, error) {
	reply, err := l.redis.Lease(ctx, a)
	return reply, Advise(err)
}
