package pacer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// reversed is bit reversal, a digit at a time: what SlotOf does with machine instructions.
func reversed(x, f int64) int64 {
	var out int64
	for ; f > 1; f /= 2 {
		out = out*2 + x%2
		x /= 2
	}
	return out
}

func TestSlotOfIsBijection(t *testing.T) {
	for f := int64(1); f <= 4096; f *= 2 {
		for _, k := range []int64{0, 1, 2, 3, f - 1, f, f + 1, f + f/2, 2*f - 1, 2 * f, 2*f + 1, 3*f + 7, 5*f - 3} {
			l := pacer.Law{R0: 1, R1: 1, Den: 1, K: k, F: f}
			seen := make([]bool, k)
			for a := range k {
				slot := l.SlotOf(a)
				if slot < 0 || slot >= k || seen[slot] {
					t.Fatalf("F %d, K %d: number %d is slot %d, which is taken or none", f, k, a, slot)
				}
				seen[slot] = true
				want := a
				if base := a - a%f; base+f <= k {
					want = base + reversed(a-base, f)
				}
				if slot != want {
					t.Fatalf("F %d, K %d: number %d is slot %d, want %d", f, k, a, slot, want)
				}
			}
		}
	}
}

func TestSlotOfStaysInItsFrame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		l := pacer.Law{R0: 1, R1: 1, Den: 1, K: pacer.Endless, F: 1 << rng.IntN(13)}
		a := rng.Int64N(pacer.Endless)
		if slot := l.SlotOf(a); slot/l.F != a/l.F || l.SlotOf(slot) != a {
			t.Fatalf("F %d: number %d is slot %d, and that one %d", l.F, a, slot, l.SlotOf(slot))
		}
	}
}

// largestGap is the largest distance between neighbours among the marked positions.
func largestGap(marked []bool) int {
	last, gap := -1, 0
	for i, m := range marked {
		if m {
			if last >= 0 {
				gap = max(gap, i-last)
			}
			last = i
		}
	}
	return gap
}

// Any n contiguous numbers of a frame leave at most 3 − 12/F times the ideal gap F/n between their slots, and
// 2 − 4/F times where they begin or end with the frame. Both bounds are met exactly, from 16 slots on.
func TestRangesAreEven(t *testing.T) {
	for f := int64(16); f <= 256; f *= 2 {
		l := pacer.Law{R0: 1, R1: 1, Den: 1, K: pacer.Endless, F: f}
		var worst, aligned float64
		for first := range f {
			marked := make([]bool, f)
			for n := int64(1); first+n <= f; n++ {
				marked[l.SlotOf(first+n-1)] = true
				gap := float64(largestGap(marked)) * float64(n) / float64(f)
				worst = max(worst, gap)
				if first == 0 || first+n == f {
					aligned = max(aligned, gap)
				}
			}
		}
		if want := 3 - 12/float64(f); worst != want {
			t.Errorf("F %d: the largest gap is %.4f of the ideal, want %.4f", f, worst, want)
		}
		if want := 2 - 4/float64(f); aligned != want {
			t.Errorf("F %d: the largest gap of a range at the frame's border is %.4f of the ideal, want %.4f", f, aligned, want)
		}
	}
}

// visit checks one cursor over r and marks what it yields, by slot.
func visit(t *testing.T, r pacer.Range, c pacer.Cursor, seen map[int64]bool) {
	t.Helper()
	last := int64(-1)
	for ; c.Ok(); c.Next() {
		slot, due := c.Slot(), c.Due()
		if seen[slot] {
			t.Fatalf("%v [%d, +%d): slot %d twice", r.Law, r.First, r.N, slot)
		}
		if due < last || due != r.Law.Due(slot) || c.Generation() != r.Law.ID {
			t.Fatalf("%v [%d, +%d): slot %d of %d is due at %d, the one ahead of it at %d", r.Law, r.First, r.N, slot, c.Generation(), due, last)
		}
		seen[slot], last = true, due
	}
	if c.Next(); c.Ok() || c.Due() != math.MaxInt64 {
		t.Fatalf("%v [%d, +%d): a cursor goes on behind its end", r.Law, r.First, r.N)
	}
}

func TestCursorsYieldEachSlotOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range 3000 {
		l := randomLaw(rng, i%2 == 1)
		l.K = min(l.K, 1+rng.Int64N(3000))
		first := rng.Int64N(l.K + 1)
		n := rng.Int64N(l.K - first + 1)
		parts := 1 + rng.IntN(9)
		seen, want := map[int64]bool{}, map[int64]bool{}
		for a := first; a < first+n; {
			r := pacer.Range{Law: l, First: a, N: 1 + rng.Int64N(first+n-a)} // as contiguous leases
			for part := range parts {
				visit(t, r, r.Cursor(part, parts), seen)
			}
			a += r.N
		}
		for a := first; a < first+n; a++ {
			want[l.SlotOf(a)] = true
		}
		for slot := range want {
			if !seen[slot] {
				t.Fatalf("%v [%d, +%d) in %d parts: slot %d is missing", l, first, n, parts, slot)
			}
		}
		if len(seen) != len(want) {
			t.Fatalf("%v [%d, +%d) in %d parts: %d slots, want %d", l, first, n, parts, len(seen), len(want))
		}
	}
}

func TestPartsOfRangeAreEven(t *testing.T) {
	l := pacer.Law{R0: 10_000, R1: 10_000, Den: 1, K: pacer.Endless, F: 256}
	for _, parts := range []int{1, 2, 3, 7, 16, 300} {
		r := pacer.Range{Law: l, First: 0, N: 300 * 256}
		for part := range parts {
			n := 0
			for c := r.Cursor(part, parts); c.Ok(); c.Next() {
				n++
			}
			if want := 300 * 256 / parts; n < want-1 || n > want+1 {
				t.Errorf("part %d of %d has %d slots, want %d", part, parts, n, want)
			}
		}
	}
}

func TestCursorWithoutSlots(t *testing.T) {
	l := pacer.Law{R0: 100, R1: 100, Den: 1, K: pacer.Endless, F: 8}
	for name, c := range map[string]pacer.Cursor{
		"zero":                    {},
		"zero range":              (pacer.Range{}).Cursor(0, 1),
		"empty range":             (pacer.Range{Law: l, First: 5}).Cursor(0, 1),
		"negative range":          (pacer.Range{Law: l, First: 5, N: -1}).Cursor(0, 1),
		"fewer slots than parts":  (pacer.Range{Law: l, First: 0, N: 1}).Cursor(0, 2),
		"other part of one frame": (pacer.Range{Law: l, First: 8, N: 1}).Cursor(1, 2),
	} {
		for range 2 {
			if c.Ok() || c.Due() != math.MaxInt64 {
				t.Errorf("%s: ok %v, due %d; want the end", name, c.Ok(), c.Due())
			}
			c.Next()
		}
	}
}

func TestCursorDoesNotAllocate(t *testing.T) {
	for _, r := range []pacer.Range{
		{Law: pacer.Law{R0: 100_000, R1: 100_000, Den: 1, K: pacer.Endless, F: 2048}, First: 77, N: 1 << 40},
		{Law: pacer.Law{R0: 1000, R1: 9_000_000, Den: 1000, Dur: 3_600_000_000, K: 16_200_000, F: 64}, First: 77, N: 16_000_000},
	} {
		c := r.Cursor(1, 3)
		var sum int64
		if n := testing.AllocsPerRun(1000, func() {
			sum += c.Due() + c.Slot()
			c.Next()
		}); n != 0 {
			t.Errorf("%v: Next allocates %v times", r.Law, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			c := r.Cursor(0, 2)
			sum += c.Due()
		}); n != 0 {
			t.Errorf("%v: Cursor allocates %v times", r.Law, n)
		}
		if !c.Ok() || sum == 0 {
			t.Errorf("%v: the cursor came to its end", r.Law)
		}
	}
}

func BenchmarkCursorNext(b *testing.B) {
	r := pacer.Range{Law: pacer.Law{R0: 100_000, R1: 100_000, Den: 1, K: pacer.Endless, F: 2048}, N: 1 << 50}
	c := r.Cursor(0, 4)
	for b.Loop() {
		c.Next()
	}
}

// TestRangeAt: slots that were past when they were granted are due then, the others by the law; none is lost, and they stay in order.
func TestRangeAt(t *testing.T) {
	law := pacer.Law{T0: 1_000_000, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless, F: 16}
	at := law.T0 + 20_500 // µs: slots 0 to 20 are past
	r := pacer.Range{Law: law, First: 8, N: 64, At: at}
	for _, parts := range []int{1, 3} {
		n := 0
		for part := range parts {
			before := int64(0)
			for c := r.Cursor(part, parts); c.Ok(); c.Next() {
				if want := max(at*1000, law.Due(c.Slot())); c.Due() != want || c.Due() < before {
					t.Errorf("part %d of %d: slot %d is due at %d, want %d, after %d", part, parts, c.Slot(), c.Due(), want, before)
				}
				before = c.Due()
				n++
			}
		}
		if n != 64 {
			t.Errorf("%d slots in %d parts", n, parts)
		}
	}
}
