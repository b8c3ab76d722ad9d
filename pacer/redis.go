package pacer

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
)

// LeaseKeys are the keys of the lease script, in the order of its KEYS. All carry the run's hash tag.
type LeaseKeys struct {
	Budget, Workers, Seen, Events, Laws string
}

// List is the keys in the order of the script's KEYS.
func (k LeaseKeys) List() []string {
	return []string{k.Budget, k.Workers, k.Seen, k.Events, k.Laws}
}

// Redis is the GCRA limiter: the lease script on a real or embedded server. It keeps no state of its own.
type Redis struct {
	client redis.Scripter
	keys   LeaseKeys
	uid    string
	script *redis.Script
}

// NewRedis leases from the budget of the run with the given uid. The client should be one of its own,
// with short timeouts, so that nothing else delays a lease.
func NewRedis(client redis.Scripter, keys LeaseKeys, uid string) *Redis {
	return &Redis{client: client, keys: keys, uid: uid, script: lua.Lease()}
}

// Lease implements Limiter.
func (r *Redis) Lease(ctx context.Context, a Ask) (Reply, error) {
	fields, err := r.script.Run(ctx, r.client, r.keys.List(),
		r.uid, a.Worker, a.Incarnation, a.Numbers()).StringSlice()
	if err != nil {
		return Reply{}, fmt.Errorf("lease slots: %w", err)
	}
	return ParseReply(fields)
}
