package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

// ledgerScripts are the scripts of budgets on a real server. Arguments replace the TIME call and the server's identity.
type ledgerScripts struct {
	t           *testing.T
	client      rdb.Client
	keys        []string
	identity    string
	ask, budget *redis.Script
}

func (s *ledgerScripts) call(script *redis.Script, now int64, args ...any) []string {
	s.t.Helper()
	got, err := script.Run(s.t.Context(), s.client, s.keys, append(args, s.identity, now/1e6, now%1e6)...).StringSlice()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return got
}

func (s *ledgerScripts) Ask(now int64, a reserve.Ask) reserve.Grant {
	s.t.Helper()
	args := []any{a.Host, a.Run, a.Want, a.Right.Rate, a.Right.Version, a.Right.End, ""}
	for _, b := range a.Budgets {
		args = append(args, b.Name, b.Rate, asNumber(b.Frozen), b.Version)
	}
	got := s.call(s.ask, now, args...)
	n := func(i int) int64 { x, _ := strconv.ParseInt(got[i], 10, 64); return x }
	g := reserve.Grant{Status: got[0], Rate: n(1), Version: n(2), End: n(3), Bounded: n(4) == 1, Cap: n(5), Left: n(6)}
	for i := 8; i < len(got); i += 4 {
		g.Budgets = append(g.Budgets, reserve.Budget{Name: got[i], Rate: n(i + 1), Frozen: n(i+2) == 1, Version: n(i + 3)})
	}
	return g
}

func asNumber(on bool) int {
	if on {
		return 1
	}
	return 0
}

// rows returns what is stored, as text.
func (s *ledgerScripts) rows() (out []string) {
	for at, text := range s.client.HGetAll(s.t.Context(), s.keys[1]).Val() {
		numbers, _, err := lua.Read("row", text)
		if err != nil {
			s.t.Fatal(err)
		}
		line := at
		for _, x := range numbers {
			line += fmt.Sprintf(" %s %d", x.Name, x.Value)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func modelRows(l *Ledger) (out []string) {
	for at, r := range l.rows {
		out = append(out, fmt.Sprintf("%s %s rate %d version %d ending %d cap %d reported %d claim %d claimEnd %d",
			at.host, at.run, r.Rate, r.Version, r.End, r.Cap, r.Reported, r.Claim.Version, r.Claim.End))
	}
	slices.Sort(out)
	return out
}

// TestLedgerScriptsEqualModel makes random calls of the scripts and of the model, and compares the answers and what is
// stored. Servers change, forget, and are emptied. LOADCTL_SEEDS is how many sequences to play, LOADCTL_SEED the first.
func TestLedgerScriptsEqualModel(t *testing.T) {
	first, n := uint64(1), 20
	if v, err := strconv.Atoi(os.Getenv("LOADCTL_SEEDS")); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("LOADCTL_SEED"), 10, 64); err == nil {
		first = v
	}
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		s := &ledgerScripts{t: t, client: client, ask: timed("ask"), budget: timed("budget")}
		for seed := first; seed < first+uint64(n); seed++ {
			s.keys = []string{fmt.Sprintf("{ledger %d}:budgets", seed), fmt.Sprintf("{ledger %d}:rows", seed)}
			playLedger(t, s, rand.New(rand.NewPCG(seed, 5)))
			if t.Failed() {
				t.Fatalf("LOADCTL_SEED=%d LOADCTL_SEEDS=1", seed)
			}
		}
	})
}

// playLedger plays a sequence of calls.
func playLedger(t *testing.T, s *ledgerScripts, rng *rand.Rand) {
	now, servers := int64(1_700_000_000_000_000), 1
	s.identity = "server1"
	l := NewLedger("", now).Empty(s.identity, now)
	s.call(s.budget, now, "*", "known", 0) // a server begins with its first call
	hosts := []string{"api.example.com", "api.example.com:8443", "www.example.com", "other.test:80", "[::1]:8080", "[::1]"}
	names := []string{"api.example.com", "api.example.com:8443", "*.example.com", "*.com", "*", "other.test", "[::1]"}
	rights, budgets := map[place]reserve.Right{}, map[string][]reserve.Budget{}
	var old []reserve.Right
	for step := range 150 {
		now += []int64{0, 1000, rng.Int64N(3_000_000), rng.Int64N(20_000_000)}[rng.IntN(4)]
		switch rng.IntN(40) {
		case 0:
			servers++
			s.identity = fmt.Sprint("server", servers)
			l.Identity = s.identity
			now -= rng.Int64N(500_000)
		case 1:
			servers++
			s.identity = fmt.Sprint("server", servers)
			s.client.Del(t.Context(), s.keys...)
			l = l.Empty(s.identity, now)
			s.call(s.budget, now, "*", "known", 0)
		}
		at := place{hosts[rng.IntN(len(hosts))], fmt.Sprint("run", rng.IntN(4))}
		what := ""
		var got, want any
		switch rng.IntN(8) {
		case 0:
			name, rate, cut := names[rng.IntN(len(names))], rng.Int64N(100_000_000), rng.IntN(2) == 0
			switch rng.IntN(8) {
			case 0:
				rate = 0
			case 1, 2:
				rate = reserve.Endless
			}
			kind := "set"
			if cut {
				kind = "cut"
			}
			what = fmt.Sprint(kind, " ", name, " ", rate)
			got = s.call(s.budget, now, name, kind, rate, "")
			version, ok := l.Set(now, name, rate, cut)
			want = []string{map[bool]string{true: "OK", false: "FULL"}[ok], fmt.Sprint(version)}
		case 1:
			name, frozen := names[rng.IntN(len(names))], rng.IntN(2) == 0
			kind := map[bool]string{true: "freeze", false: "thaw"}[frozen]
			what = kind + " " + name
			got = s.call(s.budget, now, name, kind, 0, "")[:1]
			l.Freeze(now, name, frozen)
			want = []string{"OK"}
		case 2:
			name := names[rng.IntN(len(names))]
			version := l.budgets[name].Version + rng.Int64N(2)
			what = fmt.Sprint("known ", name)
			got = s.call(s.budget, now, name, "known", version, "")[:1]
			known, done := l.Knows(now, name, version)
			status := "WAITING"
			if !known {
				status = "FORGOTTEN"
			} else if done {
				status = "DONE"
			}
			want = []string{status}
		default:
			right := rights[at]
			if len(old) > 0 && rng.IntN(10) == 0 {
				right = old[rng.IntN(len(old))]
			}
			ask := reserve.Ask{Host: at.host, Run: at.run, Want: right.Rate, Right: right, Budgets: budgets[at.host]}
			switch rng.IntN(4) {
			case 0:
				ask.Want = rng.Int64N(60_000_000)
			case 1:
				ask.Want = right.Rate / 2
			}
			what = fmt.Sprintf("%+v", ask)
			grant := l.Ask(now, ask)
			got, want = s.Ask(now, ask), grant
			old = append(old, right)
			if grant.Version > 0 {
				rights[at] = reserve.Right{Rate: grant.Rate, Version: grant.Version, End: grant.End}
			}
			budgets[at.host] = grant.Budgets
		}
		if err := differs(what, got, want); err != nil {
			t.Errorf("step %d: %v", step, err)
			return
		}
		if err := differs("rows after "+what, s.rows(), modelRows(l)); err != nil {
			t.Errorf("step %d: %v", step, err)
			return
		}
	}
}
