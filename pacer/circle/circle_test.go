package circle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// ranges returns random arcs of all sizes, and arcs at the borders.
func ranges(rng *rand.Rand, n int) []Range {
	out := []Range{{0, Units}, {0, 1}, {Units - 1, 1}, {0, 2}, {1, Units - 1}, {0, Units / 2}, {Units / 2, Units / 2}, {0, G}, {0, Units - G}, {5, G + 1}}
	for range n {
		size := 1 + rng.Int64N(1<<(1+rng.IntN(24)))
		size = min(size, Units)
		out = append(out, Range{Lo: rng.Int64N(Units - size + 1), N: size})
	}
	return out
}

// TestWalkCountBruteForce: Walk and Count agree with a look at each ordinal.
func TestWalkCountBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, a := range ranges(rng, 300) {
		q0 := rng.Int64N(1 << (1 + rng.IntN(50)))
		q1 := q0 + rng.Int64N(1<<16)
		w := a.Walk(q0)
		n := int64(0)
		for q := q0; q < q1; q++ {
			if v := At(q) - a.Lo; v < 0 || v >= a.N {
				continue
			}
			n++
			if w.Ordinal() != q {
				t.Fatalf("%v from %d: the walk is at %d, the next is %d", a, q0, w.Ordinal(), q)
			}
			w.Next()
		}
		if w.Ordinal() < q1 {
			t.Fatalf("%v from %d: the walk is at %d, which is not of the arc", a, q0, w.Ordinal())
		}
		if got := a.Count(q0, q1); got != n {
			t.Fatalf("%v in [%d, %d): counted %d, there are %d", a, q0, q1, got, n)
		}
	}
}

// TestPeriod walks a whole period of each arc: N ordinals, each once, and then the first of the next period.
func TestPeriod(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for _, a := range append(ranges(rng, 40), Range{0, Units / 3}) {
		w := a.Walk(0)
		first := w.Ordinal()
		for i := range a.N {
			if !a.Has(w.Ordinal()) {
				t.Fatalf("%v: ordinal %d, the %d-th, is not of it", a, w.Ordinal(), i)
			}
			w.Next()
		}
		if w.Ordinal() != first+Units {
			t.Fatalf("%v: after a period at %d instead of %d", a, w.Ordinal(), first+Units)
		}
	}
}

// TestPartition: arcs that divide the circle divide the ordinals.
func TestPartition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 200 {
		cuts := []int64{0, Units}
		for range rng.IntN(20) {
			at := 1 + rng.IntN(len(cuts)-1)
			if cuts[at]-cuts[at-1] > 1 {
				cuts = append(cuts[:at], append([]int64{cuts[at-1] + 1 + rng.Int64N(cuts[at]-cuts[at-1]-1)}, cuts[at:]...)...)
			}
		}
		q0, sum := rng.Int64N(1<<40), int64(0)
		q1 := q0 + rng.Int64N(1<<40)
		for i := 1; i < len(cuts); i++ {
			sum += Range{cuts[i-1], cuts[i] - cuts[i-1]}.Count(q0, q1)
		}
		if sum != q1-q0 {
			t.Fatalf("%d arcs count %d of %d ordinals", len(cuts)-1, sum, q1-q0)
		}
	}
}

// TestFirst: First agrees with a search by Count.
func TestFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for _, a := range ranges(rng, 2000) {
		q := rng.Int64N(1 << 45)
		got := a.First(q)
		if !a.Has(got) || a.Count(q, got) != 0 || a.Count(q, got+1) != 1 || got < q {
			t.Fatalf("%v: the first at or after %d is not %d", a, q, got)
		}
	}
}

// luaFloors is floors in doubles, as a script computes it. It fails the test if a number is not exact.
func luaFloors(t *testing.T, n, b float64) (sum float64) {
	exact := func(x float64) float64 {
		if x < 0 || x > 1<<53 {
			t.Fatalf("%v is not exact in a double", x)
		}
		return x
	}
	a, m := float64(G), float64(Units)
	for n > 0 {
		sum = exact(sum + exact(exact(n*(n-1))/2*math.Floor(a/m)))
		sum = exact(sum + exact(n*math.Floor(b/m)))
		a, b = a-m*math.Floor(a/m), b-m*math.Floor(b/m)
		top := exact(a*n + b)
		n = math.Floor(top / m)
		b = top - m*n
		a, m = m, a
	}
	return sum
}

// TestCountInDoubles: the sums are the same in Lua's numbers.
func TestCountInDoubles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range 200_000 {
		n, b := rng.Int64N(Units), rng.Int64N(2*Units+1)
		if rng.IntN(100) == 0 {
			n, b = Units-1, 2*Units
		}
		if got := luaFloors(t, float64(n), float64(b)); got != float64(floors(n, b)) {
			t.Fatalf("%d ordinals, %d: %v in doubles, %d in integers", n, b, got, floors(n, b))
		}
	}
}

// evenness returns the variation of the gaps between ordinals, and the most ordinals in a window, as a multiple of
// max(1, share).
func evenness(a Range, window int64, own func(q int64) bool) (variation, most float64) {
	var qs []int64
	for w := a.Walk(0); len(qs) < 200_000 && w.Ordinal() < 16*Units; w.Next() {
		if own(w.Ordinal()) {
			qs = append(qs, w.Ordinal())
		}
	}
	var sum, square float64
	for i := 1; i < len(qs); i++ {
		gap := float64(qs[i] - qs[i-1])
		sum, square = sum+gap, square+gap*gap
	}
	n := float64(len(qs) - 1)
	variation = math.Sqrt(square/n-sum/n*sum/n) / (sum / n)
	first, peak := 0, 0
	for i, q := range qs {
		for q-qs[first] >= window {
			first++
		}
		peak = max(peak, i-first+1)
	}
	return variation, float64(peak) / max(1, float64(window)/(sum/n))
}

// TestEvenness checks how even one worker's slots are: at most three gaps, and the figures of docs/adr/0013-arcs.md.
func TestEvenness(t *testing.T) {
	all := func(int64) bool { return true }
	for _, c := range []struct {
		workers, rate   int64
		variation, most float64
	}{{3, 3_000, 0.32, 1.05}, {50, 5_000, 0.28, 1.7}, {1_000, 20_000, 0.29, 1.05}, {10_000, 10_000_000, 0.40, 1.15}} {
		a := Range{Lo: 0, N: Units / c.workers}
		variation, most := evenness(a, c.rate/40, all)
		t.Logf("%d workers, %d/s: variation %.2f, most in 25 ms %.2f", c.workers, c.rate, variation, most)
		if variation > c.variation || most > c.most {
			t.Errorf("%d workers, %d/s: variation %.3f, most in 25 ms %.2f", c.workers, c.rate, variation, most)
		}
	}
	rng := rand.New(rand.NewPCG(6, 0))
	for _, a := range ranges(rng, 200) {
		gaps := map[int64]bool{}
		w := a.Walk(rng.Int64N(Units))
		for range 20_000 {
			last := w.Ordinal()
			w.Next()
			gaps[w.Ordinal()-last] = true
		}
		if len(gaps) > 3 {
			t.Fatalf("%v: gaps %v", a, gaps)
		}
	}
}

// TestShard: shards share an arc evenly in number.
func TestShard(t *testing.T) {
	for _, shards := range []int64{1, 2, 3, 8, 16} {
		for _, workers := range []int64{1, 3, 50} {
			a := Range{Lo: 0, N: Units / workers}
			counts := make([]int64, shards)
			w := a.Walk(0)
			for range 1000 * shards {
				counts[Shard(w.Ordinal(), shards)]++
				w.Next()
			}
			for s, n := range counts {
				if n < 950 || n > 1050 {
					t.Errorf("%d workers: shard %d of %d has %d of 1000", workers, s, shards, n)
				}
			}
			variation, most := evenness(a, 75*shards*workers, func(q int64) bool { return Shard(q, shards) == 0 })
			t.Logf("%d workers, %d shards: variation %.2f, most %.2f", workers, shards, variation, most)
			if variation > 1.1 || most > 1.2 {
				t.Errorf("%d workers, %d shards: variation %.2f, most of 75 slots %.2f", workers, shards, variation, most)
			}
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, workers := range []int64{3, 100, 10_000} {
		b.Run(fmt.Sprint("share 1 in ", workers), func(b *testing.B) {
			w := Range{Lo: 0, N: Units / workers}.Walk(0)
			for b.Loop() {
				w.Next()
			}
		})
	}
	b.Run("shard of 16", func(b *testing.B) { // for each slot of its own it walks 16
		w := Range{Lo: 0, N: Units / 3}.Walk(0)
		for b.Loop() {
			for w.Next(); Shard(w.Ordinal(), 16) != 0; w.Next() {
			}
		}
	})
}

func BenchmarkCount(b *testing.B) {
	a := Range{Lo: 12345, N: Units / 3}
	for q := int64(0); b.Loop(); q += 9_999_991 {
		a.Count(0, q)
	}
}

func BenchmarkFirst(b *testing.B) {
	a := Range{Lo: 12345, N: Units / 10_000}
	for q := int64(0); b.Loop(); q += 9_999_991 {
		a.First(q)
	}
}
