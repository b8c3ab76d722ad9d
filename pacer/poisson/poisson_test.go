package poisson

import (
	"math"
	"math/rand/v2"
	"testing"
)

// endless is a process without an end.
func endless(seed int64) Process { return Process{Seed: seed, K: 1 << 52, End: math.Inf(1)} }

// TestGaps: the gaps are exponential: their variation is 1, and a share of e^−x is longer than x.
func TestGaps(t *testing.T) {
	for _, seed := range []int64{1, 2, 77, MaxSeed} {
		p := endless(seed)
		const n = 400_000
		var sum, squares, neighbours, last, before float64
		longer := map[float64]int{0.01: 0, 0.1: 0, 0.5: 0, 1: 0, 2: 0, 4: 0, 8: 0}
		for k := range int64(n) {
			at := p.Place(k).Float() / Unit
			gap := at - last
			if gap < 0 {
				t.Fatalf("seed %d: slot %d is %v before the last one", seed, k, -gap)
			}
			sum, squares, neighbours = sum+gap, squares+gap*gap, neighbours+(gap-1)*(before-1)
			last, before = at, gap
			for x := range longer {
				if gap > x {
					longer[x]++
				}
			}
		}
		mean := sum / n
		if cv := math.Sqrt(squares/n-mean*mean) / mean; math.Abs(cv-1) > 0.01 {
			t.Errorf("seed %d: variation of gaps %.3f", seed, cv)
		}
		if r := neighbours / n; math.Abs(r) > 0.01 {
			t.Errorf("seed %d: neighbouring gaps have correlation %.3f", seed, r)
		}
		for x, got := range longer {
			want := math.Exp(-x)
			if off := math.Abs(float64(got)/n - want); off > 5*math.Sqrt(want*(1-want)/n) {
				t.Errorf("seed %d: a share of %.5f is longer than %v, want %.5f", seed, float64(got)/n, x, want)
			}
		}
	}
}

// TestCounts: a window of w slots has w ± √w arrivals, also where it crosses halves of the tree.
func TestCounts(t *testing.T) {
	for _, window := range []int64{1, 10, 100, 1000} {
		var sum, squares, n float64
		for seed := int64(1); seed <= 200; seed++ {
			p := endless(seed)
			for from := int64(0); from+window <= 20_000; from += max(window, 200) {
				x := float64(p.Before(float64((from+window)*Unit)) - p.Before(float64(from*Unit)))
				sum, squares, n = sum+x, squares+x*x, n+1
			}
		}
		mean := sum / n
		ratio := (squares/n - mean*mean) / float64(window)
		want := 1 - float64(window)/block // as the count of a block is exact
		if math.Abs(mean/float64(window)-1) > 5/math.Sqrt(n*float64(window)) || math.Abs(ratio-want) > 8/math.Sqrt(n) {
			t.Errorf("windows of %d: mean %.3f, variance / mean %.3f, want %.3f", window, mean, ratio, want)
		}
	}
}

// TestBefore: Before is the inverse of Place, whatever the law.
func TestBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := Process{Seed: 1 + r.Int64N(MaxSeed), K: 1 + r.Int64N(1<<r.IntN(20)), C: r.Int64N(Unit), End: math.Inf(1)}
		if r.IntN(3) > 0 { // a law whose end leaves the part C of a slot
			p.End = float64(p.K*Unit - r.Int64N(Unit))
		}
		end := min(p.End, float64(p.K*Unit+p.C))
		if n := p.Before(end); n != p.K {
			t.Fatalf("%+v: %d before its end", p, n)
		}
		last := -1.0
		for k := max(0, p.K-500); k < p.K; k++ {
			at := p.Place(k).Float()
			if at < last || at < 0 || at >= end {
				t.Fatalf("%+v: slot %d at %v of %v", p, k, at, end)
			}
			if at > last && p.Before(at) != k {
				t.Fatalf("%+v: %d places before %v, that of slot %d", p, p.Before(at), at, k)
			}
			if p.Before(at+1) <= k {
				t.Fatalf("%+v: slot %d is not before %v", p, k, at+1)
			}
			last = at
		}
	}
}

// TestBlocks: in each block as many slots as slots of the integral.
func TestBlocks(t *testing.T) {
	p := endless(5)
	for j := range int64(5) {
		if at := p.Place(j * block); at.Slot < j*block || at.Slot > j*block+20 {
			t.Errorf("block %d begins at %v", j, at)
		}
		if n := p.Before(float64(j*block) * Unit); n != j*block {
			t.Errorf("%d before block %d", n, j)
		}
	}
	far := int64(1) << 50
	if at := p.Place(far); at.Slot < far || at.Slot > far+20 {
		t.Errorf("slot 2^50 at %v", at)
	}
}

// TestNext: seeds stay in their range, and differ.
func TestNext(t *testing.T) {
	seen := map[int64]bool{}
	for seed := int64(1); len(seen) < 10_000; seed = Next(seed) {
		if seen[seed] || seed < 1 || seed > MaxSeed {
			t.Fatalf("seed %d after %d others", seed, len(seen))
		}
		seen[seed] = true
	}
	if Next(0) != 0 {
		t.Error("no seed has become one")
	}
}

func BenchmarkPlace(b *testing.B) {
	p, k := endless(1), int64(0)
	for b.Loop() {
		p.Place(k)
		k += 17
	}
}
