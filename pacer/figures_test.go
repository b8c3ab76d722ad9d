package pacer_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func TestFigures(t *testing.T) {
	const second = time.Second
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * second, To: pacer.PerSecond(100)}, pacer.Stage{To: pacer.PerSecond(50)},
		pacer.Stage{Length: 10 * second, To: pacer.PerSecond(50)})
	loop := pacer.Profile{Segments: ramp.Segments, Loop: true}
	third := pacer.Constant(pacer.Rate{Num: 1, Den: 3}, 0)
	for _, c := range []struct {
		name     string
		p        pacer.Profile
		from, to time.Duration
		before   int64 // to
		peak     float64
	}{
		{"constant", pacer.Constant(pacer.PerSecond(3), time.Minute), 0, 20 * second, 60, 3},
		{"a slot that is due at the end is not before it", pacer.Constant(pacer.PerSecond(3), time.Minute), 0, 20*second + 1, 61, 3},
		{"beyond its end", pacer.Constant(pacer.PerSecond(3), time.Minute), 0, time.Hour, 180, 3},
		{"behind its end", pacer.Constant(pacer.PerSecond(3), time.Minute), time.Minute, time.Hour, 180, 0},
		{"endless", third, 0, 9 * second, 3, 1. / 3},
		{"a ns more", third, time.Hour, time.Hour + 1, 1201, 1. / 3},
		{"no time", ramp, 0, 0, 0, 0},
		{"before the start", ramp, 0, -second, 0, 0},
		{"half the ramp", ramp, 0, 5 * second, 125, 50},
		{"a part of the ramp", ramp, 2 * second, 3 * second, 45, 30},
		{"the ramp", ramp, 0, 10 * second, 500, 100},
		{"behind the jump", ramp, 10 * second, 12 * second, 600, 50},
		{"over the jump", ramp, 9 * second, 12 * second, 600, 100},
		{"the whole", ramp, 0, 20 * second, 1000, 100},
		{"a loop: the second time", loop, 20 * second, 25 * second, 1125, 50},
		{"a loop: over its end", loop, 15 * second, 22 * second, 1020, 50},
		{"a loop: more than a period", loop, 15 * second, 35 * second, 1750, 100},
		{"a loop: much later", loop, 20_000_001 * second, 20_000_002 * second, 1_000_000_020, 20},
		{"a loop without length", pacer.Profile{Segments: []pacer.Segment{{To: pacer.PerSecond(1)}}, Loop: true}, 0, second, 0, 0},
		{"nothing", pacer.Profile{}, 0, second, 0, 0},
	} {
		if got := c.p.Before(c.to); got != c.before {
			t.Errorf("%s: Before(%v) = %d, want %d", c.name, c.to, got, c.before)
		}
		if got := c.p.Peak(c.from, c.to); math.Abs(got-c.peak) > 1e-9 {
			t.Errorf("%s: Peak(%v, %v) = %v, want %v", c.name, c.from, c.to, got, c.peak)
		}
	}
	if loop.Period() != 20*second || third.Period() != 0 {
		t.Errorf("periods %v, %v", loop.Period(), third.Period())
	}
}

// TestBeforeCountsSlots: Before is the number of Slots.
func TestBeforeCountsSlots(t *testing.T) {
	for _, text := range []string{"steps:from=1/3s,to=7,by=1/7s,every=1700ms", "sine:mean=100,amplitude=99,period=3s", "spike:base=1,peak=50,every=2s,for=300ms,ramp=77ms"} {
		p, err := pacer.ParseProfile(text)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for k, due := range p.Slots() {
			if due > 10*time.Second {
				break
			}
			// The remainder of a law counts in millionths of a slot, so a slot may be due a little from where it is exactly.
			if least, most := p.Before(due-time.Millisecond), p.Before(due+time.Millisecond); least > k || most < k+1 {
				t.Fatalf("%s: slot %d is due after %v, where %d to %d are before", text, k, due, least, most)
			}
			n++
		}
		if n < 5 {
			t.Errorf("%s: only %d slots", text, n)
		}
	}
}
