package pacer_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/poisson"
)

// TestArrivalsOfLaws: whatever the law, its slots ascend, all lie within it, and Before agrees with Due.
func TestArrivalsOfLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 3000 {
		l := randomLaw(rng, i%2 == 1)
		l.Seed = 1 + rng.Int64N(poisson.MaxSeed)
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		end := l.T0 + l.Dur
		if n := l.Before(end + 1); n != l.K {
			t.Fatalf("%+v: %d of its slots are before its end", l, n)
		}
		last := l.T0 * 1000
		for k := int64(0); k < l.K; k += 1 + logInt(rng, l.K/20+2) {
			due := l.Due(k)
			if due < last || due > end*1000+1 {
				t.Fatalf("%+v: slot %d is due %d ns after the one before, %d before the end", l, k, due-last, end*1000-due)
			}
			if n := l.Before(due / 1000); n > k {
				t.Fatalf("%+v: %d slots before slot %d", l, n, k)
			}
			if n := l.Before(due/1000 + 1); n <= k {
				t.Fatalf("%+v: slot %d is not before the end of its µs, only %d are", l, k, n)
			}
			last = due
		}
	}
}

// TestArrivalsOfProfiles: counts are those of the integral, as with even spacing; gaps at a constant rate vary by 1.
func TestArrivalsOfProfiles(t *testing.T) {
	profile := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(1000)},
		pacer.Stage{Length: 0, To: pacer.PerSecond(5000)}, pacer.Stage{Length: 20 * time.Second, To: pacer.PerSecond(5000)},
		pacer.Stage{Length: 7777 * time.Millisecond, To: pacer.PerSecond(333)})
	count := func(p pacer.Profile) (parts [3]int64, variation float64) {
		var sum, squares, n float64
		var last time.Duration
		for _, due := range p.Slots() {
			switch {
			case due < 10*time.Second:
				parts[0]++
			case due < 30*time.Second:
				parts[1]++
				if gap := float64(due - last); parts[1] > 1 {
					sum, squares, n = sum+gap, squares+gap*gap, n+1
				}
			default:
				parts[2]++
			}
			last = due
		}
		return parts, math.Sqrt(squares*n/sum/sum - 1)
	}
	even, variation := count(profile)
	if variation > 0.01 || even != [3]int64{5000, 100_000, 20_738} {
		t.Errorf("even: %d slots, variation %.3f", even, variation)
	}
	for _, seed := range []int64{1, 2, 99} {
		profile.Seed = seed
		if parts, variation := count(profile); parts != even || math.Abs(variation-1) > 0.02 {
			t.Errorf("seed %d: %d slots, variation %.3f", seed, parts, variation)
		}
	}
}
