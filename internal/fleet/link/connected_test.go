package link

import (
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// connected returns a client that waits for each answer, and is closed at the end of the test.
func connected(t *testing.T, address string) rdb.Client {
	t.Helper()
	client, err := answered(t, address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// answered connects to a server, and returns what it answers.
func answered(t *testing.T, address string) (rdb.Client, error) {
	t.Helper()
	return redistest.Answered(t, address, func() (rdb.Client, error) { return Connect(t.Context(), redistest.Patient(address)) })
}
