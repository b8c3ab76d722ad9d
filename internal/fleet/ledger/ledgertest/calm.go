// Package ledgertest makes ledgers for tests.
package ledgertest

import (
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// Calm returns the ledger of a server, which grants from now on: as if 31 s had passed since it was first called.
func Calm(t testing.TB, client rdb.Client) ledger.Ledger {
	t.Helper()
	const key, field, quiet, size = "{load:_endpoints}:budgets", "ledger", 16, 8 // where lua/ledger.lua has it
	l := ledger.Ledger{Client: client}
	if _, err := l.Ask(t.Context(), reserve.Ask{Host: "first", Run: "call"}, ""); err != nil {
		t.Fatal(err)
	}
	text := []byte(client.HGet(t.Context(), key, field).Val())
	clear(text[quiet : quiet+size])
	if err := client.HSet(t.Context(), key, field, text).Err(); err != nil {
		t.Fatal(err)
	}
	return l
}
