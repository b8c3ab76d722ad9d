package link

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// connected returns a client that is closed at the end of the test.
func connected(t *testing.T, address string) redis.UniversalClient {
	t.Helper()
	client, err := Connect(t.Context(), address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
