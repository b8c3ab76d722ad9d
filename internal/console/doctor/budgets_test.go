package doctor

import (
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestBudgets: doctor counts the budgets of a Redis and says whether it grants room, and when it cannot read them.
func TestBudgets(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		l := ledger.Ledger{Client: client}
		finds := func(state, says string) {
			t.Helper()
			f := budgets(t.Context(), &server{node: client, whole: client})
			wants(t, "budgets", f, state, says)
		}
		finds(OK, "none: each run may send its rate")
		if _, err := l.Set(t.Context(), "*", 5e6, false, ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Freeze(t.Context(), "api", ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		finds(Warn, "1 budget, 1 frozen; 0 rows of runs; nothing new is granted until 2")
		ledgertest.Calm(t, client)
		if _, err := l.Ask(t.Context(), reserve.Ask{Host: "other:80", Run: "r", Want: 1e6}, ""); err != nil {
			t.Fatal(err)
		}
		finds(OK, "1 budget, 1 frozen; 1 row of runs")
		client.HSet(t.Context(), "{load:_endpoints}:rows", "other:80 r", "x")
		finds(Bad, "the ledger of budgets cannot be read")
	})
}
