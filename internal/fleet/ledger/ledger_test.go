package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// ask asks for a rate, and fails the test if there is no answer.
func ask(t *testing.T, l ledger.Ledger, a reserve.Ask) reserve.Grant {
	t.Helper()
	g, err := l.Ask(t.Context(), a, ledger.People{Run: "of " + a.Run, Who: "ann@desk", Since: 1_700_000_000_000_000}.Text())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// again is the next call of a run that was granted something.
func again(a reserve.Ask, g reserve.Grant) reserve.Ask {
	a.Right, a.Budgets = reserve.Right{Rate: g.Rate, Version: g.Version, End: g.End}, g.Budgets
	return a
}

// list reads the ledger.
func list(t *testing.T, l ledger.Ledger) ledger.State {
	t.Helper()
	s, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRowsAndBudgets: what a run asked for and what people set is what the list shows, with what is said about it.
func TestRowsAndBudgets(t *testing.T) {
	t.Parallel()
	redistest.Each(t, rowsAndBudgets)
}

// TestRowsAndBudgetsInACluster is TestRowsAndBudgets on a cluster.
func TestRowsAndBudgetsInACluster(t *testing.T) {
	t.Parallel()
	rowsAndBudgets(t, redistest.StartCluster(t, 3).Client())
}

func rowsAndBudgets(t *testing.T, client rdb.Client) {
	l := ledgertest.Calm(t, client)
	note, why := ledger.Note{Text: "agreed with “payments”", Who: "bob@desk"}, ledger.Note{Text: "outage\n7", Who: "eve@desk"}
	set, err := l.Set(t.Context(), "api.example.com", 500e6, false, note)
	if err != nil {
		t.Fatal(err)
	}
	r := reserve.Ask{Host: "api.example.com:443", Run: "r", Want: 300e6}
	g := ask(t, l, r)
	if g.Status != "OK" || g.Rate != 300e6 || !g.Bounded || len(g.Budgets) != 1 || g.Budgets[0].Version != set.Version {
		t.Fatalf("%+v after %+v", g, set)
	}
	if full := ask(t, l, reserve.Ask{Host: "api.example.com:80", Run: "s", Want: 201e6}); full.Status != "FULL" || full.Left != 200e6 || full.Version != 0 {
		t.Errorf("%+v", full)
	}
	freeze, err := l.Freeze(t.Context(), "api.example.com", why)
	if err != nil || freeze.Version <= set.Version {
		t.Fatalf("%+v, error %v", freeze, err)
	}
	s := list(t, l)
	if len(s.Budgets) != 1 || s.Budgets[0] != (ledger.Budget{Budget: reserve.Budget{Name: "api.example.com", Rate: 500e6, Version: set.Version, Frozen: true, Freeze: freeze.Version}, Note: note, Why: why}) {
		t.Errorf("budgets %+v", s.Budgets)
	}
	if len(s.Rows) != 1 || s.Rows[0].People != (ledger.People{Run: "of r", Who: "ann@desk", Since: 1_700_000_000_000_000}) || s.Rows[0].Rate != 300e6 || s.Rows[0].Host != r.Host || s.Rows[0].Run != "r" {
		t.Errorf("rows %+v", s.Rows)
	}
	if left := s.Rows[0].Ends.Sub(s.Now).Microseconds(); left <= 0 || left > reserve.TTL || s.Rows[0].Ends.UnixMicro() != g.End {
		t.Errorf("the row ends in %d µs", left)
	}
	if !s.Quiet.IsZero() {
		t.Errorf("quiet until %v", s.Quiet)
	}
	r = again(r, g)
	r.Want = 0
	if g := ask(t, l, r); g.Version != 0 || len(list(t, l).Rows) != 0 {
		t.Errorf("a row that was given back: %+v, %+v", g, list(t, l).Rows)
	}
}

// TestNewLedgerIsQuiet: a server that was not asked before may have forgotten rows. It grants nothing and says until when.
func TestNewLedgerIsQuiet(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		l := ledger.Ledger{Client: client}
		if s := list(t, l); len(redistest.Contents(t, client)) != 0 || len(s.Budgets)+len(s.Rows) != 0 || !s.Quiet.IsZero() {
			t.Errorf("the list of nothing is %+v, and leaves %v", s, redistest.Contents(t, client))
		}
		if _, err := l.Set(t.Context(), "*", 1e6, false, ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		if g := ask(t, l, reserve.Ask{Host: "api:80", Run: "r", Want: 1}); g.Status != "QUIET" {
			t.Errorf("%+v", g)
		}
		s := list(t, l)
		if left := s.Quiet.Sub(s.Now); left <= 0 || left > (reserve.TTL+reserve.Margin)*time.Microsecond {
			t.Errorf("quiet for %v", left)
		}
	})
}

// TestStateDecidesAsTheScripts: which budgets fit a host, who shares one and how much is left is the same in Go and in
// the scripts.
func TestStateDecidesAsTheScripts(t *testing.T) {
	t.Parallel()
	l := ledgertest.Calm(t, redistest.Start(t).Client())
	names := []string{"api.example.com", "api.example.com:8443", "*.example.com", "*.com", "*", "other.test", "[::1]", "[::1]:80"}
	hosts := []string{"api.example.com:443", "api.example.com:8443", "www.example.com:80", "example.com:80", "other.test:80", "[::1]:80", "[::1]:81", "10.0.0.1:80", "unix:/tmp/x"}
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 300 {
		rate := []int64{rng.Int64N(1000) + 1, reserve.Endless}[rng.IntN(2)]
		if _, err := l.Set(t.Context(), names[rng.IntN(len(names))], rate, true, ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		a := reserve.Ask{Host: hosts[rng.IntN(len(hosts))], Run: fmt.Sprint("run", rng.IntN(3)), Want: rng.Int64N(500) + 1}
		s := list(t, l)
		g := ask(t, l, a)
		var fitting []reserve.Budget
		for _, b := range s.Fitting(a.Host) {
			fitting = append(fitting, b.Budget)
		}
		if !reflect.DeepEqual(g.Budgets, fitting) {
			t.Fatalf("step %d: %s: the script has %+v, Go has %+v", step, a.Host, g.Budgets, fitting)
		}
		if rate := s.Bound(a.Host).Rate; (rate < reserve.Endless) != g.Bounded {
			t.Fatalf("step %d: %s: bounded %v, the rate is %d", step, a.Host, g.Bounded, rate)
		}
		rows, sum := s.Sharing(a.Host)
		own := int64(0)
		for _, r := range rows {
			if r.Host == a.Host && r.Run == a.Run {
				own = r.Rate
				if r.Cap > 0 { // its own cap bounds it too
					g.Status = "OK"
				}
			}
		}
		if rate := s.Bound(a.Host).Rate; g.Status == "FULL" && g.Left != max(0, rate-sum+own) {
			t.Fatalf("step %d: %s: left %d of %d, others hold %d", step, a.Host, g.Left, rate, sum-own)
		}
	}
	if len(list(t, l).Rows) < 10 {
		t.Errorf("too few rows: %+v", list(t, l).Rows)
	}
}

// TestFull: a budget below what is reserved is refused, and Above has the rows that are too many. With cut it is set.
func TestFull(t *testing.T) {
	t.Parallel()
	l := ledgertest.Calm(t, redistest.Start(t).Client())
	for i, host := range []string{"a.example.com:80", "b.example.com:80", "other.test:80"} {
		ask(t, l, reserve.Ask{Host: host, Run: fmt.Sprint("run", i), Want: 100e6})
	}
	_, err := l.Set(t.Context(), "*.example.com", 199e6, false, ledger.Note{})
	if !isFull(err) || len(list(t, l).Budgets) != 0 {
		t.Errorf("error %v, budgets %+v", err, list(t, l).Budgets)
	}
	if above := list(t, l).With("*.example.com", 199e6).Above(); len(above) != 2 || above[0].Run != "run0" || above[1].Run != "run1" {
		t.Errorf("%+v", above)
	}
	if above := list(t, l).With("*.example.com", 200e6).Above(); len(above) != 0 {
		t.Errorf("%+v", above)
	}
	if _, err = l.Set(t.Context(), "*.example.com", 199e6, true, ledger.Note{}); err != nil {
		t.Fatal(err)
	}
	if s := list(t, l); s.Rows[0].Cap != 99.5e6 || s.Rows[1].Cap != 99.5e6 || s.Rows[2].Cap != 0 {
		t.Errorf("%+v", s.Rows)
	}
}

// TestErrorsSayWhatToDo asserts that the errors of the ledger name what was tried and what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	l := ledgertest.Calm(t, client)
	key := "{load:_endpoints}:budgets"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name  string
		harm  func()
		words []string
	}{
		{"wrong name", func() {}, []string{"set the budget of ?", "malformed"}},
		{"a text of another version", func() { client.HSet(ctx, key, "b/*", "x") }, []string{"another version", "delete the keys"}},
		{"another kind of key", func() { client.Del(ctx, key); client.Set(ctx, key, "x", 0) }, []string{"something else"}},
		{"no answer", server.Kill, []string{"Redis does not answer"}},
	} {
		c.harm()
		_, err := l.Set(ctx, "?", 1, false, ledger.Note{})
		errs := []error{err}
		if c.name != "wrong name" {
			_, asked := l.Ask(ctx, reserve.Ask{Host: "api", Run: "r", Want: 1}, "")
			_, listed := l.List(ctx)
			_, err := l.Set(ctx, "api", 1, false, ledger.Note{})
			errs = []error{asked, listed, err}
		}
		for _, err := range errs {
			for _, word := range c.words {
				if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error %v does not say %q", c.name, err, word)
				}
			}
		}
	}
}

// TestPeopleMayBeAnything: what people are shown comes from other programs, and never keeps the rest from being shown.
func TestPeopleMayBeAnything(t *testing.T) {
	t.Parallel()
	l := ledgertest.Calm(t, redistest.Start(t).Client())
	for i, text := range []string{"", "{", `{"run":7}`, "\x00\xff", `{"run":"x","more":1}`} {
		if _, err := l.Ask(t.Context(), reserve.Ask{Host: endpoint.Host("API:80"), Run: fmt.Sprint("run", i), Want: 1}, text); err != nil {
			t.Fatal(err)
		}
	}
	s := list(t, l)
	for i, r := range s.Rows {
		if want := map[bool]string{true: "x"}[i == 4]; r.People.Run != want || r.Host != "api:80" {
			t.Errorf("%+v", r)
		}
	}
	if len(s.Rows) != 5 {
		t.Errorf("%+v", s.Rows)
	}
}
