package link

import (
	"testing"

	"github.com/loadctl/loadctl/internal/rdb"
)

// connected returns a client that is closed at the end of the test.
func connected(t *testing.T, address string) rdb.Client {
	t.Helper()
	client, err := Connect(t.Context(), address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
