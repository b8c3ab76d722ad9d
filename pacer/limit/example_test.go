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

// Each user has a limit of a plan. Many users are asked with one round trip.
func ExampleSet() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	plans := limit.PerKey(func(user string) limit.Limit {
		if user == "alice" {
			return limit.PerWindow(100, time.Hour)
		}
		return limit.PerWindow(2, time.Hour)
	})
	users, _ := limit.NewSet("sliding-window", limit.Redis(client), "users", limit.PerWindow(2, time.Hour), plans)
	for _, user := range []string{"alice", "bob"} {
		a, _ := users.Take(ctx, user, 2)
		fmt.Println(user, a.Granted, a.Remaining)
	}
	many, _ := users.TakeMany(ctx, 1, "alice", "bob", "carol")
	fmt.Println(many[0].Granted, many[1].Granted, many[2].Granted)
	// Output:
	// alice 2 98
	// bob 2 0
	// 1 0 1
}

// Ten at once and a hundred an hour: a call that one of them refuses takes nothing from the other.
func ExampleAll() {
	ctx, store := context.Background(), limit.Memory(0)

	burst, _ := limit.NewSet("gcra", store, "burst", limit.PerWindow(10, time.Second))
	hour, _ := limit.NewSet("fixed-window", store, "hour", limit.PerWindow(12, time.Hour))
	both, _ := limit.All([]*limit.Set{burst, hour})
	for _, n := range []int64{9, 5, 3} {
		a, _ := both.Take(ctx, "alice", n)
		fmt.Println(a.Granted, a.Refused())
	}
	a, _ := hour.Key("alice").Peek(ctx)
	fmt.Println(a.Remaining, "left in this hour")
	// Output:
	// 9 []
	// 0 [burst hour]
	// 0 [burst]
	// 3 left in this hour
}

// The same limiters without Redis, for at most 10,000 keys.
func ExampleMemory() {
	ctx := context.Background()

	users, _ := limit.NewSet("leaky-bucket", limit.Memory(10_000), "users", limit.PerWindow(1, time.Minute))
	a, _ := users.Take(ctx, "alice", 1)
	fmt.Println(a.Granted)
	a, _ = users.Take(ctx, "alice", 1)
	fmt.Println(a.Granted, a.RetryAfter.Round(time.Minute))
	// Output:
	// 1
	// 0 1m0s
}

// A busy key makes a call for many permits at a time.
func ExampleBatch() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	api, _ := limit.New("token-bucket", limit.Redis(client), "api", limit.PerWindow(10_000, time.Second), limit.Batch(100*time.Millisecond))
	granted := int64(0)
	for range 1000 {
		a, _ := api.Take(ctx, 1)
		granted += a.Granted
	}
	fmt.Println(granted)
	// Output: 1000
}

// A look takes nothing. What was not used goes back.
func ExampleLimiter_GiveBack() {
	client, end := connect()
	defer end()
	ctx := context.Background()

	mails, _ := limit.New("sliding-log", limit.Redis(client), "mails", limit.PerWindow(10, time.Hour))
	a, _ := mails.Take(ctx, 8)
	a.Granted = 3 // of the eight, so many could not be sent
	_ = mails.GiveBack(ctx, a)
	a, _ = mails.Peek(ctx)
	fmt.Println(a.Remaining)
	_ = mails.Reset(ctx)
	a, _ = mails.Peek(ctx)
	fmt.Println(a.Remaining)
	// Output:
	// 5
	// 10
}

// A limit is tried: it decides, a hook counts, and all pass.
func ExampleShadow() {
	ctx := context.Background()

	refused := 0
	count := limit.Observe(func(e limit.Event) {
		if e.Answer.Granted < e.Asked {
			refused++
		}
	})
	users, _ := limit.NewSet("gcra", limit.Memory(0), "users", limit.PerWindow(2, time.Hour), limit.Shadow(), count)
	for range 5 {
		a, _ := users.Take(ctx, "alice", 1)
		fmt.Print(a.Granted, " ")
	}
	fmt.Println("refused", refused)
	// Output: 1 1 1 1 1 refused 3
}

// Without Redis, and without an error: all are let pass.
func ExampleFailOpen() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()

	users, _ := limit.NewSet("gcra", limit.Redis(client), "users", limit.PerWindow(2, time.Hour), limit.FailOpen())
	for range 3 {
		a, err := users.Take(context.Background(), "alice", 1)
		fmt.Println(a.Granted, err)
	}
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
}
