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

	Limiter string // the state of the run's limiter; only NewGated uses it
}

// List is the keys in the order of the script's KEYS, without Limiter.
func (k LeaseKeys) List() []string {
	return []string{k.Budget, k.Workers, k.Seen, k.Events, k.Laws}
}

// Redis grants by the lease script, on a real or embedded server: the slots of the schedule, or as many of them as a limiter lets through. It
// keeps no state of its own.
type Redis struct {
	client redis.Scripter
	keys   LeaseKeys
	uid    string
	script *redis.Script
	gated  bool // by a limiter in the script
	past   bool // which may grant what is past
}

// NewRedis leases from the budget of the run with the given uid. The client should be one of its own,
// with short timeouts, so that nothing else delays a lease.
func NewRedis(client redis.Scripter, keys LeaseKeys, uid string) *Redis {
	return &Redis{client: client, keys: keys, uid: uid, script: lua.Lease()}
}

// NewGated is NewRedis for a run whose grants have to pass a limiter, one of those that lua.Limiter takes. What it grants of slots that
// are past is due when it is granted. A leaky bucket grants none of those: its slots are due by their law.
func NewGated(client redis.Scripter, keys LeaseKeys, uid, limiter string) *Redis {
	return &Redis{client: client, keys: keys, uid: uid, script: lua.LeaseBy(limiter), gated: true, past: limiter != "leaky_bucket"}
}

// Lease implements Limiter.
func (r *Redis) Lease(ctx context.Context, a Ask) (Reply, error) {
	keys := r.keys.List()
	if r.gated {
		keys = append(keys, r.keys.Limiter)
	}
	fields, err := r.script.Run(ctx, r.client, keys, r.uid, a.Worker, a.Incarnation, a.Numbers()).StringSlice()
	if err != nil {
		return Reply{}, fmt.Errorf("lease slots: %w", err)
	}
	reply, err := ParseReply(fields)
	if r.past && reply.Range.N > 0 {
		reply.Range.At = reply.LeasedAt
	}
	return reply, err
}
