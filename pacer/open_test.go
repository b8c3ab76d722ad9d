package pacer

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlotsAreTheIntegral: slot k is due where the integral reaches k, in ramps, over jumps and in loops.
func TestSlotsAreTheIntegral(t *testing.T) {
	wave, err := Sine(PerSecond(100), PerSecond(40), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Profile{
		"constant": Constant(PerSecond(333), 30*time.Second),
		"odd":      Constant(Rate{Num: 7, Den: 60}, 10*time.Minute),
		"stages":   Stages(PerSecond(0), Stage{Length: 7 * time.Second, To: PerSecond(501)}, Stage{To: PerSecond(20)}, Stage{Length: 1111 * time.Millisecond, To: PerSecond(20)}, Stage{Length: 3 * time.Second, To: PerSecond(0)}),
		"wave":     wave,
	} {
		asked, last := int64(math.Ceil(p.Integral(30*time.Second)-1e-6)), time.Duration(-1)
		var n int64
		for k, due := range p.Slots() {
			if due >= 30*time.Second {
				break
			}
			if k != n || due <= last && last > 0 {
				t.Fatalf("%s: slot %d, due after %v, comes behind %d slots, the last one due after %v", name, k, due, n, last)
			}
			if at := p.Integral(due); math.Abs(at-float64(k)) > 0.01 {
				t.Fatalf("%s: slot %d is due after %v, where %f are asked for", name, k, due, at)
			}
			n, last = n+1, due
		}
		if n < asked-1 || n > asked {
			t.Errorf("%s: %d slots in 30 s, the integral is %f", name, n, p.Integral(30*time.Second))
		}
	}
}

func TestSlotsOfNoProfile(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a profile without a length has slots")
		}
	}()
	Profile{}.Slots()
}

// TestPace: Pace yields each slot when it is due. It yields slots that a slow loop body delayed at once. The end of
// ctx ends it.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 950*time.Millisecond)
		defer cancel()
		start, n := time.Now(), int64(0)
		for k, due := range Constant(PerSecond(10), 0).Pace(ctx) {
			if want := start.Add(time.Duration(n) * 100 * time.Millisecond); k != n || !due.Equal(want) {
				t.Errorf("slot %d, due %v, wanted %d, %v", k, due.Sub(start), n, want.Sub(start))
			}
			late := time.Since(due)
			if k == 3 {
				time.Sleep(250 * time.Millisecond)
			}
			if held := map[int64]time.Duration{4: 150 * time.Millisecond, 5: 50 * time.Millisecond}[k]; late != held {
				t.Errorf("slot %d comes %v late, wanted %v", k, late, held)
			}
			n++
		}
		if n != 10 {
			t.Errorf("%d slots in 950 ms at 10 a second", n)
		}
		start = time.Now()
		for range Constant(PerSecond(1), 3*time.Second).Pace(t.Context()) {
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("a profile of 3 s took %v", took)
		}
	})
}
