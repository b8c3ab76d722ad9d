package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/targets"
)

// redisTarget is a target whose requests go to Redis servers.
type redisTarget interface {
	Servers(ctx context.Context) ([]targets.RedisServer, error)
}

// apart refuses to send load to the Redis that holds the run: the load would slow down what controls it, and a command
// such as FLUSHALL would end it. It compares the run_id of the servers, and their addresses where that cannot be read.
// A target that cannot be reached is not that Redis, because the worker has just reached it.
func apart(ctx context.Context, client redis.UniversalClient, target targets.Target, log *slog.Logger) error {
	t, ok := target.(redisTarget)
	if !ok {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	theirs, err := t.Servers(limit)
	if err != nil || len(theirs) == 0 {
		return context.Cause(ctx)
	}
	ids, addresses := holders(limit, client)
	for _, server := range theirs {
		if ids[server.ID] || addresses[server.Address] {
			return cli.Config(errors.New("the target is the Redis that holds the run; nothing was sent. Give another Redis in --url, or another one in --redis"))
		}
		if server.ID == "" || len(ids) == 0 {
			log.Warn("cannot read who the target is (INFO server); make sure that it is not the Redis that holds the run", "target", server.Address)
		}
	}
	return nil
}

// holders returns the run_id and the address of each server that may hold the run, as far as they can be known.
func holders(ctx context.Context, client redis.UniversalClient) (ids, addresses map[string]bool) {
	ids, addresses = map[string]bool{}, map[string]bool{}
	var mu sync.Mutex // a cluster is asked by several goroutines
	ask := func(ctx context.Context, c *redis.Client) error {
		id := ""
		if text, err := c.Info(ctx, "server").Result(); err == nil {
			id = targets.RunID(text)
		}
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			ids[id] = true
		}
		if a, err := net.ResolveTCPAddr("tcp", c.Options().Addr); err == nil && !strings.HasPrefix(c.Options().Network, "unix") {
			addresses[a.String()] = true
		}
		return nil
	}
	switch c := client.(type) {
	case *redis.Client:
		_ = ask(ctx, c)
	case *redis.ClusterClient:
		_ = c.ForEachShard(ctx, ask) // what cannot be asked is not known
	}
	return ids, addresses
}
