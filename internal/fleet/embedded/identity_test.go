package embedded

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestIdentity: a server has one run_id, and another server another one. In a transaction and in other sections INFO is
// that of the library.
func TestIdentity(t *testing.T) {
	id := func() string {
		server, err := Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		opt, err := redis.ParseURL(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(opt)
		t.Cleanup(func() { _ = client.Close() })
		first, err := client.Info(t.Context(), "server").Result()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := client.Info(t.Context(), "SERVER").Result(); err != nil || again != first {
			t.Errorf("%q, %v; first %q", again, err, first)
		}
		if clients, err := client.Info(t.Context(), "clients").Result(); err != nil || !strings.Contains(clients, "connected_clients") {
			t.Errorf("%q, %v", clients, err)
		}
		_, id, _ := strings.Cut(first, "run_id:")
		return strings.TrimSpace(id)
	}
	if one, other := id(), id(); len(one) < 20 || one == other {
		t.Errorf("%q and %q", one, other)
	}
}
