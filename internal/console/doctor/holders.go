package doctor

import (
	"context"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/resp"
)

// Holders are the servers that may hold a run, as far as they can be known: load must not go to them. The zero value has
// none.
type Holders struct{ ids, addresses map[string]bool }

// FindHolders asks the servers of a client who they are.
func FindHolders(ctx context.Context, client rdb.Client) Holders {
	h := Holders{map[string]bool{}, map[string]bool{}}
	var mu sync.Mutex // a cluster is asked by several goroutines
	ask := func(ctx context.Context, c *redis.Client) error {
		id := ""
		if text, err := c.Info(ctx, "server").Result(); err == nil {
			id = resp.RunID(text)
		}
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			h.ids[id] = true
		}
		if a, err := net.ResolveTCPAddr("tcp", c.Options().Addr); err == nil && !strings.HasPrefix(c.Options().Network, "unix") {
			h.addresses[a.String()] = true
		}
		return nil
	}
	switch c := client.(type) {
	case *redis.Client:
		_ = ask(ctx, c)
	case *link.Watched:
		_ = ask(ctx, c.Client)
	case *redis.ClusterClient:
		_ = c.ForEachShard(ctx, ask) // what cannot be asked is not known
	}
	return h
}

// Has reports whether a server is one of them: by its run_id, or by its address if that cannot be read.
func (h Holders) Has(s probe.RedisServer) bool { return h.ids[s.ID] || h.addresses[s.Address] }

// Certain reports whether Has can tell: both sides have said who they are, or there are no holders.
func (h Holders) Certain(s probe.RedisServer) bool {
	return h.ids == nil || s.ID != "" && len(h.ids) > 0
}
