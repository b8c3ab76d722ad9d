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
		args = append(args, b.Name, b.Rate, b.Version, asNumber(b.Frozen), b.Freeze)
	}
	got := s.call(s.ask, now, args...)
	n := func(i int) int64 { x, _ := strconv.ParseInt(got[i], 10, 64); return x }
	g := reserve.Grant{Status: got[0], Rate: n(1), Version: n(2), End: n(3), Bounded: n(4) == 1, Cap: n(5), Left: n(6)}
	for i := 8; i < len(got); i += 5 {
		g.Budgets = append(g.Budgets, reserve.Budget{Name: got[i], Rate: n(i + 1), Version: n(i + 2), Frozen: n(i+3) == 1, Freeze: n(i + 4)})
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

// ledgerPlay is a sequence of calls of the scripts and of the model.
type ledgerPlay struct {
	*ledgerScripts
	rng     *rand.Rand
	model   *Ledger
	now     int64
	servers int
	rights  map[place]reserve.Right
	budgets map[string][]reserve.Budget
	old     []reserve.Right // of earlier calls
}

// playLedger plays a sequence of calls.
func playLedger(t *testing.T, s *ledgerScripts, rng *rand.Rand) {
	p := &ledgerPlay{ledgerScripts: s, rng: rng, now: 1_700_000_000_000_000, rights: map[place]reserve.Right{}, budgets: map[string][]reserve.Budget{}}
	p.empty(NewLedger("", p.now))
	for step := range 150 {
		p.now += []int64{0, 1000, rng.Int64N(3_000_000), rng.Int64N(20_000_000)}[rng.IntN(4)]
		switch rng.IntN(40) {
		case 0:
			p.server()
			p.model.Identity = s.identity
			p.now -= rng.Int64N(500_000)
		case 1:
			p.empty(p.model)
		}
		call := []func() (string, any, any){p.set, p.freeze, p.known, p.random, p.random, p.random, p.random, p.random}[rng.IntN(8)]
		what, got, want := call()
		for _, err := range []error{differs(what, got, want), differs("rows after "+what, s.rows(), modelRows(p.model))} {
			if err != nil {
				t.Errorf("step %d: %v", step, err)
				return
			}
		}
	}
}

// server gives the server another identity.
func (p *ledgerPlay) server() {
	p.servers++
	p.identity = fmt.Sprint("server", p.servers)
}

// empty deletes everything. The server begins again with its first call.
func (p *ledgerPlay) empty(was *Ledger) {
	p.server()
	p.client.Del(p.t.Context(), p.keys...)
	p.model = was.Empty(p.identity, p.now)
	p.call(p.budget, p.now, "*", "set-known", 0)
}

// name returns the name of a budget.
func (p *ledgerPlay) name() string {
	names := []string{"api.example.com", "api.example.com:8443", "*.example.com", "*.com", "*", "other.test", "[::1]"}
	return names[p.rng.IntN(len(names))]
}

func (p *ledgerPlay) set() (what string, got, want any) {
	name, rate, kind := p.name(), p.rng.Int64N(100_000_000), []string{"set", "cut"}[p.rng.IntN(2)]
	switch p.rng.IntN(8) {
	case 0:
		rate = 0
	case 1, 2:
		rate = reserve.Endless
	}
	got = p.call(p.budget, p.now, name, kind, rate, "")
	version, ok := p.model.Set(p.now, name, rate, kind == "cut")
	return fmt.Sprint(kind, " ", name, " ", rate), got, []string{map[bool]string{true: "OK", false: "FULL"}[ok], fmt.Sprint(version)}
}

func (p *ledgerPlay) freeze() (what string, got, want any) {
	name, kind := p.name(), []string{"freeze", "thaw"}[p.rng.IntN(2)]
	got = p.call(p.budget, p.now, name, kind, 0, "")
	return kind + " " + name, got, []string{"OK", fmt.Sprint(p.model.Freeze(p.now, name, kind == "freeze"))}
}

func (p *ledgerPlay) known() (what string, got, want any) {
	name, kind := p.name(), "set-known"
	version := p.model.budgets[name].Version
	freeze := p.rng.IntN(2) == 0
	if freeze {
		kind, version = "freeze-known", p.model.budgets[name].Freeze
	}
	version = max(0, version+p.rng.Int64N(3)-1)
	got = p.call(p.budget, p.now, name, kind, version, "")[:1]
	return kind + " " + name, got, []string{p.model.Known(p.now, name, version, freeze)}
}

// random asks for a row: mostly with the right that the run has, now and then with an older one.
func (p *ledgerPlay) random() (what string, got, want any) {
	hosts := []string{"api.example.com", "api.example.com:8443", "www.example.com", "other.test:80", "[::1]:8080", "[::1]"}
	at := place{hosts[p.rng.IntN(len(hosts))], fmt.Sprint("run", p.rng.IntN(4))}
	right := p.rights[at]
	if len(p.old) > 0 && p.rng.IntN(10) == 0 {
		right = p.old[p.rng.IntN(len(p.old))]
	}
	ask := reserve.Ask{Host: at.host, Run: at.run, Want: right.Rate, Right: right, Budgets: p.budgets[at.host]}
	switch p.rng.IntN(4) {
	case 0:
		ask.Want = p.rng.Int64N(60_000_000)
	case 1:
		ask.Want = right.Rate / 2
	}
	grant := p.model.Ask(p.now, ask)
	got = p.Ask(p.now, ask)
	p.old = append(p.old, right)
	if grant.Version > 0 {
		p.rights[at] = reserve.Right{Rate: grant.Rate, Version: grant.Version, End: grant.End}
	}
	p.budgets[at.host] = grant.Budgets
	return fmt.Sprintf("%+v", ask), got, grant
}
