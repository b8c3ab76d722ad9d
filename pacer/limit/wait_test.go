package limit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/pacer/limit"
)

// hasty is a server that answers a hundred times that the caller may come back at once.
type hasty struct {
	redis.Cmdable
	calls int
}

func (h *hasty) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	if h.calls++; h.calls > 100 {
		cmd.SetErr(errors.New("enough"))
	}
	cmd.SetVal([]any{int64(0), int64(0), int64(-5), int64(0), int64(1)})
	return cmd
}

// TestWaitBreathes: whatever the answers, Wait pauses between its calls.
func TestWaitBreathes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := must(t, "gcra", &hasty{}, "k", limit.PerWindow(1, time.Second))
		start := time.Now()
		if err := r.Wait(t.Context(), 1); err == nil {
			t.Error("granted by whom?")
		}
		if passed := time.Since(start); passed != 100*time.Millisecond {
			t.Errorf("100 refusals within %v, want 1 ms each", passed)
		}
	})
}
