package link

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// IsCluster tells whether a client is one of a Redis Cluster.
func IsCluster(client rdb.Client) bool {
	_, is := client.(*redis.ClusterClient)
	return is
}

// Clock returns the clock of the server that holds a key. In a cluster each node has its own.
func Clock(ctx context.Context, client rdb.Client, key string) (time.Time, error) {
	cluster, is := client.(*redis.ClusterClient)
	if !is {
		return client.Time(ctx).Result()
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return time.Time{}, err
	}
	return master.Time(ctx).Result()
}
