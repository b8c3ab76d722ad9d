package run

import (
	"math"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// right stores what a run may send: the highest rate, slots per 1,000,000 s, without an end.
func (b *bed) right(r *Run, allow int64, frozen int) {
	b.Helper()
	call := func(args ...any) []string {
		got, err := lua.Right().Run(b.Context(), b.client, r.Keys.Change(), append([]any{r.UID, r.Keys.Control}, args...)...).StringSlice()
		if err != nil || got[0] != "OK" {
			b.Fatal(got, err)
		}
		return got
	}
	read := call("read", "me")
	call("store", "me", read[2], read[3], "rights", allow, int64(1)<<52, int64(1)<<52, frozen, 0)
}

// TestStateOfRights asserts what the state says of a run that sends a part of its plan, that has no right to its rate, and
// whose endpoint is frozen. What is still to come counts scaled.
func TestStateOfRights(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		says := func(when string, share, then, peak float64, frozen, lacks bool) {
			t.Helper()
			s := b.state(r)
			if s.Factor != share || s.Frozen != frozen || s.NoRight != lacks || s.RateThen != then || math.Abs(s.Peak()-peak) > 1e-6 {
				t.Errorf("%s: %v of its plan, then %v, at most %v, frozen %v, without a right %v", when, s.Factor, s.RateThen, s.Peak(), s.Frozen, s.NoRight)
			}
		}
		says("before the start", 0, 100, 100, false, false)
		b.must(r.Scale(t.Context(), 400_000, 0, "its budget was cut"))
		says("reduced before the start", 0.4, 40, 40, false, false)
		b.member(r, "a").start()
		await.True(t, "the begin", func() bool { return b.state(r).Rate == 40 })
		says("reduced", 0.4, 40, 40, false, false)
		b.right(r, 30*lease.Unscaled, 0)
		says("without a right to 40/s", 0.4, 40, 40, false, true)
		b.right(r, 40*lease.Unscaled, 1)
		await.True(t, "the pause", func() bool { return b.state(r).Phase == "paused" })
		says("frozen", 0.4, 40, 40, true, false)
		b.right(r, 100*lease.Unscaled, 0)
		await.True(t, "the end of the pause", func() bool { return b.state(r).Phase == "running" })
		b.must(r.SetRate(t.Context(), pacer.PerSecond(90), 0))
		await.True(t, "the rate of a person", func() bool { return b.state(r).Rate == 90 })
		says("at a rate of a person", 0, 90, 90, false, false)
	})
}
