package limit_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer/limit"
)

// TestMain lets this program be a member of a fleet: one of the processes that TestBatch starts.
func TestMain(m *testing.M) {
	if addr := os.Getenv("LIMIT_MEMBER"); addr != "" {
		if err := beMember(addr, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const hold = 100 * time.Millisecond

// batched makes the set that members use: with batches, and 1,000 as the burst of a token bucket.
func batched(client redis.Cmdable, name string, count int64, window time.Duration) (*limit.Set, error) {
	l := limit.PerWindow(count, window)
	if name == "token-bucket" {
		l.Burst = 1000
	}
	return limit.NewSet(name, limit.Redis(client), "batched", l, limit.Batch(hold))
}

// beMember takes so many permits, one by one, 2,500 each second. It prints each call of Redis ("c 120": it asked for so many)
// and the time of each permit ("p 1763744400123456", µs). If it is refused for more than a minute it ends.
func beMember(addr string, args []string) error {
	var name string
	var takes, count int64
	var window time.Duration
	if _, err := fmt.Sscan(args[0]+" "+args[1]+" "+args[2], &name, &takes, &count); err != nil {
		return err
	}
	window, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	client.AddHook(asked{})
	set, err := batched(client, name, count, window)
	if err != nil {
		return err
	}
	start, out := time.Now(), bufio.NewWriter(os.Stdout)
	for i := range takes {
		time.Sleep(time.Until(start.Add(time.Duration(i) * 400 * time.Microsecond)))
		a, err := set.Take(context.Background(), "k", 1)
		switch {
		case err != nil:
			return err
		case a.Granted == 1:
			fmt.Fprintln(out, "p", time.Now().UnixMicro())
			if err := out.Flush(); err != nil {
				return err
			}
		case a.RetryAfter > time.Minute:
			return nil
		}
	}
	return nil
}

// asked prints calls for permits before they are made.
type asked struct{}

func (asked) DialHook(next redis.DialHook) redis.DialHook { return next }
func (asked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (asked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n, ok := cmd.Args()[min(5, len(cmd.Args())-1)].(*int64); ok { // evalsha, hash, 2, two keys, n
			fmt.Fprintln(os.Stdout, "c", *n)
		}
		return next(ctx, cmd)
	}
}
