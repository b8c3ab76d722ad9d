// Command limiters asks each limiter for 12 permits at once and then for one every 10 ms, of a limit of 10 in 200 ms with a burst of 5, and
// shows what is granted. It uses the Redis of LOADCTL_REDIS, or one that it brings along.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/embedded"
	"github.com/loadctl/loadctl/pacer/limit"
)

func main() {
	if err := show(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func show(ctx context.Context, out io.Writer) error {
	server, err := embedded.Start("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close() //nolint:errcheck // it is never an error
	options, err := redis.ParseURL(cmp.Or(os.Getenv("LOADCTL_REDIS"), server.URL()))
	if err != nil {
		return fmt.Errorf("LOADCTL_REDIS: %w", err)
	}
	client := redis.NewClient(options)
	defer client.Close()

	key := fmt.Sprintf("example-%d", os.Getpid()) // not one that somebody else uses
	for _, name := range limit.Names() {
		var burst []limit.Option
		if name == "leaky-bucket" || name == "token-bucket" || name == "gcra" {
			burst = append(burst, limit.Burst(5))
		}
		limiter, err := limit.New(name, client, key, limit.PerWindow(10, 200*time.Millisecond), burst...)
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
func use(ctx context.Context, limiter *limit.Redis) (string, error) {
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
