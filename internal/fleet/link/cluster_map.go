package link

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// reloadEvery is how old the map of a cluster gets while calls succeed. The library itself reloads it only once a
	// minute.
	reloadEvery = time.Second
	// mapPatience is how long one node may take to send the map. Then the next one is asked.
	mapPatience = 2 * time.Second
)

// reloading reloads the map of a cluster after each call that its node did not answer or could not serve: another
// node may have taken over. The library does so only if the answer names another node. It loads the map at most five
// times a second.
type reloading struct{ reload func(context.Context) }

// DialHook implements redis.Hook.
func (reloading) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (r reloading) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return r.after(ctx, next(ctx, cmd)) }
}

// ProcessPipelineHook implements redis.Hook.
func (r reloading) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return r.after(ctx, next(ctx, cmds)) }
}

func (r reloading) after(ctx context.Context, err error) error {
	answer, answered := errors.AsType[redis.Error](err)
	if err != nil && (!answered || strings.HasPrefix(answer.Error(), "CLUSTERDOWN")) {
		r.reload(ctx)
	}
	return err
}

// mapAsked bounds calls of one node that have no deadline. These are the library's own, for the map. While it waits
// for a node that hangs, it asks no other node.
type mapAsked struct{}

// DialHook implements redis.Hook.
func (mapAsked) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (mapAsked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, limited := ctx.Deadline(); !limited {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, mapPatience)
			defer cancel()
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (mapAsked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
