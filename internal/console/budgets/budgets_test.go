package budgets

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

// state is a ledger with a budget of a host and of all others, and rows at three hosts.
func state() ledger.State {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	row := func(host, run string, rate, limit int64) ledger.Row {
		return ledger.Row{Host: host, Run: "uid", Rate: rate, Cap: limit, Ends: now.Add(time.Second), People: ledger.People{Run: run}}
	}
	budget := func(name string, rate int64, frozen bool) ledger.Budget {
		b := ledger.Budget{Budget: reserve.Budget{Name: name, Rate: rate, Version: now.UnixMicro(), Frozen: frozen}}
		if frozen {
			b.Freeze = now.UnixMicro()
		}
		return b
	}
	return ledger.State{
		Now:     now,
		Budgets: []ledger.Budget{budget("*", 5e6, false), budget("api", 7e6, true), budget("gone", reserve.Endless, false), budget("www", reserve.Endless, true)},
		Rows:    []ledger.Row{row("api:80", "a", 3e6, 0), row("api:81", "", 2_500_000, 1e6), row("other:80", "c", 1e6, 0)},
	}
}

// TestAll asserts that a document has each budget that is set or frozen, with what runs hold of it.
func TestAll(t *testing.T) {
	d := All(state())
	if len(d.Budgets) != 3 || len(d.Rows) != 3 {
		t.Fatalf("%+v", d)
	}
	others, api, www := d.Budgets[0], d.Budgets[1], d.Budgets[2]
	if others.Left != nil || others.Reserved != 1 || others.Runs != 1 {
		t.Errorf("%+v", others)
	}
	if *api.Left != 1.5 || api.Reserved != 5.5 || api.Runs != 2 || !api.Frozen {
		t.Errorf("%+v", api)
	}
	if www.Rate != 0 || www.Left != nil || !www.SetAt.IsZero() || www.FrozenAt.IsZero() {
		t.Errorf("%+v", www)
	}
}

// TestAt asserts what there is for a host, a port, a pattern and a host without a budget.
func TestAt(t *testing.T) {
	for host, want := range map[string]string{
		"api:80":   "api:80: 7 per second by the budget of api; runs hold 5.5, 1.5 are left; frozen: no run may send there",
		"other:81": "other:81: 5 per second by the budget of *; runs hold 1, 4 are left",
		"www":      "www: 5 per second by the budget of *; runs hold 0, 5 are left; frozen: no run may send there",
		"*":        "*: 5 per second for each host that has no other budget; runs hold 1 at all of them",
	} {
		if got := At(state(), host).Endpoint.line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	without := state()
	without.Budgets = without.Budgets[1:]
	if got := At(without, "other:80").Endpoint.line(); got != "other:80: no budget bounds it; runs hold 1 per second" {
		t.Errorf("%q", got)
	}
}

// TestTextOfOthersIsOneLine asserts that what somebody wrote into Redis neither steers a terminal nor begins a line.
func TestTextOfOthersIsOneLine(t *testing.T) {
	s := state()
	s.Budgets[1].Why.Text, s.Rows[0].People = "a\nb\x1b[2J", ledger.People{Run: "r\nx\x1b", Who: "w\n\x1b"}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"list":     func(b *bytes.Buffer) error { return All(s).WriteList(b) },
		"endpoint": func(b *bytes.Buffer) error { return At(s, "api:80").WriteEndpoint(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\nb") || strings.Contains(b.String(), "\nx") {
			t.Errorf("%s: error %v, %q", name, err, b.String())
		}
	}
}

// TestParseReadsDocuments asserts that Parse takes what a Document is as JSON, the narrowest names first, with exact rates.
func TestParseReadsDocuments(t *testing.T) {
	s := state()
	for _, rate := range []int64{1, 999_999, 100_000_000_000_000, 99_999_999_999_999, 123_456_789_012_345 % 100_000_000_000_000} {
		s.Budgets[1].Rate = rate
		s.Budgets[1].Name = "api.example.com:80"
		s.Budgets[2] = ledger.Budget{Budget: reserve.Budget{Name: "*.example.com", Rate: 1e6}}
		text, err := json.Marshal(All(s))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := Parse(text)
		if err != nil || len(entries) != 4 {
			t.Fatalf("%s: %+v, error %v", text, entries, err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != "api.example.com:80 www *.example.com *" {
			t.Errorf("in the order %s", got)
		}
		if e := entries[0]; e.Rate != rate || !e.Frozen {
			t.Errorf("rate %d became %+v", rate, e)
		}
	}
}
