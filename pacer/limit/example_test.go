package limit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/pacer/limit"
)

// connect starts a Redis for an example. Yours is redis.NewClient(…) of a real one, or of a cluster.
func connect() (client *redis.Client, end func()) {
	server, err := embedded.Start("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		panic(err)
	}
	client = redis.NewClient(options)
	return client, func() {
		client.Close()
		server.Close()
	}
}

// Twenty calls may come at once, and then a hundred an hour.
func Example() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	bucket, _ := limit.New("token-bucket", limit.Redis(client), "checkout", limit.PerWindow(100, time.Hour), limit.Burst(20))
	for _, n := range []int64{5, 15, 1} {
		a, _ := bucket.Take(ctx, n)
		fmt.Println(a.Granted, a.Remaining, a.RetryAfter.Round(time.Second))
	}
	// Output:
	// 5 15 0s
	// 15 0 0s
	// 0 0 36s
}

// A caller takes as many permits as there are: a batch for a while.
func ExampleLimiter_TakeUpTo() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	window, _ := limit.New("fixed-window", limit.Redis(client), "mails", limit.PerWindow(1000, time.Hour))
	for range 3 {
		a, _ := window.TakeUpTo(ctx, 600)
		fmt.Println(a.Granted)
	}
	// Output:
	// 600
	// 400
	// 0
}

// The answer of a leaky bucket says when each caller may go.
func ExampleNew_queue() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	queue, _ := limit.New("leaky-bucket", limit.Redis(client), "printer", limit.PerWindow(1, time.Hour), limit.Burst(3))
	for range 4 {
		a, _ := queue.Take(ctx, 1)
		fmt.Println(a.Granted, a.RetryAfter.Round(time.Minute))
	}
	// Output:
	// 1 0s
	// 1 1h0m0s
	// 1 2h0m0s
	// 0 1h0m0s
}

// One member of a fleet of four. While Redis is away, it goes on at a fourth of the rate.
func ExampleFailShare() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	member, _ := limit.New("gcra", limit.Redis(client), "api", limit.PerWindow(100, time.Second), limit.Burst(1), limit.FailShare(4))
	fmt.Println(member.Wait(ctx, 1))
	// Output: <nil>
}

// The limit changes for all users of the key.
func ExampleLimiter_SetLimit() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	one, _ := limit.New("sliding-log", limit.Redis(client), "api", limit.PerWindow(2, time.Hour))
	another, _ := limit.New("sliding-log", limit.Redis(client), "api", limit.PerWindow(2, time.Hour))
	_ = one.SetLimit(ctx, limit.PerWindow(5, time.Hour))
	a, _ := another.TakeUpTo(ctx, 10)
	fmt.Println(a.Granted)
	// Output: 5
}
