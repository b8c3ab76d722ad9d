package run

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/lua"
)

// Ready finds out whether a worker can take part in the run, and writes nothing, but the run's name where the list of runs lacks it. A worker asks again as long as Redis refuses it,
// because that may pass; what was wrong before it began should be said before it begins.
func (r *Run) Ready(ctx context.Context) error {
	if err := r.whole(ctx); err != nil {
		return err
	}
	if err := writable(ctx, r.client, r.Name); err != nil {
		return explain("join run", r.Name, err)
	}
	// No run has this uid, so the script reads the state and changes nothing.
	err := lua.Remove().Run(ctx, r.client, r.keys.change(), "nothing."+NewID(), r.keys.Control, "nobody", Who()).Err()
	if err != nil {
		return explain("join run", r.Name, err)
	}
	_ = r.relist(ctx) // the run does not depend on it
	return nil
}

// writable asks the server to write what it will not: a list that does not exist is not made longer. A replica, a server that is full or
// whose disk fails, and a user who may not write are refused all the same. The scripts cannot be asked: the first thing they write may be
// something that is always allowed, and then so is the rest.
func writable(ctx context.Context, client redis.Cmdable, name string) error {
	return client.LPushX(ctx, "{load:"+name+"}:nothing", "").Err()
}

// Full tells what to free where the server's memory is full; "" = it is not, or that is not known.
func (r *Run) Full(ctx context.Context) string {
	if a, known := adviceOn(writable(ctx, r.client, r.Name)); known && a.word == outOfMemory {
		return a.mend
	}
	return ""
}

// whole refuses a run with a key that holds something else than it should: a script that meets it ends in the middle of its writes.
func (r *Run) whole(ctx context.Context) error {
	k := r.keys
	types := map[string]string{
		k.Spec: "string", k.Budget: "hash", k.Workers: "hash", k.Due: "zset", k.Rich: "zset", k.Loose: "zset", k.Laws: "hash", k.Log: "list",
		k.Events: "stream", k.Totals: "hash", k.Snapshots: "stream", k.Series: "hash",
	}
	found := map[string]*redis.StatusCmd{}
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key := range types {
			found[key] = p.Type(ctx, key)
		}
		return nil
	})
	if err != nil {
		return explain("open run", r.Name, err)
	}
	for _, key := range k.all() {
		if is := found[key].Val(); is != types[key] && is != "none" {
			return broken(r.Name, fmt.Sprintf("its key %s is a %s and not a %s", key, is, types[key]))
		}
	}
	return nil
}
