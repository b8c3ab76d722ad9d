package model

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/pacer"
)

// kept is a run at a constant rate, with a limiter or without, on a real server in a time of its own. What goes wrong in it is told by tests.
type kept struct {
	*scripts
	gated bool
	now   int64
	asks  map[string]pacer.Ask
	last  map[string]pacer.Reply
	slots map[string]int64 // granted
}

// beat is how far apart calls are, µs.
const beat = 95_000

func newKept(t *testing.T, client *redis.Client, script, settings string, rate int64, o Options) *kept {
	pieces, err := pacer.Constant(pacer.PerSecond(rate), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	o.Pieces, o.Min, o.Horizon, o.TTL, o.Qmax = pieces, 1, 500_000, 1_000_000, 10_000
	k := &kept{now: 1_700_000_000_000_000, asks: map[string]pacer.Ask{}, last: map[string]pacer.Reply{}, slots: map[string]int64{}}
	k.scripts = newScripts(t, client, "kept", o)
	if k.gated = script != ""; k.gated {
		k.lease = timed("lease/" + script)
		if err := client.HSet(t.Context(), k.key("budget"), "limit", settings).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// ask makes a member's next call.
func (k *kept) ask(name string) pacer.Reply {
	k.t.Helper()
	a := k.asks[name]
	if a.Worker == "" {
		a = pacer.Ask{Worker: name, Incarnation: fmt.Sprint("i", k.now), Weight: 1, RTTHi: 1000}
	}
	a.Seq++
	a.Until = k.now + 500_000
	keys := []string{k.key("budget"), k.key("workers"), k.key("seen"), k.key("events"), k.key("laws")}
	if k.gated {
		k.client.Persist(k.t.Context(), k.key("limiter")) // its lifetime goes by the real time
		keys = append(keys, k.key("limiter"))
	}
	f, err := k.lease.Run(context.Background(), k.client, keys,
		"uid", a.Worker, a.Incarnation, a.Numbers(), k.server, k.now/1e6, k.now%1e6).StringSlice()
	if err != nil {
		k.t.Fatal(err)
	}
	r, err := pacer.ParseReply(f)
	if err != nil {
		k.t.Fatal(err)
	}
	a.Ack, a.PhiHeld, a.Leased, a.Known = r.LeasedAt, r.Permit.Phi(), a.Leased+r.Range.N, max(a.Known, r.Range.Law.ID)
	k.asks[name], k.last[name] = a, r
	k.slots[name] += r.Range.N
	return r
}

// goOn asks n times, a beat apart.
func (k *kept) goOn(name string, n int) {
	k.t.Helper()
	for range n {
		k.ask(name)
		k.now += beat
	}
}

// gates are a run without a limiter, and some with one: script and settings.
func gates() map[string][2]string {
	return map[string][2]string{
		"none": {}, "token-bucket": {"token_bucket", "100:0:0:0:0"}, "gcra": {"gcra", "100:0:0:0:0"}, "leaky-bucket": {"leaky_bucket", "100:0:0:1:0"},
		"fixed-window": {"fixed_window", "0:1000000:0:0:0"}, "sliding-log": {"sliding_log", "0:1000000:0:0:0"},
	}
}

// What a member has sent on its permit is not made up for once more, however it ends: forgotten, started again, or by leaving.
func TestGateAfterPermit(t *testing.T) {
	for name, gate := range gates() {
		for _, end := range []string{"expires", "is replaced", "leaves"} {
			t.Run(name+" "+end, func(t *testing.T) {
				k := newKept(t, redistest.Start(t).Client(), gate[0], gate[1], 200, Options{PermitFor: 4_000_000})
				k.goOn("a", 40)
				silent := k.last["a"]
				permit := silent.Permit
				before, heir := k.slots["a"], "b"
				switch end {
				case "expires":
					k.now += 600_000
				case "is replaced":
					k.now = silent.LeasedAt + 3_000_000
					permit.Until = k.now
					delete(k.asks, "a")
					heir = "a"
				case "leaves":
					k.now = silent.LeasedAt + 3_000_000
					permit.Until = k.now
					if err := k.call(k.leave, k.now, "a", k.asks["a"].Incarnation, "left").Err(); err != nil {
						t.Fatal(err)
					}
				}
				k.goOn(heir, 80)
				r := k.last[heir].Range
				asked, after := r.First+r.N, k.slots[heir]
				if heir == "a" {
					after -= before
				}
				if onPermit := permit.Range().N; before+onPermit+after > asked || after == 0 || onPermit < 300 {
					t.Errorf("%d leased, %d on the permit and %d leased after it are more than the %d asked for", before, onPermit, after, asked)
				}
			})
		}
	}
}

// After a step back of the clock all goes on in the new time, the limiter too.
func TestGateClockBack(t *testing.T) {
	for name, gate := range gates() {
		t.Run(name, func(t *testing.T) {
			k := newKept(t, redistest.Start(t).Client(), gate[0], gate[1], 200, Options{PermitFor: 4_000_000})
			k.goOn("a", 40)
			before := k.slots["a"]
			k.now -= 600_000_000
			const calls = 600
			k.goOn("a", calls)
			if got, want := k.slots["a"]-before, int64(200*calls*beat/1_000_000); got < want*9/10 || got > want+300 {
				t.Errorf("%d granted in the time of %d", got, want)
			}
		})
	}
}

// In a pause nothing is made up for, also where the run would have been over soon.
func TestGatePauseAtEnd(t *testing.T) {
	k := newKept(t, redistest.Start(t).Client(), "token_bucket", "5:0:0:0:1", 1, Options{PermitFor: 4_000_000, Span: 10_000_000})
	start := k.now
	for k.now < start+9_480_000 {
		k.goOn("a", 1)
	}
	k.now = start + 9_520_000
	if f, err := k.call(k.cmd, k.now, "p", "pause", "me", "what", "channel", "", 0).StringSlice(); err != nil || f[0] != "OK" {
		t.Fatal(f, err)
	}
	before := k.slots["a"]
	for range 5 {
		k.now += 50_000
		if r := k.ask("a"); r.Status != pacer.StatusPaused || k.slots["a"] != before {
			t.Fatalf("%s with %d slots, %v after the beginning", r.Status, r.Range.N, k.now-start)
		}
	}
}

// A failover forgot that the rate was lowered. That the burst is changed there is no reason not to lower it again.
func TestGateBurstAfterFailover(t *testing.T) {
	k := newKept(t, redistest.Start(t).Client(), "token_bucket", "100:0:0:0:0", 500, Options{PermitFor: 4_000_000})
	k.server = "A"
	k.goOn("a", 20)
	replica := map[string]string{}
	for _, x := range []string{"budget", "workers", "seen", "laws", "limiter"} {
		replica[x] = k.client.Dump(t.Context(), k.key(x)).Val()
	}
	pieces, err := pacer.Constant(pacer.PerSecond(50), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	command := func(id, kind, to string) string {
		t.Helper()
		f, err := k.call(k.cmd, k.now, id, kind, "me", "what", "channel", to, 0).StringSlice()
		if err != nil {
			t.Fatal(err)
		}
		return f[0]
	}
	if got := command("slow", "set-rate", pacer.JoinPieces(pieces)); got != "OK" {
		t.Fatal(got)
	}
	k.goOn("a", 20)
	recalls := k.last["a"].Recalls
	for x, text := range replica {
		if err := k.client.RestoreReplace(t.Context(), k.key(x), 0, text).Err(); err != nil {
			t.Fatal(err)
		}
	}
	k.server = "B"
	k.goOn("a", 2)
	if got := command("burst", "set-burst", "20"); got != "OK" {
		t.Fatal(got)
	}
	k.goOn("a", 12)
	if got := command(fmt.Sprint("again-", recalls[len(recalls)-1].ID), "set-rate", pacer.JoinPieces(pieces)); got != "OK" {
		t.Errorf("the rate is not lowered again: %s", got)
	}
}

// A leaky bucket that could not grant all says when one more may be granted, not when the last of these may go: who comes back then and takes what
// there is gets the whole rate, also of a queue that is empty soon.
func TestGateComesBackInTime(t *testing.T) {
	redistest.Each(t, func(t *testing.T, client *redis.Client) {
		const rate, burst, calls, trip = 20_000, 200, 200, 1000
		k := newKept(t, client, "leaky_bucket", fmt.Sprintf("%d:0:0:1:0", burst), rate, Options{})
		k.goOn("a", 1) // joins; the run begins
		start, before := k.now, k.slots["a"]
		for range calls {
			r := k.ask("a")
			if wait := r.Next - r.LeasedAt; r.Range.N > 0 && r.Range.N < burst && wait > 1_000_000/rate {
				t.Fatalf("%d were granted, and one more in %d µs", r.Range.N, wait)
			}
			k.now = max(k.now+5000, r.Next) + trip // the least that members wait, and the way
		}
		if got, want := k.slots["a"]-before, rate*(k.now-start)/1_000_000; got < want*98/100 || got > want+burst {
			t.Errorf("%d granted in the time of %d", got, want)
		}
	})
}
