package model

import (
	"context"
	"testing"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/pacer"
)

// caller makes a member's calls to the script.
type caller struct {
	*scripts
	ask pacer.Ask
	now *int64
}

const began = int64(1_700_000_000_000_000) // µs

// callers are members of a run at 1,000/s, who share a clock.
func callers(t *testing.T, s *scripts, names ...string) (all []*caller, now *int64) {
	t.Helper()
	now = new(int64)
	*now, s.server = began, "a"
	for _, name := range names {
		all = append(all, &caller{scripts: s, now: now, ask: pacer.Ask{Worker: name, Incarnation: "i", Weight: 1, RTTHi: 1000}})
	}
	return all, now
}

func (c *caller) call() pacer.Reply {
	c.t.Helper()
	c.ask.Seq++
	c.ask.Until = *c.now + 500_000
	r := c.Lease(*c.now, c.ask)
	c.ask.Ack, c.ask.PhiHeld, c.ask.Leased = r.LeasedAt, r.Permit.Phi(), c.ask.Leased+r.Range.N
	*c.now += 95_000
	return r
}

func thousand(members int64) Options {
	ps, err := pacer.Constant(pacer.PerSecond(1000), 0).Pieces()
	if err != nil {
		panic(err)
	}
	return Options{Pieces: ps, Min: members, PermitFor: 10_000_000}
}

// While a run is paused the clock of Redis goes back by an hour. It goes on when it is resumed, and ends when it is stopped.
func TestClockGoesBackInAPause(t *testing.T) {
	client := redistest.Start(t).Client()
	for _, kind := range []string{"resume", "stop"} {
		t.Run(kind, func(t *testing.T) {
			ws, now := callers(t, newScripts(t, client, kind, New(thousand(1)).opts), "w")
			w := ws[0]
			for range 20 {
				w.call()
			}
			w.Command(*now, "p", "pause", nil)
			w.call()
			*now -= 3600_000_000
			w.call()
			w.Command(*now, "c", kind, nil)
			var n int64
			var r pacer.Reply
			for range 20 {
				r = w.call()
				n += r.Range.N
			}
			if kind == "resume" && n < 1000 {
				t.Errorf("%d slots in two seconds", n)
			}
			if last := r.Recalls[len(r.Recalls)-1]; kind == "stop" && (r.Status != pacer.StatusStopped || last.T0 > *now) {
				t.Errorf("%s, from %d s from now on", r.Status, (last.T0-*now)/1_000_000)
			}
		})
	}
}

// What a member may hold is forgotten when it is past, also after the clock has gone back.
func TestRecordStaysSmall(t *testing.T) {
	ws, now := callers(t, newScripts(t, redistest.Start(t).Client(), "x", New(thousand(1)).opts), "w")
	size := func() int {
		return len(ws[0].client.HGet(context.Background(), ws[0].key("workers"), "w").Val())
	}
	for range 50 {
		ws[0].call()
	}
	before := size()
	*now -= 3600_000_000
	for range 500 {
		ws[0].call()
	}
	if after := size(); after > 2*before {
		t.Errorf("its record had %d bytes, and has %d", before, after)
	}
}

// While nobody can call nobody can be heard: that is no reason to stop, whoever is the first to come back, and if only to leave.
func TestSilenceOfRedisIsNotTheControllers(t *testing.T) {
	client := redistest.Start(t).Client()
	o := thousand(2)
	o.Deadman = 2_000_000
	ws, now := callers(t, newScripts(t, client, "x", New(o).opts), "a", "b")
	for range 5 {
		ws[0].call()
		ws[1].call()
	}
	*now += 5_000_000
	if err := ws[0].scripts.call(ws[0].leave, *now, "a", "i", "left", "").Err(); err != nil {
		t.Fatal(err)
	}
	if r := ws[1].call(); r.Status != pacer.StatusOK && r.Status != pacer.StatusSuspect {
		t.Errorf("after 5 s without Redis: %s", r.Status)
	}
	for range 25 {
		ws[1].call()
	}
	if r := ws[1].call(); r.Status != pacer.StatusStopped {
		t.Errorf("2 s later: %s", r.Status)
	}
}

// The permits of a run with a deadman's switch end when it would be stopped.
func TestDeadmanEndsPermits(t *testing.T) {
	o := thousand(1)
	o.Deadman = 3_000_000
	ws, now := callers(t, newScripts(t, redistest.Start(t).Client(), "x", New(o).opts), "w")
	for range 12 {
		ws[0].call()
	}
	if p := ws[0].call().Permit; p.Phi() == 0 || p.Until > began+500_000+o.Deadman || p.Until < *now {
		t.Errorf("permitted until %d µs after the beginning", p.Until-began)
	}
}

// A member knows of a generation that this server has forgotten, and whose id is above all it would give: what it is granted from then on has
// a higher one, or it would take all of it for recalled.
func TestGenerationsAreNeverBehind(t *testing.T) {
	ws, _ := callers(t, newScripts(t, redistest.Start(t).Client(), "x", New(thousand(1)).opts), "w")
	w := ws[0]
	for range 12 {
		w.call()
	}
	forgotten := began + 3600_000_000
	w.ask.Known = forgotten
	var n int64
	for range 20 {
		if r := w.call(); r.Range.N > 0 && r.Range.Law.ID > forgotten {
			n += r.Range.N
		} else if r.Range.N > 0 {
			t.Fatalf("granted of generation %d, it knows %d", r.Range.Law.ID, forgotten)
		}
	}
	if n < 1000 {
		t.Errorf("%d slots in two seconds", n)
	}
}

// What a member was promised is not taken back when H shrinks.
func TestPromiseNeverGoesBack(t *testing.T) {
	b := New(thousand(2))
	now, last, highest := began, int64(0), int64(0)
	asks := map[string]*pacer.Ask{"a": {Worker: "a", Incarnation: "i", Weight: 1}, "b": {Worker: "b", Incarnation: "i", Weight: 1}}
	call := func(name string, rtt int64) {
		a := asks[name]
		for range 2 {
			a.Seq++
			a.Until, a.RTTHi = now+1_000_000, rtt
			r := b.Lease(now, *a)
			a.Ack = r.LeasedAt
			if r.Status != pacer.StatusSuspect {
				a.PhiHeld, a.Leased = r.Permit.Phi(), a.Leased+r.Range.N
				return
			}
		}
	}
	for i := range 4000 {
		rtt, step := int64(300_000), int64(60_000)
		if i > 200 {
			rtt, step = 1000, 10_000
		}
		call("a", rtt)
		call("b", rtt)
		if from := b.Members["a"].From; i > 200 && from < last {
			t.Fatalf("H is %d µs, and it went back by %d", b.Reach, last-from)
		}
		last, highest = b.Members["a"].From, max(highest, b.Reach)
		now += step
	}
	if b.Reach >= highest {
		t.Errorf("H did not shrink: %d", b.Reach)
	}
}
