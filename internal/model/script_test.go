package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
)

// scripts is the lease protocol on a real server, with its one TIME call and the server's identity replaced by arguments.
type scripts struct {
	server string
	t      *testing.T
	client *redis.Client
	run    string
	lease  *redis.Script
	cmd    *redis.Script
	leave  *redis.Script
}

func timed(name string) *redis.Script {
	text := lua.Text(name)
	if strings.Count(text, "redis.call('TIME')") != 1 {
		panic(name + ": not exactly one TIME call")
	}
	text = strings.Replace(text, "redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }", 1)
	return redis.NewScript(strings.Replace(text, "redis.pcall('INFO', 'replication')", "'master_replid:' .. ARGV[#ARGV - 2]", 1))
}

func newScripts(t *testing.T, client *redis.Client, run string, o Options) *scripts {
	s := &scripts{t: t, client: client, run: run, lease: timed("lease"), cmd: timed("command"), leave: timed("leave")}
	left := int64(-1)
	if o.Requests > 0 {
		left = o.Requests
	}
	loop := 0
	if o.Loop {
		loop = 1
	}
	keys := []string{s.key("spec"), s.key("budget"), s.key("workers"), s.key("seen"), s.key("totals"), s.key("snapshots"), s.key("events"), s.key("laws"), s.key("series"), s.key("limiter"), s.key("stopped")}
	if o.Stopped {
		client.Set(context.Background(), s.key("stopped"), "me", 0)
	}
	args := []any{"{}", "uid", 0, 1000000, "test", "pieces", pacer.JoinPieces(o.Pieces), "loop", loop, "span", o.Span, "left", left,
		"min", o.Min, "horizon", o.Horizon, "ttl", o.TTL, "qmax", o.Qmax, "last", 0,
		"permitfor", o.PermitFor, "deadman", o.Deadman, "grantfrom", o.GrantFrom, "issued", o.Past, "skipped", o.Past, "started", o.Started, "id", o.ID, "stood", o.Stood}
	if err := timed("create").Run(context.Background(), client, keys, append(args, o.Restored/1e6, o.Restored%1e6)...).Err(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scripts) key(name string) string { return "{load:" + s.run + "}:" + name }

func (s *scripts) call(script *redis.Script, now int64, args ...any) *redis.Cmd {
	keys := []string{s.key("budget"), s.key("workers"), s.key("seen"), s.key("events"), s.key("laws")}
	return script.Run(context.Background(), s.client, keys, append(append([]any{"uid"}, args...), s.server, now/1e6, now%1e6)...)
}

func (s *scripts) Lease(now int64, a pacer.Ask) pacer.Reply {
	s.t.Helper()
	f, err := s.call(s.lease, now, a.Worker, a.Incarnation, a.Numbers()).StringSlice()
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := pacer.ParseReply(f)
	if err != nil {
		s.t.Fatalf("%v: %q", err, f)
	}
	return r
}

func (s *scripts) Command(now int64, id, kind string, ps []pacer.Piece) string {
	s.t.Helper()
	f, err := s.call(s.cmd, now, id, kind, "me", "what", "channel", pacer.JoinPieces(ps), 0).StringSlice()
	if err != nil {
		s.t.Fatal(err)
	}
	return f[0]
}

// check compares what the server has stored with the model.
func (s *scripts) check(b *Budget) error {
	h, err := s.client.HGetAll(context.Background(), s.key("budget")).Result()
	if err == nil {
		h, err = lua.Budget(h)
	}
	if err != nil {
		return err
	}
	want := map[string]any{"phase": b.Phase, "issued": b.Issued, "skipped": b.Skipped, "beyond": b.Beyond, "w": b.w, "n": b.n,
		"version": b.version, "started": b.Started, "ended": b.Ended, "left": b.left, "shift": b.shift, "id": b.id, "standby": b.standby,
		"phi": b.phi, "away": b.away, "edge": b.edge, "reach": b.Reach, "thin": b.thin, "grown": b.grown, "identity": b.identity, "heard": b.heard, "stood": b.stood, "renewed": b.renewed,
		"grantfrom": b.grantFrom, "revoked": b.revoked}
	for name, v := range want {
		if h[name] != fmt.Sprint(v) && (h[name] != "" || v != int64(0)) {
			return fmt.Errorf("%s is %s on the server, %v in the model", name, h[name], v)
		}
	}
	return nil
}

// world drives both implementations with the same random calls.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	now       int64
	b         *Budget
	s         *scripts
	asks      map[string]pacer.Ask
	slots     map[[2]int64]bool // generation, slot
	forgotten int               // slots told to have been leased by a server that forgot them
	calls     map[string]bool   // those answered: what comes back for them again is not a grant
	cmds      int
}

func TestScriptEqualsModel(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		equal(t, redistest.Start(t).Client(), 40)
	})
	t.Run("embedded", func(t *testing.T) { // another interpreter of Lua, some times slower
		t.Parallel()
		equal(t, redistest.Embedded(t), 12)
	})
}

func equal(t *testing.T, client *redis.Client, seeds uint64) {
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			o := randomRun(rng)
			w := &world{t: t, rng: rng, now: 1_700_000_000_000_000, b: New(o), asks: map[string]pacer.Ask{}, slots: map[[2]int64]bool{}, calls: map[string]bool{}}
			w.s = newScripts(t, client, fmt.Sprint("r", seed), w.b.opts)
			for range 400 {
				w.step()
				if err := w.s.check(w.b); err != nil {
					t.Fatal(err)
				}
				w.invariants()
			}
		})
	}
}

func randomRun(rng *rand.Rand) Options {
	var p pacer.Profile
	rate := func() pacer.Rate {
		return pacer.Rate{Num: rng.Int64N([]int64{3, 60, 900, 30_000}[rng.IntN(4)]), Den: 1 + rng.Int64N(3)}
	}
	switch rng.IntN(4) {
	case 0:
		p = pacer.Constant(rate(), time.Duration(rng.IntN(10))*time.Second)
	case 1:
		p, _ = pacer.Sine(pacer.PerSecond(500), pacer.PerSecond(500), 2*time.Second)
	default:
		var stages []pacer.Stage
		for range 1 + rng.IntN(5) {
			stages = append(stages, pacer.Stage{Length: time.Duration(1+rng.IntN(2_000_000)) * time.Microsecond, To: rate()})
		}
		p = pacer.Stages(rate(), stages...)
	}
	pieces, err := p.Pieces()
	if err != nil {
		panic(err)
	}
	o := Options{Pieces: pieces, Loop: p.Loop, Span: p.Length().Microseconds(), Min: 1 + rng.Int64N(3), Held: rng.IntN(5) == 0}
	if p.Loop && rng.IntN(2) == 0 {
		o.Span = 5_000_000
	}
	if rng.IntN(3) == 0 {
		o.Requests = 1 + rng.Int64N(3000)
	}
	if rng.IntN(4) > 0 {
		o.PermitFor = 1_000_000 + rng.Int64N(3_000_000)
	}
	if rng.IntN(6) == 0 {
		o.Deadman = 3_000_000
	}
	if rng.IntN(6) == 0 { // as one that is restored
		o.Started, o.Restored, o.ID, o.Stood = 1_699_999_999_000_000, 1_700_000_000_000_000, 1_800_000_000_000_000, rng.Int64N(3)-1
		o.GrantFrom, o.Past = o.Restored+max(o.PermitFor, 500_000), rng.Int64N(3000)
		o.Stopped = rng.IntN(8) == 0
	}
	return o
}

func (w *world) step() {
	w.t.Helper()
	w.now += w.rng.Int64N([]int64{100, 20_000, 100_000, 100_000, 1_500_000}[w.rng.IntN(5)])
	if w.rng.IntN(60) == 0 {
		w.now -= w.rng.Int64N([]int64{400_000, 3_000_000}[w.rng.IntN(2)]) // Redis' clock steps back
	}
	if w.rng.IntN(60) == 0 {
		w.b.Server = fmt.Sprint("server", w.rng.IntN(3))
		w.s.server = w.b.Server
	}
	name := fmt.Sprint("w", w.rng.IntN(5))
	switch w.rng.IntN(40) {
	case 0, 1, 2, 3:
		w.command()
	case 4:
		if a, ok := w.asks[name]; ok {
			got, err := w.s.call(w.s.leave, w.now, name, a.Incarnation, "left").Text()
			if err != nil {
				w.t.Fatal(err)
			}
			if want := w.b.Leave(w.now, name, a.Incarnation, "left"); want != (got == "OK") {
				w.t.Fatalf("leave: script %v, model %v", got, want)
			}
		}
	default:
		w.lease(name)
	}
}

func (w *world) command() {
	w.t.Helper()
	kind := []string{"start", "set-rate", "set-rate", "set-rate", "pause", "resume", "resume", "touch", "stop"}[w.rng.IntN(9)]
	if kind == "stop" && w.rng.IntN(5) > 0 {
		return
	}
	ps, err := pacer.Constant(pacer.Rate{Num: w.rng.Int64N(5000), Den: 1 + w.rng.Int64N(2)}, 0).Pieces()
	if err != nil {
		w.t.Fatal(err)
	}
	w.cmds++
	id := fmt.Sprint(w.cmds)
	for range 1 + w.rng.IntN(2) { // a repeated command changes nothing
		got := w.s.Command(w.now, id, kind, ps)
		if want, _ := w.b.Command(w.now, id, kind, ps); got != want {
			w.t.Fatalf("%s: script %v, model %v", kind, got, want)
		}
	}
}

func (w *world) lease(name string) {
	w.t.Helper()
	a := w.asks[name]
	switch w.rng.IntN(12) {
	case 0: // the same call again
		if a.Seq == 0 {
			return
		}
	case 1: // a late duplicate of an older one
		a.Seq = max(1, a.Seq-1)
	case 2: // a new process of the same name
		a = pacer.Ask{Worker: name, Incarnation: fmt.Sprint("i", w.rng.IntN(1000)), Seq: 1}
	default:
		a.Seq++
	}
	if a.Incarnation == "" {
		a.Incarnation = "i0"
	}
	a.Worker, a.Until, a.Weight, a.RTTHi, a.Ack = name, w.now+w.rng.Int64N(600_000), 1+w.rng.Int64N(2), w.rng.Int64N(40_000), w.now-w.rng.Int64N([]int64{1, 200_000, 500_000}[w.rng.IntN(3)])
	if w.rng.IntN(200) == 0 { // a generation that this server has forgotten, or one that is older
		a.Known = max(0, w.b.id-2+w.rng.Int64N(5))
	}
	if w.rng.IntN(200) == 0 { // granted by a server that forgot it
		more := w.rng.Int64N(20)
		a.Leased += more
		w.forgotten += int(more)
	}
	got, want := w.s.Lease(w.now, a), w.b.Lease(w.now, a)
	if !reflect.DeepEqual(got, want) {
		w.t.Fatalf("ask %+v\nscript %+v\nmodel  %+v", a, got, want)
	}
	if call := fmt.Sprint(name, a.Incarnation, a.Seq); !w.calls[call] && got.LeasedAt > 0 {
		w.calls[call] = true
		a.PhiHeld, a.Leased = got.Permit.Phi(), a.Leased+got.Range.N
		w.asks[name] = a
		w.granted(got)
	}
}

// granted checks I1 at the grant: no slot of a generation twice.
func (w *world) granted(r pacer.Reply) {
	w.t.Helper()
	for c := r.Range.Cursor(0, 1); c.Ok(); c.Next() {
		key := [2]int64{c.Generation(), c.Slot()}
		if w.slots[key] {
			w.t.Fatalf("slot %v granted twice: %+v", key, r)
		}
		w.slots[key] = true
		if c.Due() > (w.now+1_000_000)*1000 {
			w.t.Fatalf("slot %v granted %v ahead", key, time.Duration(c.Due()-w.now*1000))
		}
	}
}

// invariants checks that the counts add up after every step.
func (w *world) invariants() {
	w.t.Helper()
	var leased, beyond int64
	for _, m := range w.b.Members {
		leased += m.Leased
		beyond += m.Beyond
	}
	if w.b.Issued != leased+w.b.Skipped || w.b.Beyond != beyond || int(leased) < len(w.slots) || int(leased) > len(w.slots)+w.forgotten {
		w.t.Fatalf("issued %d, leased %d (seen %d), skipped %d; beyond %d, of members %d", w.b.Issued, leased, len(w.slots), w.b.Skipped, w.b.Beyond, beyond)
	}
	// asked: every slot before its generation's cut was leased or skipped, up to the granting position.
	var past int64
	for _, g := range w.b.Laws {
		past += g.Next - g.over(0, g.Next, g.Cut)
	}
	past += w.b.opts.Past
	if asked := w.b.Issued - w.b.Beyond; asked < past || asked > past+int64(w.forgotten) {
		w.t.Fatalf("issued %d − beyond %d = %d, but %d numbers were passed", w.b.Issued, w.b.Beyond, asked, past)
	}
}
