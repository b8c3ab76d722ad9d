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
	var seq int64
	for b.Loop() {
		member := seq % 100
		seq++
		ask := pacer.Ask{Worker: fmt.Sprint("w", member), Incarnation: "i", Seq: 1 + seq/100, Until: time.Now().UnixMicro() + 1e9, Weight: 1, RTTHi: 1000}
		if _, err := limiter.Lease(context.Background(), ask); err != nil {
			b.Fatal(err)
		}
	}
}
