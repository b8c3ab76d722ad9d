package link

import (
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestHangUpIsSeen: an answering connection does not hide that a server has closed it: the client does not use it.
func TestHangUpIsSeen(t *testing.T) {
	server := redistest.Start(t)
	client, err := Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 20 {
		if err := server.Client().Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}
