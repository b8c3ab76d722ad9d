package run

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
)

// Ready checks whether a worker can take part in the run. It writes nothing, except that it lists the run if it is
// missing. A running worker calls again while Redis refuses, because that may pass. What was wrong before it began
// should be said before it begins.
func (r *Run) Ready(ctx context.Context) error {
	if err := r.CheckKeys(ctx); err != nil {
		return err
	}
	if err := writable(ctx, r.Client, r.Name); err != nil {
		return Explain("join run", r.Name, err)
	}
	// No run has this uid, so the script reads the state and changes nothing.
	err := lua.Remove().Run(ctx, r.Client, r.Keys.Change(), "nothing."+NewID(), r.Keys.Control, "nobody", Who()).Err()
	if err != nil {
		return Explain("join run", r.Name, err)
	}
	_ = r.Relist(ctx) // the run does not depend on it
	return nil
}

// writable tries a write that changes nothing: a list that does not exist is not made longer. A replica, a full
// server, a server with a failing disk, and a user without write permission refuse it. The scripts cannot be used for
// this: their first write may be one that is always allowed, and then so is the rest.
func writable(ctx context.Context, client redis.Cmdable, name string) error {
	return client.LPushX(ctx, "{load:"+name+"}:nothing", "").Err()
}

// MemoryAdvice returns what to free if the server's memory is full; "" = it is not, or that is unknown.
func (r *Run) MemoryAdvice(ctx context.Context) string {
	return link.MemoryAdvice(writable(ctx, r.Client, r.Name))
}

// CheckKeys refuses a run if one of its keys has the wrong type: a script would end in the middle of its writes.
func (r *Run) CheckKeys(ctx context.Context) error {
	k := r.Keys
	types := map[string]string{
		k.Spec: "string", k.Budget: "hash", k.Workers: "hash", k.Due: "zset", k.ByLoad: "zset", k.Unowned: "zset", k.Laws: "hash", k.Log: "list",
		k.Events: "stream", k.Totals: "hash", k.Snapshots: "stream", k.Series: "hash", k.Data: "hash", k.Values: "hash", k.Samples: "hash",
	}
	found := map[string]*redis.StatusCmd{}
	_, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key := range types {
			found[key] = p.Type(ctx, key)
		}
		return nil
	})
	if err != nil {
		return Explain("open run", r.Name, err)
	}
	for _, key := range k.All() {
		if is := found[key].Val(); is != types[key] && is != "none" {
			return spec.Broken(r.Name, fmt.Sprintf("its key %s is a %s and not a %s", key, is, types[key]))
		}
	}
	return nil
}
