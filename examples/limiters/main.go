// Command limiters asks each limiter for 12 permits at once and then for one every 10 ms, of a limit of 10 in 200 ms
// with a burst of 5, and shows what is granted.
//
//	go run ./examples/limiters redis://10.0.0.5:6379
//
// Without an argument it uses the Redis of REDIS_URL, or else the one at redis://127.0.0.1:6379.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer/limit"
)

func main() {
	if err := show(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func show(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 {
		return fmt.Errorf("%d arguments: give one, the URL of a Redis", len(args))
	}
	url := cmp.Or(strings.Join(args, ""), os.Getenv("REDIS_URL"), "redis://127.0.0.1:6379")
	options, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("the URL of Redis, an argument or REDIS_URL: %w", err)
	}
	client := redis.NewClient(options)
	defer client.Close()

	key := fmt.Sprintf("example-%d", os.Getpid()) // not one that somebody else uses
	for _, name := range limit.Names() {
		var burst []limit.Option
		if name == "leaky-bucket" || name == "token-bucket" || name == "gcra" {
			burst = append(burst, limit.Burst(5))
		}
		limiter, err := limit.New(name, limit.Redis(client), key, limit.PerWindow(10, 200*time.Millisecond), burst...)
		if err != nil {
			return err
		}
		row, err := use(ctx, limiter)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-14s %s\n", name, row)
	}
	return nil
}

// use is how many permits are granted at once, and then a mark for each one that is granted (x) or not (.).
func use(ctx context.Context, limiter *limit.Limiter) (string, error) {
	a, err := limiter.TakeUpTo(ctx, 12)
	if err != nil {
		return "", err
	}
	row := fmt.Appendf(nil, "%2d at once, then ", a.Granted)
	for range 45 {
		time.Sleep(10 * time.Millisecond)
		a, err := limiter.Take(ctx, 1)
		if err != nil {
			return "", err
		}
		row = append(row, ".x"[a.Granted])
	}
	return string(row), nil
}
