package run_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// BenchmarkLease is one lease call of one of 100 members, round trip included.
func BenchmarkLease(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		client := redistest.Start(b).Client()
		lease(b, client)
		info, err := client.InfoMap(context.Background(), "commandstats").Result()
		if err != nil {
			b.Fatal(err)
		}
		var calls, usec, each float64
		if _, err := fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%g,usec=%g,usec_per_call=%g", &calls, &usec, &each); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(each, "µs-redis/op")
	})
	b.Run("embedded", func(b *testing.B) { lease(b, redistest.Embedded(b)) })
}

func lease(b *testing.B, client *redis.Client) {
	spec := run.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(20_000), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: 1}
	r, _, err := run.Create(context.Background(), client, "bench", spec, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	limiter := r.Limiter(client)
	var asks [100]pacer.Ask
	for i := range asks {
		asks[i] = pacer.Ask{Worker: fmt.Sprint("w", i), Incarnation: "i", Weight: 1, RTTHi: 1000}
	}
	for i := 0; b.Loop(); i++ {
		ask := &asks[i%len(asks)]
		ask.Seq++
		ask.Until = time.Now().UnixMicro() + 1e9
		reply, err := limiter.Lease(context.Background(), *ask)
		if err != nil {
			b.Fatal(err)
		}
		ask.Ack, ask.PhiHeld, ask.Leased = reply.LeasedAt, reply.Permit.Phi(), ask.Leased+reply.Range.N
	}
}
