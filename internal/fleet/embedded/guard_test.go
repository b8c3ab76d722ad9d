package embedded

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestCommandsTheLibraryFailsAt: such commands end their connection, but neither the process nor other connections; in
// a script they end the script.
func TestCommandsTheLibraryFailsAt(t *testing.T) {
	s := start(t)
	client := connect(t, s)
	if err := client.Do(t.Context(), "SADD", "set", "a").Err(); err != nil {
		t.Fatal(err)
	}
	bad := []any{"SSCAN", "set", -1}
	script := []any{"EVAL", "return redis.call('SSCAN', 'set', -1)", 0}
	queued := func(c *redis.Client) error {
		_, err := c.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Do(t.Context(), bad...).Err() })
		return err
	}
	plain := func(args []any) func(*redis.Client) error {
		return func(c *redis.Client) error { return c.Do(t.Context(), args...).Err() }
	}
	for name, call := range map[string]func(*redis.Client) error{"alone": plain(bad), "script": plain(script), "transaction": queued} {
		for range 2 {
			err := call(connect(t, s))
			if err == nil || strings.Contains(err.Error(), "timeout") {
				t.Errorf("%s: %v", name, err)
			}
			await.Done(t, "another command", func() {
				if got, err := client.SMembers(t.Context(), "set").Result(); err != nil || len(got) != 1 {
					t.Errorf("%s: afterwards %v, %v", name, got, err)
				}
			})
		}
	}
	for _, args := range [][]any{bad, script} {
		if err := connect(t, s).Do(t.Context(), args...).Err(); err == nil || !strings.Contains(err.Error(), "slice bounds") {
			t.Errorf("%v: %v", args[0], err)
		}
	}
}
