package run

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
)

// soon is how long a client takes to move to the new master after all Sentinels name it. It asks at least once a
// second.
const soon = 1500 * time.Millisecond

// goesOver checks that a client is with this master soon: a call without a repetition succeeds there.
func goesOver(t *testing.T, client redis.UniversalClient, master *redistest.Server) {
	t.Helper()
	key, began := rand.Text(), time.Now()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		err := client.Incr(ctx, key).Err()
		cancel()
		if err == nil && master.Client().Exists(t.Context(), key).Val() == 1 {
			return
		}
		if time.Since(began) > soon {
			t.Fatalf("%v after the others the client is not with %s: %v", time.Since(began), master.Addr(), err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mayOnly changes a user.
func mayOnly(t *testing.T, s *redistest.Server, user string, rules ...any) {
	t.Helper()
	if err := s.Client().Do(t.Context(), append([]any{"ACL", "SETUSER", user}, rules...)...).Err(); err != nil {
		t.Fatal(err)
	}
}
