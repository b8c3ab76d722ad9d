package limit_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

// BenchmarkTake measures one call for one permit of a limit that is mostly reached, on a real Redis. It uses 1, 8 and
// 64 clients, EVALSHA and EVAL, and compares with redis_rate's AllowN. Time is that between two calls of all clients
// together. µs-redis is spent in the script, as Redis counts it.
func BenchmarkTake(b *testing.B) {
	client := redistest.Start(b).Client()
	for _, p := range []string{
		"fixed_window", "sliding_log", "sliding_list", "sliding_window", "leaky_bucket", "token_bucket", "gcra",
	} {
		script := lua.Limiter(p)
		keys := []string{"{bench}" + p, "{bench}limit"}
		option := 0
		if p == "sliding_window" {
			option = 10
		}
		args := []any{1, 1, 1000, 1_000_000, 1000, option, 1}
		b.Run(p+"/EVALSHA", func(b *testing.B) {
			load(b, client, script)
			measure(b, client, func() error { return script.EvalSha(b.Context(), client, keys, args...).Err() })
		})
		b.Run(p+"/EVAL", func(b *testing.B) {
			measure(b, client, func() error { return script.Eval(b.Context(), client, keys, args...).Err() })
		})
	}
	limiter := redis_rate.NewLimiter(client)
	b.Run("redis_rate", func(b *testing.B) {
		limit := redis_rate.Limit{Rate: 1000, Burst: 1000, Period: time.Second}
		measure(b, client, func() error {
			_, err := limiter.AllowN(b.Context(), "bench", limit, 1)
			return err
		})
	})
}

func load(b *testing.B, client rdb.Client, script *redis.Script) {
	if err := script.Load(b.Context(), client).Err(); err != nil {
		b.Fatal(err)
	}
}

// measure makes b.N calls by 1, 8 and 64 clients.
func measure(b *testing.B, client rdb.Client, call func() error) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			if err := call(); err != nil { // creates the connections and loads the scripts
				b.Fatal(err)
			}
			if err := client.ConfigResetStat(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var running sync.WaitGroup
			for range clients {
				running.Go(func() {
					for left.Add(-1) >= 0 {
						if err := call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			b.StopTimer()
			report(b, client)
		})
	}
}

// report asks Redis for the cost of the calls.
func report(b *testing.B, client rdb.Client) {
	info, err := client.InfoMap(b.Context(), "stats", "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	var in, out, usec float64
	scan := func(text, format string, to *float64) {
		if _, err := fmt.Sscanf(text, format, to); err != nil {
			b.Fatalf("%q: %v", text, err)
		}
	}
	scan(info["Stats"]["total_net_input_bytes"], "%g", &in)
	scan(info["Stats"]["total_net_output_bytes"], "%g", &out)
	for _, command := range []string{"cmdstat_eval", "cmdstat_evalsha"} {
		if text := info["Commandstats"][command]; text != "" {
			_, text, _ = strings.Cut(text, "usec=")
			scan(text, "%g", &usec)
		}
	}
	n := float64(b.N)
	b.ReportMetric(usec/n, "µs-redis/op")
	b.ReportMetric(in/n, "B-sent/op")
	b.ReportMetric(out/n, "B-received/op")
}
