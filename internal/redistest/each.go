package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/embedded"
)

// Each runs a test twice in parallel: as subtest "redis" on a private redis-server, and as subtest "embedded" on a
// private embedded server. What only a process can do (Pause, Kill, CONFIG, …) is tested with Start.
func Each(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Start(t).Client())
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, Embedded(t))
	})
}

// Embedded starts an embedded server that ends with the test, and returns a client of it like Server.Client.
func Embedded(t testing.TB) *redis.Client {
	t.Helper()
	s, err := embedded.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it never returns an error
	return newClient(t, s.URL())
}
