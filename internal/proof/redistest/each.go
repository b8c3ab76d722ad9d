package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/embedded"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// Each runs a test twice in parallel: as subtest "redis" on a private redis-server, and as subtest "embedded" on a
// private embedded server. What only a process can do (Pause, Kill, CONFIG, …) is tested with Start.
func Each(t *testing.T, test func(t *testing.T, client rdb.Client)) {
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
func Embedded(t testing.TB) rdb.Client {
	t.Helper()
	s, err := embedded.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it never returns an error
	return newClient(t, s.URL())
}

// Addr returns host:port of the client's server, which may be embedded.
func Addr(client rdb.Client) string { return client.(*redis.Client).Options().Addr }

// URL is Addr as redis.ParseURL takes it, database 0.
func URL(client rdb.Client) string { return "redis://" + Addr(client) }

// Another returns another client of the same server, which is closed when the test ends.
func Another(t testing.TB, client rdb.Client) rdb.Client {
	t.Helper()
	return newClient(t, URL(client))
}
