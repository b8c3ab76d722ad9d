package reserve

import (
	"slices"
	"testing"
)

// read is what a run says of itself: it has a right to 50, and needs 40.
func read() Reading {
	return Reading{Host: "api", Run: "r", At: 1_000_000, Right: Right{Rate: 50, Version: 7, Until: 25_000_000, End: 30_000_000}, Need: 40, Settled: true}
}

// TestGranted: a right counts from the reading. It has no end without a budget, and is over if a budget leaves no room. It is
// not prolonged while the run has to come down, and then only at that rate.
func TestGranted(t *testing.T) {
	endless, unsettled, unverified, paused := read(), read(), read(), read()
	endless.Right.Until, unsettled.Settled, unverified.Right.Until, paused.Need = Endless, false, 0, 0
	frozen := []Budget{{Frozen: true}}
	for name, c := range map[string]struct {
		read  Reading
		grant Grant
		want  Right
		ok    bool
	}{
		"bounded":           {read(), Grant{Rate: 60, Version: 8, End: 99, Bounded: true}, Right{60, 8, 1_000_000 + TTL - Margin, 99}, true},
		"without a budget":  {read(), Grant{Rate: 60, Version: 8, End: 99}, Right{60, 8, Endless, 99}, true},
		"frozen":            {read(), Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Budgets: frozen}, Right{50, 7, 25_000_000, 99}, true},
		"frozen and paused": {paused, Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Budgets: frozen}, Right{50, 7, 1_000_000 + TTL - Margin, 99}, true},
		"to come down":      {read(), Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Cap: 39}, Right{50, 7, 25_000_000, 99}, true},
		"low enough":        {read(), Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Cap: 40}, Right{40, 7, 1_000_000 + TTL - Margin, 99}, true},
		"perhaps":           {unsettled, Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Cap: 40}, Right{50, 7, 25_000_000, 99}, true},
		"to verify":         {unverified, Grant{Rate: 50, Version: 8, End: 99, Bounded: true, Cap: 39}, Right{50, 8, 0, 99}, true},
		"a first budget":    {endless, Grant{Rate: 50, Version: 7, End: 99, Bounded: true, Cap: 39}, Right{50, 7, 1_000_000 + TTL - Margin, 99}, true},
		"no row":            {read(), Grant{Status: "FULL", Bounded: true}, Right{50, 7, 1_000_000, 30_000_000}, false},
		"no row any more":   {endless, Grant{Status: "FULL", Bounded: true}, Right{50, 7, 1_000_000, 30_000_000}, true},
		"no row, no budget": {endless, Grant{Status: "OK"}, Right{50, 7, 1_000_000, 30_000_000}, false},
	} {
		if got, ok := c.read.Granted(c.grant); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	if r := read(); r.Late(r.At+TTL-Margin) || !r.Late(r.At+TTL-Margin+1) {
		t.Error("an answer is late when the row may be over")
	}
}

// TestAsks: a renewal keeps the right, and asks for what is needed if the right is to be verified. A raise never asks for less.
func TestAsks(t *testing.T) {
	r := read()
	if a := r.Renew(); a.Want != 50 || a.Right != r.Right || a.Host != "api" || a.Run != "r" {
		t.Errorf("%+v", a)
	}
	if got := r.Raise(10).Want; got != 50 {
		t.Errorf("a raise to 10 asks for %d", got)
	}
	r.Right.Until, r.Need = 0, 80
	if got := r.Renew().Want; got != 80 {
		t.Errorf("to verify it asks for %d", got)
	}
}

// TestSurplus: room is given back 10 s after a raise, or at once if the ledger wants it, and only if the need is exact.
func TestSurplus(t *testing.T) {
	fresh := read()
	if fresh.Surplus(0) || !fresh.Surplus(40) || fresh.Surplus(39) {
		t.Error("right after a raise only a cap that the run keeps to makes a surplus")
	}
	late := read()
	late.Raised = late.At - Unused
	unsettled, unverified, used := late, late, late
	unsettled.Settled, unverified.Right.Until, used.Need = false, 0, 50
	if !late.Surplus(0) || unsettled.Surplus(0) || unverified.Surplus(0) || used.Surplus(0) {
		t.Error("after 10 s what is not needed is a surplus, if that is certain")
	}
}

// TestVersion: what a run knows is the newest change among its budgets.
func TestVersion(t *testing.T) {
	g := Grant{Budgets: []Budget{{Name: "api", Version: 3}, {Name: "*", Version: 9, Frozen: true}}}
	if Version(g.Budgets) != 9 || Version(nil) != 0 || !g.Frozen() || (Grant{}).Frozen() {
		t.Errorf("%+v", g)
	}
}

// TestMerge: of two copies of a budget the newer rate counts, and the newer freeze, each by its own version.
func TestMerge(t *testing.T) {
	set := Budget{Name: "api", Rate: 100, Version: 5}
	frozen := Budget{Name: "api", Rate: Endless, Frozen: true, Freeze: 9}
	both := Budget{Name: "api", Rate: 100, Version: 5, Frozen: true, Freeze: 9}
	other := Budget{Name: "*", Rate: 7, Version: 1}
	if got := Merge([]Budget{set, other}, []Budget{frozen}); !slices.Equal(got, []Budget{both, other}) {
		t.Errorf("%+v", got)
	}
	if got := Merge([]Budget{frozen}, []Budget{other, set}); !slices.Equal(got, []Budget{both, other}) {
		t.Errorf("%+v", got)
	}
	if got := both.With(Budget{Name: "api", Rate: 1, Version: 4, Freeze: 8}); got != both {
		t.Errorf("an older copy changes it: %+v", got)
	}
}
