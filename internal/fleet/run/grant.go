package run

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Grants asks the limiter of a run for a worker. Its errors say what to do. It is safe for concurrent use.
type Grants struct {
	run    *Run
	client rdb.Client
	script *redis.Script
}

// Grants returns a Grants that calls over client.
func (r *Run) Grants(client rdb.Client) *Grants {
	return &Grants{run: r, client: client, script: lua.Grant(r.Spec.LimiterSettings().Script)}
}

// Grant asks for permission to send n slots of a law with this rate. n = 0 only asks whether the run is there. A call
// that fails may have been granted slots. They are lost.
func (g *Grants) Grant(ctx context.Context, n int64, rate pacer.Rate) (lease.Grant, error) {
	keys := []string{g.run.Keys.Budget, g.run.Keys.Limiter}
	reply, err := g.script.Run(ctx, g.client, keys, g.run.UID, n, rate.Num, rate.Den).Result()
	if err != nil {
		return lease.Grant{}, link.Advise(err)
	}
	if reply == "NOSTATE" {
		return lease.Grant{}, fmt.Errorf("ask the limiter of run %s: %w", g.run.Name, ErrNoRun)
	}
	numbers, _ := reply.([]any)
	if len(numbers) != 4 {
		return lease.Grant{}, fmt.Errorf("ask the limiter of run %s: the answer has %d parts; use the same version of loadctl and loadworker", g.run.Name, len(numbers))
	}
	var v [4]int64
	for i, x := range numbers {
		v[i], _ = x.(int64)
	}
	if v[0] <= 0 || v[1] < 0 || v[1] > n || v[2] < 0 || v[3] < 1 {
		return lease.Grant{}, fmt.Errorf("ask the limiter of run %s: unexpected answer %v; use the same version of loadctl and loadworker", g.run.Name, v)
	}
	return lease.Grant{Now: v[0], N: v[1], Retry: v[2], Burst: v[3]}, nil
}
