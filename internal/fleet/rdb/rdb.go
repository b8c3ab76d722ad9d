// Package rdb names the client of Redis that the program and its tests pass around.
//
//	func List(ctx context.Context, client rdb.Client) ([]Entry, error)
//
// It exists for the compiler. The types redis.Client and redis.UniversalClient lead to structs with some 600 promoted
// methods each. Go compiles a wrapper of each of these methods in every package that mentions them: 1.2 s of CPU a
// package. Client leads to none of these structs. Code that has to know whether it talks to one server or to a cluster
// asks internal/fleet/link.
package rdb

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client sends commands to one Redis server, to the master that Sentinel names, or to a cluster. *redis.Client and
// *redis.ClusterClient implement it. It is safe for concurrent use.
type Client interface {
	redis.Cmdable
	AddHook(redis.Hook)
	Do(ctx context.Context, args ...any) *redis.Cmd
	Process(ctx context.Context, cmd redis.Cmder) error
	Close() error
}
