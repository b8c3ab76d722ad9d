package rights_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

const host = "127.0.0.1:9"

// bed is a private Redis with a ledger that grants.
type bed struct {
	*testing.T
	client rdb.Client
	ledger ledger.Ledger
}

// each runs a test on a real and on an embedded server.
func each(t *testing.T, test func(b *bed)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) { test(&bed{t, client, ledgertest.Calm(t, client)}) })
}

// asked is a run of some requests a second.
func asked(qps int64) spec.Spec {
	return spec.Spec{Target: targets.Spec{URL: "http://" + host + "/"}, QPS: pacer.PerSecond(qps), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
}

func (b *bed) create(name string, s spec.Spec) *run.Run {
	b.Helper()
	r, _, err := rights.Create(b.Context(), b.client, name, s, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bed) budget(rate string, cut bool) ledger.Change {
	b.Helper()
	n, err := ledger.ParseRate(rate)
	if err != nil {
		b.Fatal(err)
	}
	c, err := b.ledger.Set(b.Context(), host, n, cut, ledger.Note{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// rates returns what runs hold, in requests per second, by their names.
func (b *bed) rates() map[string]int64 {
	b.Helper()
	s, err := b.ledger.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]int64{}
	for _, r := range s.Rows {
		out[r.People.Run] += r.Rate / lease.Unscaled
	}
	return out
}

func (b *bed) renew(r *run.Run) (over bool) {
	b.Helper()
	over, err := rights.NewKeeper(r).Renew(b.Context(), false)
	if err != nil {
		b.Fatal(err)
	}
	return over
}

func (b *bed) state(r *run.Run) *run.State {
	b.Helper()
	s, err := r.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// member is a worker that renews when it is asked to.
type member struct {
	*bed
	*lease.Holder
	leases *run.Leases
}

// works joins a worker, which begins the run.
func (b *bed) works(r *run.Run) member {
	b.Helper()
	m := member{b, lease.NewHolder("w", "i", 1), r.Leases(r.Client)}
	await.True(b, "the beginning of the run", func() bool { m.renew(); return b.state(r).Phase == "running" })
	return m
}

func (m member) renew() lease.Reply {
	m.Helper()
	reply, err := m.leases.Renew(m.Context(), m.Call())
	if err != nil {
		m.Fatal(err)
	}
	m.Receive(reply.Now, reply)
	m.Agreed(m.View().Version, reply.Now, reply.Now)
	return reply
}

// isRoom reports whether an error says that there is no room, and contains all parts.
func isRoom(err error, parts ...string) bool {
	_, room := errors.AsType[*rights.RoomError](err)
	for _, p := range parts {
		room = room && strings.Contains(err.Error(), p)
	}
	return room
}

// TestCreateReserves asserts that a run holds the peak of its plan before it is there, and that there is no run without room.
func TestCreateReserves(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		b.create("a", asked(600))
		if got := b.rates(); got["a"] != 600 {
			b.Errorf("%v", got)
		}
		_, _, err := rights.Create(b.Context(), b.client, "b", asked(500), run.Options{})
		if !isRoom(err, host+" has no room for 500/s", "400/s of its budget is left", "a 600/s until", "give a rate up to 400/s") {
			b.Errorf("%v", err)
		}
		if _, err := run.Open(b.Context(), b.client, "b"); !errors.Is(err, run.ErrNoRun) {
			b.Errorf("there is a run: %v", err)
		}
		if _, created, err := rights.Create(b.Context(), b.client, "a", asked(600), run.Options{}); created || err != nil {
			b.Errorf("a run that is there: %v, %v", created, err)
		}
		if got := b.rates(); len(got) != 1 || got["a"] != 600 {
			b.Errorf("%v", got)
		}
	})
}

// TestRunsWithoutAHostNeedNoRights asserts that a run that sends to no host has no row.
func TestRunsWithoutAHostNeedNoRights(t *testing.T) {
	each(t, func(b *bed) {
		s := asked(100)
		s.Target.URL = "noop://"
		if r := b.create("a", s); !b.renew(r) || len(b.rates()) != 0 {
			b.Errorf("%v", b.rates())
		}
	})
}

// TestUnfitRunsAreRefused asserts that a run that cannot keep a budget is not made at an endpoint that has one.
func TestUnfitRunsAreRefused(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		most, hold := asked(0), asked(10)
		most.QPS, most.Max, hold.OnRedisLoss = pacer.Rate{}, true, spec.LossHold
		for what, s := range map[string]spec.Spec{"--qps max": most, "--on-redis-loss hold": hold} {
			if _, _, err := rights.Create(b.Context(), b.client, "x", s, run.Options{}); err == nil || !strings.Contains(err.Error(), what) {
				b.Errorf("%s: %v", what, err)
			}
		}
		if got := b.rates(); len(got) != 0 {
			b.Errorf("%v", got)
		}
	})
}

// TestChangeRaises asserts that a higher rate gets its right first, that it is refused without room, and that a lower one
// needs none.
func TestChangeRaises(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		r := b.create("a", asked(300))
		set := func(qps int64) (run.Change, error) {
			return rights.Change(b.Context(), r, func() (run.Change, error) { return r.SetRate(b.Context(), pacer.PerSecond(qps), 0) })
		}
		b.works(r)
		if _, err := r.SetRate(b.Context(), pacer.PerSecond(900), 0); err == nil {
			b.Error("a rate above the right is set")
		}
		if c, err := set(900); err != nil || !c.Changed || b.rates()["a"] != 900 {
			b.Errorf("%+v, %v, %v", c, err, b.rates())
		}
		if _, err := set(1001); !isRoom(err) || b.rates()["a"] != 900 {
			b.Errorf("%v, %v", err, b.rates())
		}
		if c, err := set(10); err != nil || !c.Changed || b.rates()["a"] != 900 { // workers may go by the higher rate
			b.Errorf("%+v, %v, %v", c, err, b.rates())
		}
	})
}

// TestRenewObeysACut asserts that a run comes down to its part of a cut, and gives the rest back when its workers know that.
func TestRenewObeysACut(t *testing.T) {
	each(t, func(b *bed) {
		r := b.create("a", asked(800))
		w := b.works(r)
		change := b.budget("200", true)
		b.renew(r)
		await.True(b, "the lower rate", func() bool { return b.state(r).Rate == 200 })
		if got := b.rates()["a"]; got != 800 {
			b.Errorf("%d/s are reserved before the worker knows the lower rate", got)
		}
		await.True(b, "the room that is given back", func() bool { w.renew(); b.renew(r); return b.rates()["a"] == 200 })
		if status, err := b.ledger.Known(b.Context(), change); err != nil || status != "DONE" {
			b.Errorf("%s, %v", status, err)
		}
		if reply := w.renew(); reply.P <= reply.Now {
			b.Errorf("a worker of a run that obeys gets no lease: %+v", reply)
		}
	})
}

// TestFreeze asserts that a freeze pauses a run, bars changes, and that its end resumes what it has paused, and nothing else.
func TestFreeze(t *testing.T) {
	each(t, func(b *bed) {
		sends, rests := b.create("sends", asked(100)), b.create("rests", asked(100))
		b.works(sends)
		b.works(rests)
		if _, err := rests.Pause(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := b.ledger.Freeze(b.Context(), "127.0.0.1", ledger.Note{Text: "why"}); err != nil {
			b.Fatal(err)
		}
		list, err := b.ledger.List(b.Context())
		if err != nil || len(list.Rows) != 2 {
			b.Fatal(list, err)
		}
		if err := rights.Deliver(b.Context(), b.client, list.Rows); err != nil {
			b.Fatal(err)
		}
		await.True(b, "the pause", func() bool { return b.state(sends).Phase == "paused" })
		if _, err := sends.Resume(b.Context()); !rights.Refused(err) {
			b.Errorf("resume in a freeze: %v", err)
		}
		_, _, err = rights.Create(b.Context(), b.client, "new", asked(1), run.Options{})
		if !isRoom(err, "is frozen", "loadctl budget thaw") {
			b.Errorf("a new run in a freeze: %v", err)
		}
		if _, err := b.ledger.Thaw(b.Context(), "127.0.0.1", ledger.Note{}); err != nil {
			b.Fatal(err)
		}
		b.renew(sends)
		b.renew(rests)
		await.True(b, "the run that goes on", func() bool { return b.state(sends).Phase == "running" })
		if phase := b.state(rests).Phase; phase != "paused" {
			b.Errorf("a run that somebody has paused is %s", phase)
		}
	})
}

// TestCutInAFreeze asserts that a run whose budget was cut while its endpoint was frozen goes on at the lower rate.
func TestCutInAFreeze(t *testing.T) {
	each(t, func(b *bed) {
		r := b.create("a", asked(800))
		w := b.works(r)
		if _, err := b.ledger.Freeze(b.Context(), host, ledger.Note{}); err != nil {
			b.Fatal(err)
		}
		b.renew(r)
		b.budget("200", true)
		b.renew(r)
		if _, err := b.ledger.Thaw(b.Context(), host, ledger.Note{}); err != nil {
			b.Fatal(err)
		}
		await.True(b, "the run at the lower rate", func() bool {
			w.renew()
			b.renew(r)
			s := b.state(r)
			return s.Phase == "running" && s.Rate == 200
		})
	})
}

// TestPauseInAFreezeStays asserts that the end of a freeze does not resume a run that somebody paused meanwhile.
func TestPauseInAFreezeStays(t *testing.T) {
	each(t, func(b *bed) {
		r := b.create("a", asked(100))
		b.works(r)
		for _, change := range []func(context.Context, string, ledger.Note) (ledger.Change, error){b.ledger.Freeze, b.ledger.Thaw} {
			if _, err := change(b.Context(), host, ledger.Note{}); err != nil {
				b.Fatal(err)
			}
			b.renew(r)
			if _, err := r.Pause(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if phase := b.state(r).Phase; phase != "paused" {
			b.Errorf("it is %s", phase)
		}
	})
}

// TestBurstIsReserved asserts that a run holds what its limiter lets pass above the rate, and that a higher burst needs room.
func TestBurstIsReserved(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		s := asked(100)
		s.Limiter, s.Burst = "token-bucket", 50
		r := b.create("a", s)
		if got := b.rates()["a"]; got != 150 {
			b.Errorf("100/s and a burst of 50 hold %d/s", got)
		}
		if err := rights.NewKeeper(r).RaiseFor(b.Context(), 800); err != nil || b.rates()["a"] != 900 {
			b.Errorf("a burst of 800: %v, %v", err, b.rates())
		}
		if err := rights.NewKeeper(r).RaiseFor(b.Context(), 901); !isRoom(err) || b.rates()["a"] != 900 {
			b.Errorf("a burst of 901: %v, %v", err, b.rates())
		}
	})
}

// TestRestoredRunIsVerified asserts that a run that Redis has lost leases nothing before the ledger was asked again, and that
// it brings its budget back.
func TestRestoredRunIsVerified(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		r := b.create("a", asked(600))
		w := b.works(r)
		b.renew(r)
		other, err := run.Open(b.Context(), b.client, "a")
		if err != nil {
			b.Fatal(err)
		}
		if err := b.client.FlushAll(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		if err := other.Restore(b.Context(), 0, w.View().Laws.All(), true); err != nil {
			b.Fatal(err)
		}
		p := w.View().P
		var reply lease.Reply
		await.True(b, "an answer", func() bool { reply = w.renew(); return reply.Status == lease.OK })
		if reply.P > reply.Now || w.View().P != p {
			b.Errorf("before the ledger was asked there is a lease until %d, it is %d; the worker goes by %d, before by %d", reply.P, reply.Now, w.View().P, p)
		}
		b.renew(r)
		if got := b.rates()["a"]; got != 600 {
			b.Errorf("it holds %d/s", got)
		}
		s, err := b.ledger.List(b.Context())
		if err != nil || s.Budget(host).Rate != 1000*lease.Unscaled {
			b.Errorf("%+v, %v", s.Budgets, err)
		}
		if reply = w.renew(); reply.P <= reply.Now {
			b.Errorf("there is no lease: until %d, it is %d", reply.P, reply.Now)
		}
	})
}

// TestClosedLoopIsPaused asserts that a run without a rate is paused when its endpoint gets a budget.
func TestClosedLoopIsPaused(t *testing.T) {
	each(t, func(b *bed) {
		s := asked(0)
		s.QPS, s.Max = pacer.Rate{}, true
		r := b.create("a", s)
		b.works(r)
		b.renew(r)
		if phase := b.state(r).Phase; phase != "running" {
			b.Errorf("without a budget it is %s", phase)
		}
		b.budget("1000", false)
		b.renew(r)
		await.True(b, "the pause", func() bool { return b.state(r).Phase == "paused" })
	})
}

// TestKeepGivesBack asserts that one worker at a time keeps the rights, and that the last one gives them back.
func TestKeepGivesBack(t *testing.T) {
	each(t, func(b *bed) {
		r := b.create("a", asked(100))
		w := b.works(r)
		ctx, stop := context.WithCancel(b.Context())
		kept := make(chan struct{})
		go func() {
			rights.Keep(ctx, r, "w/i", slog.New(slog.DiscardHandler))
			close(kept)
		}()
		await.True(b, "a judge", func() bool { return b.client.Get(b.Context(), r.Keys.Keeper).Val() == "w/i" })
		if _, err := r.Abort(b.Context(), "test"); err != nil {
			b.Fatal(err)
		}
		await.True(b, "the end of the run", func() bool { s := b.state(r); return !s.EndedAt.IsZero() && !s.Now().Before(s.EndedAt) })
		w.Halt(w.renew().Now)
		await.True(b, "its leaving", func() bool { return w.renew().Status == lease.Gone })
		stop()
		await.Closed(b, "the end of the judge", kept)
		if got := b.rates(); len(got) != 0 || b.client.Exists(b.Context(), r.Keys.Keeper).Val() != 0 {
			b.Errorf("%v is held, or the lock", got)
		}
	})
}
