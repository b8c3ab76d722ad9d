// Command allow calls AllowN of redis_rate, a limiter that asks Redis for each request, as fast as it goes. It is what
// renewals are measured beside; see lab.
//
//	allow -redis redis://127.0.0.1:6379 -clients 64 -for 3s
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

func main() {
	url := flag.String("redis", "redis://127.0.0.1:6379", "`URL` of the server")
	clients := flag.Int("clients", 64, "how many call at the same time")
	lasts := flag.Duration("for", time.Second, "how long")
	flag.Parse()
	if err := allow(*url, *clients, *lasts); err != nil {
		fmt.Fprintln(os.Stderr, "allow:", err)
		os.Exit(1)
	}
}

// allow prints how many calls were made in how many seconds.
func allow(url string, clients int, lasts time.Duration) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	options.PoolSize = clients
	client := redis.NewClient(options)
	defer client.Close() //nolint:errcheck // the process ends
	limiter := redis_rate.NewLimiter(client)
	limit := redis_rate.Limit{Rate: 20_000, Burst: 100, Period: time.Second}

	var calls atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, clients)
	began := time.Now()
	for range clients {
		all.Go(func() {
			for time.Since(began) < lasts {
				if _, err := limiter.AllowN(context.Background(), "bench", limit, 1); err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"calls": calls.Load(), "seconds": time.Since(began).Seconds()})
	}
}
