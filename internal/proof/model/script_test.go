package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/pacer/poisson"
)

// scripts is the protocol on a real server. Arguments replace the TIME call and the server's identity.
type scripts struct {
	t        *testing.T
	client   rdb.Client
	run      string
	identity string
	texts    map[string]*redis.Script
	messages <-chan *redis.Message
	logged   int64
	marks    int
}

func timed(name string) *redis.Script {
	text := lua.Text(name)
	for _, call := range []string{"redis.call('TIME')", "redis.pcall('INFO', 'replication')"} {
		if strings.Count(text, call) != 1 {
			panic(fmt.Sprint(name, ": ", strings.Count(text, call), " times ", call))
		}
	}
	text = strings.Replace(text, "redis.call('TIME')", "CLOCK", 1)
	text = strings.Replace(text, "redis.pcall('INFO', 'replication')", "'master_replid:' .. ID", 1)
	return redis.NewScript("local ID, CLOCK = ARGV[#ARGV - 2], { ARGV[#ARGV - 1], ARGV[#ARGV] }\nfor _ = 1, 3 do ARGV[#ARGV] = nil end\n" + text)
}

func newScripts(t *testing.T, client rdb.Client, run string) *scripts {
	s := &scripts{t: t, client: client, run: run, texts: map[string]*redis.Script{}}
	for _, name := range []string{"make", "renew", "order", "remove", "right"} {
		s.texts[name] = timed(name)
	}
	sub := client.(*redis.Client).PSubscribe(t.Context(), s.channel()+"*")
	t.Cleanup(func() { sub.Close() })
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.messages = sub.Channel()
	return s
}

func (s *scripts) channel() string { return "{load:" + s.run + "}:wake" }

func (s *scripts) keys() []string {
	var keys []string
	for name := range strings.FieldsSeq("budget workers due byload unowned laws log events spec totals snapshots series data stopped limiter") {
		keys = append(keys, "{load:"+s.run+"}:"+name)
	}
	return keys
}

func (s *scripts) call(name string, now int64, args ...any) *redis.Cmd {
	keys := s.keys()
	switch name {
	case "renew", "remove", "right":
		keys = keys[:8]
	case "order":
		keys = append(keys[:8:8], keys[10])
	}
	return s.texts[name].Run(context.Background(), s.client, keys, append(args, s.identity, now/1e6, now%1e6)...)
}

func (s *scripts) make(now int64, o Options, identity string, laws []lease.Law) {
	s.t.Helper()
	s.identity, s.logged = identity, 0
	text, plans := lease.PackLaws(laws)
	args := []any{"{}", "uid", 0, 1_000_000, "me", (&lease.Plan{Pieces: o.Pieces, Loop: o.Loop}).String(), o.Hold, o.Min, o.Span, o.Requests, o.Deadman, o.Seed, "", s.channel(), o.Bound.Rights, o.Bound.Allow, o.Bound.Until, identity, now, text}
	for _, p := range plans {
		args = append(args, p)
	}
	got, err := s.call("make", now, args...).StringSlice()
	if err != nil || got[0] != "CREATED" {
		s.t.Fatal(got, err)
	}
}

func (s *scripts) Renew(now int64, c lease.Call, known *lease.Laws) lease.Reply {
	s.t.Helper()
	args := []any{"uid", s.channel()}
	for _, a := range c.Args() {
		args = append(args, a)
	}
	texts, err := s.call("renew", now, args...).StringSlice()
	if err != nil {
		s.t.Fatalf("%+v: %v", c, err)
	}
	r, err := lease.ReadReply(texts, known)
	if err != nil {
		s.t.Fatalf("%+v: %q: %v", c, texts, err)
	}
	return r
}

func (s *scripts) Order(now int64, o Order) Answer {
	s.t.Helper()
	argument := pacer.JoinPieces(o.Pieces)
	switch o.Kind {
	case "deadman":
		argument = fmt.Sprint(o.Silence)
	case "scale", "cap":
		argument = fmt.Sprint(o.Factor)
	}
	f, err := s.call("order", now, "uid", s.channel(), o.ID, o.Kind, "me", "what", argument, o.Expected).StringSlice()
	if err != nil {
		s.t.Fatalf("%+v: %v", o, err)
	}
	a := Answer{ID: o.ID, Status: f[0]}
	fmt.Sscan(f[1]+" "+f[2], &a.T0, &a.Law)
	return a
}

func (s *scripts) Right(now int64, c RightCall) RightAnswer {
	s.t.Helper()
	args := []any{"uid", s.channel(), "read", "me"}
	if c.Store {
		kind := "store"
		if c.Lower {
			kind = "lower"
		}
		args = []any{"uid", s.channel(), kind, "me", c.Identity, c.Was, c.Bound.Rights, c.Bound.Allow, c.Bound.Until, c.Latest, asNumber(c.Frozen), 0}
	}
	f, err := s.call("right", now, args...).StringSlice()
	if err != nil {
		s.t.Fatalf("%+v: %v", c, err)
	}
	a := RightAnswer{Status: f[0], Identity: f[2], Bound: Bound{Rights: f[3]}, Settled: f[8] == "1", Frozen: f[9] != "0"}
	fmt.Sscan(f[1]+" "+f[4]+" "+f[5]+" "+f[6]+" "+f[7], &a.Now, &a.Bound.Allow, &a.Bound.Until, &a.Peak, &a.High)
	return a
}

// woken reads what was published: the names of those who were woken, and the laws for everybody.
func (s *scripts) woken() (names []string, published []string) {
	s.t.Helper()
	s.marks++
	mark := s.channel() + ":mark " + fmt.Sprint(s.marks)
	if err := s.client.Publish(s.t.Context(), mark, "").Err(); err != nil {
		s.t.Fatal(err)
	}
	for {
		m := await.Receive(s.t, "a message", s.messages)
		switch {
		case m.Channel == mark:
			slices.Sort(names)
			return names, published
		case m.Channel == s.channel():
			published = append(published, m.Payload)
		default:
			names = append(names, strings.TrimPrefix(m.Channel, s.channel()+":"))
		}
	}
}

// A dump is all that a server has of a run: what a replica knows of it.
type dump struct {
	hashes map[string]map[string]string
	zsets  map[string][]redis.Z
	log    []string
	logged int64
}

func (s *scripts) dump() (d dump) {
	ctx, keys := context.Background(), s.keys()
	d.hashes, d.zsets, d.logged = map[string]map[string]string{}, map[string][]redis.Z{}, s.logged
	for _, i := range []int{0, 1, 5} {
		d.hashes[keys[i]] = s.client.HGetAll(ctx, keys[i]).Val()
	}
	for _, i := range []int{2, 3, 4} {
		d.zsets[keys[i]] = s.client.ZRangeWithScores(ctx, keys[i], 0, -1).Val()
	}
	d.log = s.client.LRange(ctx, keys[6], 0, -1).Val()
	return d
}

func (s *scripts) lose() {
	if err := s.client.Del(context.Background(), s.keys()...).Err(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scripts) restore(d dump) {
	s.lose()
	s.logged = d.logged
	pipe := s.client.Pipeline()
	ctx := context.Background()
	for key, h := range d.hashes {
		if len(h) > 0 {
			pipe.HSet(ctx, key, h)
		}
	}
	for key, z := range d.zsets {
		if len(z) > 0 {
			pipe.ZAdd(ctx, key, z...)
		}
	}
	for _, e := range d.log {
		pipe.RPush(ctx, s.keys()[6], e)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		s.t.Fatal(err)
	}
}

func numbers(text string) (out []int64) {
	for ; len(text) >= 8; text = text[8:] {
		out = append(out, int64(binary.LittleEndian.Uint64([]byte(text[:8]))))
	}
	return out
}

func whole(text string) (out lease.Ranges) {
	for v := numbers(text); len(v) > 0; v = v[6:] {
		out = append(out, lease.Range{Lo: v[0], Hi: v[1], From: lease.Pos{Law: v[2], K: v[3]}, Since: lease.Pos{Law: v[4], K: v[5]}})
	}
	return out
}

// ordinary returns laws that can be compared: the run's own plan is not sent.
func ordinary(laws []lease.Law) (out []lease.Law) {
	for _, l := range laws {
		if l.Plan == nil || l.Plan.ID == 0 {
			l.Plan = &lease.Plan{}
		}
		out = append(out, l)
	}
	return out
}

// differs returns an error that names what differs between the server and the model.
func differs(what string, script, model any) error {
	if reflect.DeepEqual(script, model) {
		return nil
	}
	return fmt.Errorf("%s\nscript %+v\nmodel  %+v", what, script, model)
}

func same(a, b lease.Ranges) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// check compares what the server has stored with the model.
func (s *scripts) check(r *Run) error {
	ctx, keys := context.Background(), s.keys()
	pipe := s.client.Pipeline()
	budget, workers, laws := pipe.HGetAll(ctx, keys[0]), pipe.HGetAll(ctx, keys[1]), pipe.HGetAll(ctx, keys[5])
	due, rich, loose := pipe.ZRangeWithScores(ctx, keys[2], 0, -1), pipe.ZRange(ctx, keys[3], 0, -1), pipe.ZRangeWithScores(ctx, keys[4], 0, -1)
	log := pipe.LRange(ctx, keys[6], s.logged, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for _, err := range []error{
		s.checkCore(r, budget.Val()), s.checkLaws(r, budget.Val(), laws.Val()), s.checkMembers(r, workers.Val()),
		s.checkSets(r, due.Val(), rich.Val()), s.checkLoose(r, loose.Val()), s.checkLog(r, log.Val()),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scripts) checkCore(r *Run, h map[string]string) error {
	got, rest, err := lua.Read("core", h["core"])
	if err != nil {
		return fmt.Errorf("core: %w", err)
	}
	if rest != "" {
		return fmt.Errorf("core has %q at its end", rest)
	}
	phase, newest, begun, given := int64(0), int64(0), int64(0), int64(0)
	if r.laws != nil {
		all := r.laws.All()
		begun, phase, newest = 1, int64(r.laws.Newest().Phase), all[len(all)-1].ID
	}
	if r.given {
		given = 1
	}
	mine := map[string]int64{"tf": r.tf, "grace": r.grace, "noExpiryBefore": r.noExpiryBefore, "rebalancedAt": r.rebalancedAt, "clockEpoch": r.clockEpoch,
		"command": r.command, "started": r.started, "n": int64(len(r.present())), "w": weights(r.staying()), "hold": r.Hold, "min": int64(r.Min), "span": r.Span,
		"requests": r.Requests, "deadman": r.Deadman, "seed": r.Seed, "controllerAt": r.controllerAt, "newest": newest, "phase": phase, "begun": begun,
		"given": given, "free": int64(len(r.free)), "unassigned": int64(len(r.unassigned)),
		"allow": r.bound.Allow, "rightEnds": r.bound.Until, "peak": r.peak, "high": r.high, "frozen": int64(r.frozen)}
	for _, x := range got {
		if want, there := mine[x.Name]; x.Value != want && x.Name != "follow" || !there && x.Name != "follow" { // it only says when to look for the next law
			return fmt.Errorf("core: %s is %d by the script, %d in the model", x.Name, x.Value, want)
		}
	}
	return differs("last, epoch, rights", []string{h["last"], h["epoch"], h["rights"]}, []string{fmt.Sprint(r.last), r.epoch, r.bound.Rights})
}

func (s *scripts) checkLaws(r *Run, h, all map[string]string) error {
	var plans []string
	for name, text := range h {
		if strings.HasPrefix(name, "plan/") {
			plans = append(plans, text)
		}
	}
	got, err := lease.ReadLaws(h["laws"], plans, nil)
	if err != nil {
		return err
	}
	if err := differs("laws", ordinary(got), ordinary(r.laws.All())); err != nil {
		return err
	}
	if len(all) != len(r.ever.All()) {
		return fmt.Errorf("%d laws on the server, %d in the model", len(all), len(r.ever.All()))
	}
	for _, l := range r.ever.All() {
		text, _ := lease.PackLaws([]lease.Law{l})
		if all[fmt.Sprint(l.ID)] != text {
			return fmt.Errorf("law %d\nscript %v\nmodel  %v", l.ID, numbers(all[fmt.Sprint(l.ID)]), numbers(text))
		}
	}
	return nil
}

func (s *scripts) checkMembers(r *Run, records map[string]string) error {
	if len(records) != len(r.members)+len(r.replaced) {
		return fmt.Errorf("%d members on the server; %d in the model, %d replaced", len(records), len(r.members), len(r.replaced))
	}
	for name := range r.replaced {
		if records[name] == "" {
			return fmt.Errorf("%s is not on the server", name)
		}
	}
	for name, m := range r.members {
		record := records[name]
		v, holds, aims, err := lua.Holding(record)
		if err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
		n := func(field string) int64 { x, _ := strconv.ParseInt(v[field], 10, 64); return x }
		state, leaving := n("state"), n("leaving") == 1
		if state = min(state, 2); state == 0 && r.grace == 0 { // states from 2 on say how a member left
			state = 2
		}
		wantState := int64(0)
		switch {
		case m.gone:
			wantState = 2
		case m.epoch == r.epoch:
			wantState = 1
		}
		var held, target lease.Ranges
		for _, x := range holds {
			held = append(held, lease.Range{Lo: x.Lo, Hi: x.Hi, From: lease.Pos{Law: x.FromG, K: x.FromK}, Since: lease.Pos{Law: x.SinceG, K: x.SinceK}})
		}
		for _, x := range aims {
			target = append(target, lease.Range{Lo: x.Lo, Hi: x.Hi})
		}
		got := []any{v["inc"], n("seq"), n("weight"), n("version"), n("joins"), state, leaving, n("giving"), n("missing"), n("units"), n("known")}
		want := []any{m.Incarnation, m.seq, m.Weight, m.version, m.joins, wantState, m.leaving, m.gives().Len(), m.target.Minus(m.held).Len(), m.target.Len(), m.known}
		if err := differs("member "+name, got, want); err != nil {
			return err
		}
		if !same(held, m.held) || !same(target, m.target) {
			return fmt.Errorf("member %s\nscript holds %v, is to hold %v\nmodel  holds %v, is to hold %v", name, held, target, m.held, m.target)
		}
	}
	return nil
}

func (s *scripts) checkSets(r *Run, due []redis.Z, rich []string) error {
	got, want := map[string]int64{}, map[string]int64{}
	for _, z := range due {
		if name := z.Member.(string); len(name) <= 64 {
			got[name] = int64(z.Score)
		}
	}
	for _, m := range r.present() {
		want[m.Name] = m.drops
	}
	if err := differs("due", got, want); err != nil {
		return err
	}
	all := r.staying()
	slices.SortStableFunc(all, func(a, b *Member) int {
		if a.level() < b.level() {
			return -1
		} else if a.level() > b.level() {
			return 1
		}
		return 0
	})
	names := []string{}
	for _, m := range all {
		names = append(names, m.Name)
	}
	return differs("byload", rich, names)
}

func (s *scripts) checkLoose(r *Run, loose []redis.Z) error {
	var kinds [3]lease.Ranges
	for _, z := range loose {
		kind, text := int(z.Score)>>25, z.Member.(string)
		if len(text) == 16 {
			text += strings.Repeat("\x00", 32)
		}
		x := whole(text)
		if x[0].Lo != int64(z.Score)&(1<<25-1) {
			return fmt.Errorf("%v stands at %v", x, z.Score)
		}
		kinds[kind] = append(kinds[kind], x...)
	}
	for i, want := range []lease.Ranges{r.free, r.unknown, r.unassigned} {
		if !same(kinds[i], want) {
			return differs([]string{"free", "unknown", "unassigned"}[i], kinds[i], want)
		}
	}
	return nil
}

func (s *scripts) checkLog(r *Run, log []string) error {
	var got, want []string
	for _, e := range log {
		got = append(got, fmt.Sprint(numbers(e[:48]), e[48:]))
	}
	for _, e := range r.log[min(int(s.logged), len(r.log)):] {
		want = append(want, fmt.Sprint([]int64{e.Lo, e.Hi, e.From.Law, e.From.K, e.To.Law, e.To.K}, e.Owner))
	}
	slices.Sort(got)
	slices.Sort(want)
	s.logged = int64(len(r.log))
	return differs("log", got, want)
}

// world drives both implementations with the same random calls.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	now       int64
	options   Options
	r         *Run
	s         *scripts
	holders   []*lease.Holder
	names     []string
	old       []lease.Call // any that were made
	backup    *Run
	dump      dump
	orders    []Order
	published []lease.Law
	servers   int
	n         int
}

// TestScriptEqualsModel makes the same calls of the scripts and of the model. It compares all that they say and know.
// LOADCTL_TRACE=1 shows the calls.
func TestScriptEqualsModel(t *testing.T) {
	seeds := map[string]uint64{"redis": 40, "embedded": 12} // the embedded interpreter of Lua is some times slower
	if testing.Short() {
		seeds = map[string]uint64{"redis": 16, "embedded": 4}
	}
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		_, server, _ := strings.Cut(t.Name(), "/")
		equal(t, client, seeds[server])
	})
}

// equal plays seeds, or LOADCTL_SEEDS.
func equal(t *testing.T, client rdb.Client, seeds uint64) {
	if n, err := strconv.ParseUint(os.Getenv("LOADCTL_SEEDS"), 10, 64); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w := &world{t: t, rng: rng, now: 1_700_000_000_000_000, options: randomOptions(rng)}
			w.s = newScripts(t, client, fmt.Sprint("r", seed))
			w.s.make(w.now, w.options, "server0", nil)
			w.r = New(w.options, "server0")
			members := 1 + rng.IntN(12)
			if seed%5 == 4 { // more members than one call handles
				members += 30
			}
			for i := range members {
				w.join(fmt.Sprint("w", i))
			}
			for range 500 {
				w.step()
			}
		})
	}
}

func randomOptions(rng *rand.Rand) Options {
	var p pacer.Profile
	rate := func() pacer.Rate {
		return pacer.Rate{Num: rng.Int64N([]int64{3, 60, 900, 30_000}[rng.IntN(4)]), Den: 1 + rng.Int64N(3)}
	}
	switch rng.IntN(4) {
	case 0:
		p = pacer.Constant(rate(), time.Duration(rng.IntN(30))*time.Second)
	case 1:
		p, _ = pacer.Sine(pacer.PerSecond(500), pacer.PerSecond(500), 4*time.Second)
	default:
		var stages []pacer.Stage
		for range 1 + rng.IntN(5) {
			stages = append(stages, pacer.Stage{Length: time.Duration(1+rng.IntN(5_000_000)) * time.Microsecond, To: rate()})
		}
		p = pacer.Stages(rate(), stages...)
	}
	pieces, err := p.Pieces()
	if err != nil {
		panic(err)
	}
	o := Options{Pieces: pieces, Loop: p.Loop, Span: p.Length().Microseconds(), Min: rng.IntN(4), Hold: []int64{550_000, 2_000_000, 10_000_000, 600_000_000, 10 * 365 * 86_400_000_000}[rng.IntN(5)]}
	if p.Loop && rng.IntN(2) == 0 {
		o.Span = 30_000_000
	}
	if rng.IntN(3) == 0 {
		o.Requests = 1 + rng.Int64N(10_000)
	}
	if rng.IntN(6) == 0 {
		o.Deadman = 5_000_000
	}
	if rng.IntN(3) == 0 {
		o.Seed = 1 + rng.Int64N(poisson.MaxSeed)
	}
	if rng.IntN(2) == 0 {
		o.Bound = Bound{Rights: "right", Allow: (&lease.Plan{Pieces: o.Pieces}).Peak(), Until: 1_700_000_000_000_000 + rng.Int64N(60_000_000)}
	}
	return o
}

// join is a process that begins, maybe under a name that another one has.
func (w *world) join(name string) {
	w.n++
	w.names = append(w.names, name)
	w.holders = append(w.holders, lease.NewHolder(name, fmt.Sprint("i", w.n), 1+w.rng.Int64N(3)))
}

func (w *world) chance(n int) bool { return w.rng.IntN(n) == 0 }

func (w *world) step() {
	w.t.Helper()
	w.now += w.rng.Int64N([]int64{100, 20_000, 100_000, 100_000, 300_000, 1_500_000}[w.rng.IntN(6)])
	if w.chance(80) {
		w.now += w.rng.Int64N([]int64{3_000_000, 15_000_000}[w.rng.IntN(2)])
	}
	if w.chance(100) {
		w.now -= w.rng.Int64N([]int64{400_000, 3_000_000, 20_000_000}[w.rng.IntN(3)]) // Redis' clock steps back
	}
	switch w.rng.IntN(60) {
	case 0, 1:
		w.command()
	case 16, 17:
		w.right()
	case 2:
		name := w.names[w.rng.IntN(len(w.names))]
		w.r.Remove(w.now, name)
		if err := w.s.call("remove", w.now, "uid", w.s.channel(), name, "me").Err(); err != nil {
			w.t.Fatal(err)
		}
	case 3:
		if len(w.holders) < 14 {
			w.join(fmt.Sprint("w", w.rng.IntN(14)))
		}
	case 4:
		w.holders[w.rng.IntN(len(w.holders))].Leave()
	case 5:
		w.backup, w.dump = w.r.Clone(), w.s.dump()
	case 6:
		w.failover()
	case 7:
		if w.chance(4) {
			w.restore()
		}
	case 8, 9, 10, 11, 12, 13, 14, 15:
		w.adversary()
	default:
		w.renew(w.holders[w.rng.IntN(len(w.holders))])
	}
	w.compare()
}

func (w *world) compare() {
	w.t.Helper()
	if err := w.s.check(w.r); err != nil {
		w.t.Fatal(err)
	}
	if err := w.r.Check(); err != nil {
		w.t.Fatal(err)
	}
	names, published := w.s.woken()
	want := w.r.Woken()
	for _, text := range published {
		laws, err := lease.ReadMessage(text, nil)
		if err == nil {
			err = differs("published", ordinary(laws), ordinary(w.r.laws.All()))
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.published = laws
	}
	if len(published) == 0 && !slices.Equal(names, want) {
		w.t.Fatalf("woken: script %v, model %v", names, want)
	}
}

// both makes a call of both, and compares the replies.
func (w *world) both(c lease.Call, known *lease.Laws) lease.Reply {
	w.t.Helper()
	got, want := w.s.Renew(w.now, c, known), w.r.Renew(w.now, c)
	if os.Getenv("LOADCTL_TRACE") != "" {
		w.t.Logf("%d %s renew %s/%s seq %d epoch %q leaving %v claim %v releases %v: %s", w.now, w.s.identity, c.Worker, c.Incarnation, c.Seq, c.Epoch, c.Leaving, c.Claim, c.Releases, want.Status)
	}
	a, b := got, want
	a.Laws, b.Laws = ordinary(a.Laws), ordinary(b.Laws)
	b.List = b.List.Each(func(s *lease.Range) { s.Since = lease.Pos{} })
	if len(b.List) == 0 {
		b.List = a.List[:0]
	}
	if len(b.Give) == 0 {
		b.Give = a.Give[:0]
	}
	if err := differs(fmt.Sprintf("call %+v claim %+v", c, c.Claim), a, b); err != nil {
		w.t.Fatal(err)
	}
	return got
}

// renew is a call of a worker as it is.
func (w *world) renew(h *lease.Holder) {
	w.t.Helper()
	if w.chance(10) && w.published != nil {
		h.Learn(w.published)
	}
	c := h.Call()
	w.old = append(w.old, c)
	r := w.both(c, h.View().Laws)
	if w.chance(20) { // the reply is lost
		return
	}
	h.Receive(w.now, r)
	if !w.chance(4) {
		h.Agreed(h.View().Version, w.now, w.now)
	}
	if r.Status == lease.Gone || r.Status == lease.Replaced {
		i := slices.Index(w.holders, h)
		w.holders[i] = lease.NewHolder(w.names[i], fmt.Sprint("again", w.n), 1+w.rng.Int64N(3))
		w.n++
	}
}

func (w *world) somewhere() lease.Ranges {
	var out lease.Ranges
	at := int64(0)
	for at < 1<<24 && len(out) < 4 {
		lo := at + w.rng.Int64N(1<<[]int{4, 14, 22}[w.rng.IntN(3)])
		hi := lo + 1 + w.rng.Int64N(1<<[]int{4, 14, 23}[w.rng.IntN(3)])
		if hi > 1<<24 {
			break
		}
		s := lease.Range{Lo: lo, Hi: hi}
		if !w.chance(3) && w.r.laws != nil {
			p := w.r.pos(w.now + w.rng.Int64N(3_000_000) - 1_500_000)
			s.From = lease.Pos{Law: p.Law, K: max(0, p.K+w.rng.Int64N(100)-50)}
		}
		out = append(out, s)
		at = hi + w.rng.Int64N(2)*w.rng.Int64N(1<<20)
	}
	return out
}

// adversary makes a call that no worker would make now: an old one again, or nonsense.
func (w *world) adversary() {
	w.t.Helper()
	if len(w.old) == 0 {
		return
	}
	c := w.old[max(0, len(w.old)-1-w.rng.IntN(60))]
	if !w.chance(3) {
		c.Seq = max(1, c.Seq+w.rng.Int64N(5)-2)
		switch w.rng.IntN(9) {
		case 0:
			c.Epoch = []string{"", w.r.epoch, "server1", "x"}[w.rng.IntN(4)]
		case 1:
			c.Claim = &lease.Claim{Held: w.somewhere(), P: max(0, w.r.tf+w.rng.Int64N(4_000_000)), ClockEpoch: w.r.clockEpoch}
			c.Laws = w.r.laws.All()
			if w.chance(3) {
				c.Claim.ClockEpoch, c.Laws = w.rng.Int64N(10), nil
			}
			if !w.chance(3) {
				c.Epoch = "other"
			}
		case 2:
			c.Releases = w.somewhere()
		case 3:
			if m := w.r.members[c.Worker]; m != nil && len(m.held) > 0 {
				c.Incarnation, c.Seq, c.Epoch = m.Incarnation, m.seq+1, w.r.epoch
				x := m.held[w.rng.IntN(len(m.held))]
				x.From, x.Since = lease.Later(x.From, w.r.pos(w.now)), lease.Pos{}
				c.Releases, c.Claim = lease.Ranges{x}, nil
			}
		case 4:
			c.Weight = 1 + w.rng.Int64N(5)
		case 5:
			c.Known, c.Version = max(0, w.r.command-w.rng.Int64N(3)), w.rng.Int64N(20)
		case 6:
			c.Leaving = (c.Leaving + 1) % 3
		case 7:
			c.Worker, c.Incarnation = fmt.Sprint("x", w.rng.IntN(2)), fmt.Sprint("i", w.rng.IntN(3))
		case 8:
			if w.backup != nil {
				c.Laws = w.backup.laws.All()
			}
		}
	}
	w.old = append(w.old, c)
	w.both(c, w.r.ever)
}

func (w *world) command() {
	w.t.Helper()
	kind := []string{"start", "set-rate", "set-rate", "set-rate", "scale", "scale", "cap", "pause", "resume", "resume", "touch", "deadman", "stop"}[w.rng.IntN(13)]
	if kind == "stop" && w.rng.IntN(5) > 0 {
		return
	}
	ps := randomOptions(w.rng).Pieces
	o := Order{ID: fmt.Sprint(len(w.orders)), Kind: kind, Pieces: ps, Factor: []int64{1_000_000, 500_000, 1 + w.rng.Int64N(1_000_000)}[w.rng.IntN(3)], Silence: 5_000_000 + w.rng.Int64N(10_000_000)}
	if w.chance(4) {
		o.Expected = w.r.command - w.rng.Int64N(2)
		o.Expected = max(0, o.Expected)
	}
	w.orders = append(w.orders, o)
	if w.chance(4) { // a repeated command changes nothing
		o = w.orders[w.rng.IntN(len(w.orders))]
	}
	got, want := w.s.Order(w.now, o), w.r.Order(w.now, o)
	if err := differs(fmt.Sprintf("order %+v", o), got, want); err != nil {
		w.t.Fatal(err)
	}
}

// right reads or replaces what the run may send: mostly as it was read, now and then too late, or on another server.
func (w *world) right() {
	w.t.Helper()
	read := w.r.Right(w.now, RightCall{})
	if err := differs("read the rights", w.s.Right(w.now, RightCall{}), read); err != nil {
		w.t.Fatal(err)
	}
	if w.chance(4) || w.options.Bound == (Bound{}) && !w.chance(8) {
		return
	}
	c := RightCall{Store: true, Identity: read.Identity, Was: read.Bound.Rights, Latest: w.now + w.rng.Int64N(2_000_000), Frozen: w.chance(6), Lower: w.chance(3)}
	c.Bound = Bound{Rights: fmt.Sprint("right ", w.now), Allow: read.High, Until: w.now + w.rng.Int64N(20_000_000)}
	switch w.rng.IntN(6) {
	case 0:
		c.Bound.Allow = w.rng.Int64N(30_000_000_000)
	case 1:
		c.Bound.Allow, c.Bound.Until = 30_000_000_000, endless
	case 2:
		c.Identity = "another"
	case 3:
		c.Was, c.Latest = "other rights", w.now-1
	}
	w.compare()
	w.now += w.rng.Int64N(500_000)
	if err := differs(fmt.Sprintf("replace the rights %+v", c), w.s.Right(w.now, c), w.r.Right(w.now, c)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) failover() {
	w.servers++
	identity := fmt.Sprint("server", w.servers)
	if w.backup != nil {
		w.r, w.backup = w.backup, nil
		w.s.restore(w.dump)
	}
	w.r.Become(identity)
	w.s.identity = identity
}

// restore loses all, and a worker restores it.
func (w *world) restore() {
	w.t.Helper()
	laws := w.holders[w.rng.IntN(len(w.holders))].View().Laws.All()
	if len(laws) == 0 {
		return
	}
	w.s.lose()
	w.backup = nil
	identity := w.s.identity
	if w.chance(2) { // on another server
		w.servers++
		identity = fmt.Sprint("server", w.servers)
	}
	stopped := w.chance(4)
	if stopped {
		w.s.client.Set(context.Background(), w.s.keys()[13], "me", 0)
	}
	w.s.make(w.now, w.options, identity, laws)
	w.r = Restore(w.options, identity, w.now, laws)
	if stopped {
		w.r.Command(w.now, "stop", nil)
	}
}
