package pacer_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// exactDue returns when slot k of a constant law is due, ns rounded down, in rational numbers.
func exactDue(l pacer.Law, k int64) int64 {
	t := new(big.Rat).Add(big.NewRat(k, 1), big.NewRat(l.C, 1_000_000))
	t.Mul(t, big.NewRat(l.Den*1_000_000_000, l.R0))
	ns := new(big.Int).Div(t.Num(), t.Denom())
	return l.T0*1000 + ns.Int64()
}

func TestDueOfConstantLaw(t *testing.T) {
	const t0 = 1_700_000_000_000_000
	for _, c := range []struct {
		r0, den, c, k int64
		after         int64 // ns after T0
	}{
		{1, 1, 0, 0, 0},
		{1, 1, 0, 1, 1_000_000_000},
		{1, 1, 999_999, 0, 999_999_000},
		{1, 3, 0, 1, 3_000_000_000},
		{1, 3, 500_000, 7, 22_500_000_000},
		{1, 2, 0, 3, 6_000_000_000}, // 30/1m
		{3, 1, 0, 1, 333_333_333},
		{3, 1, 0, 2, 666_666_666},
		{3, 1, 0, 3, 1_000_000_000},
		{3, 1, 1, 0, 333},
		{7, 1, 500_000, 1_000_000_000, 142_857_142_928_571_428},
		{7, 1, 500_000, 1_000_000_000_000, math.MaxInt64 / 2}, // 4,500 years: beyond any clock
		{1_000_000, 1, 0, 1_000_000_000_000, 1_000_000_000_000_000},
		{999_983, 1, 123_456, 1_000_000_000_000, 1_000_017_000_289_128},
		{99_999_999_999_999, 1_000_000, 999_999, 1_000_000_000_000, 10_000_000_000_010},
		{100_000_000, 1, 0, 1_000_000_000_001, 10_000_000_000_010},
		{1, 1_000_000, 999_999, 1000, 1_000_999_999_000_000_000},
	} {
		l := pacer.Law{T0: t0, C: c.c, R0: c.r0, R1: c.r0, Den: c.den, K: pacer.Endless}
		if got := l.Due(c.k) - t0*1000; got != c.after {
			t.Errorf("%v: Due(%d) = T0 + %d ns, want %d", l, c.k, got, c.after)
		}
	}
}

func TestDueOfConstantLawIsRationalDueRoundedDown(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 4000 {
		l := randomLaw(rng, false)
		for _, k := range []int64{0, 1, 2, l.K / 2, l.K - 1, 1_000_000_000_000} {
			if k < 0 || float64(k)*float64(l.Den)/float64(l.R0) > 4e9 {
				continue // after 126 years there is no clock to compare with
			}
			if got, want := l.Due(k), exactDue(l, k); got != want {
				t.Fatalf("%v: Due(%d) = %d, want %d", l, k, got, want)
			}
		}
	}
}

// randomLaw is a law as a run may have it: up to a day, up to 10^6 slots a second.
func randomLaw(rng *rand.Rand, linear bool) pacer.Law {
	l := pacer.Law{
		ID: 1 + rng.Int64N(1000), T0: rng.Int64N(2_000_000_000_000_000), C: rng.Int64N(1_000_000),
		Den: []int64{1, 1, 2, 3, 60, 1000, 7919, 1_000_000}[rng.IntN(8)], Dur: 1 + logInt(rng, 86_400_000_000),
	}
	rate := func() int64 { return logInt(rng, 1_000_000*l.Den) }
	l.R0 = 1 + rate()
	l.R1 = l.R0
	for linear && l.R1 == l.R0 {
		switch rng.IntN(4) {
		case 0:
			l.R0, l.R1 = 0, 1+rate()
		case 1:
			l.R1 = 0
		default:
			l.R1 = rate()
		}
	}
	l.K = pacer.Endless
	l.K = l.Asks(l.T0 + l.Dur)
	return l
}

// logInt returns a random number below n, where all magnitudes are equally likely.
func logInt(rng *rand.Rand, n int64) int64 {
	return min(n-1, int64(math.Exp(rng.Float64()*math.Log(float64(n)))))
}

func TestDueIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		l := randomLaw(rng, i%2 == 1)
		last := l.T0 * 1000
		for k := int64(0); k < l.K; k += 1 + logInt(rng, l.K/50+2) {
			for _, k := range []int64{k, min(k+1, l.K-1)} {
				if due := l.Due(k); due < last {
					t.Fatalf("%v: Due(%d) = %d, before the slot ahead of it at %d", l, k, due, last)
				} else {
					last = due
				}
			}
		}
		if end := (l.T0+l.Dur)*1000 + 1; last > end {
			t.Fatalf("%v: a slot at %d, after the end at %d", l, last, end)
		}
	}
}

// area returns the exact integral of l's rate from T0 to t, in slots.
func area(l pacer.Law, t int64) *big.Rat {
	e := big.NewRat(max(0, min(t-l.T0, l.Dur)), 1_000_000) // s
	mean := big.NewRat(l.R1-l.R0, 2)
	mean.Mul(mean, e).Mul(mean, big.NewRat(1_000_000, l.Dur)).Add(mean, big.NewRat(l.R0, 1))
	return mean.Mul(mean, e).Mul(mean, big.NewRat(1, l.Den))
}

func TestBeforeIsTheIntegral(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range 4000 {
		l := randomLaw(rng, i%2 == 1)
		for range 10 {
			at := l.T0 - 2 + rng.Int64N(l.Dur+4)
			n, all := l.Asks(at), area(l, at)
			if l.Before(at) != n {
				t.Fatalf("%v: %d before T0 + %d µs, %d asked for", l, l.Before(at), at-l.T0, n)
			}
			remainder := big.NewRat(l.C, 1_000_000)
			// Slot k is before at if k + c < area: it holds for n−1, and not for n.
			last := new(big.Rat).Add(big.NewRat(n-1, 1), remainder)
			next := new(big.Rat).Add(big.NewRat(n, 1), remainder)
			if n < 0 || n > 0 && last.Cmp(all) >= 0 || n < l.K && next.Cmp(all) < 0 {
				t.Fatalf("%v: Before(T0 + %d µs) = %d, the area is %v", l, at-l.T0, n, all.FloatString(9))
			}
		}
	}
}

func TestBeforeCountsSlotsOfConstantLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 4000 {
		l := randomLaw(rng, false)
		at := l.T0 - 1 + rng.Int64N(l.Dur+2)
		if l.K > 0 { // also exactly on the border
			at = min(at, l.Due(rng.Int64N(l.K))/1000+rng.Int64N(3)-1)
		}
		n := l.Before(at)
		if n > 0 && l.Due(n-1) >= at*1000 || n < l.K && l.Due(n) < at*1000 {
			t.Fatalf("%v: Before(T0 + %d µs) = %d of %d, but those around it are due at %d, %d", l, at-l.T0, n, l.K, l.Due(n-1)-l.T0*1000, l.Due(n)-l.T0*1000)
		}
	}
}

// Due of a ramp uses floating point, while Before counts exactly. So Due may be on the other side of a border, by this
// much.
func slack(l pacer.Law, due int64) int64 { return 1 + int64(float64(due-l.T0*1000)*1e-12) }

func TestBeforeCountsSlotsOfLinearLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 4000 {
		l := randomLaw(rng, true)
		at := l.T0 - 1 + rng.Int64N(l.Dur+2)
		if l.K > 0 {
			at = min(at, l.Due(rng.Int64N(l.K))/1000+rng.Int64N(3)-1)
		}
		n := l.Before(at)
		if n > 0 && l.Due(n-1) >= at*1000+slack(l, at*1000) || n < l.K && l.Due(n) < at*1000-slack(l, at*1000) {
			t.Fatalf("%v: Before(T0 + %d µs) = %d of %d, but those around it are due at %d, %d", l, at-l.T0, n, l.K, l.Due(n-1)-l.T0*1000, l.Due(n)-l.T0*1000)
		}
	}
}

// linearDue returns when slot k of a ramp is due, ns after T0: (sqrt(r0² + 2a(k+c)) − r0)/a with 400 bits.
func linearDue(l pacer.Law, k int64) *big.Float {
	num := func(r *big.Rat) *big.Float { return new(big.Float).SetPrec(400).SetRat(r) }
	r0 := num(big.NewRat(l.R0, l.Den))
	slope := new(big.Rat).Mul(big.NewRat(l.R1-l.R0, l.Den), big.NewRat(1_000_000, l.Dur))
	x := new(big.Rat).Add(big.NewRat(k, 1), big.NewRat(l.C, 1_000_000))
	square := num(x.Mul(x, slope).Mul(x, big.NewRat(2, 1)))
	square.Add(square, new(big.Float).SetPrec(400).Mul(r0, r0))
	if square.Sign() < 0 { // an error of the last bit, at the very end of a ramp to 0
		square.SetInt64(0)
	}
	root := new(big.Float).SetPrec(400).Sqrt(square)
	root.Sub(root, r0).Quo(root, num(slope))
	return root.Mul(root, big.NewFloat(1e9))
}

func TestDueOfLinearLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	worst := 0.0
	check := func(l pacer.Law, k int64) {
		t.Helper()
		exact, _ := linearDue(l, k).Float64()
		got := float64(l.Due(k) - l.T0*1000)
		off := max(0, math.Abs(got-exact)-1) // got is in whole ns
		if exact > 0 {
			worst = max(worst, off/exact)
		}
		if off > exact*1e-12 {
			t.Fatalf("%v: Due(%d of %d) = T0 + %.3f ns, exactly %.3f", l, k, l.K, got, exact)
		}
	}
	for _, l := range []pacer.Law{
		{R0: 0, R1: 5000, Den: 1, Dur: 10_000_000},                                     // from 0
		{R0: 5000, R1: 0, Den: 1, Dur: 10_000_000},                                     // to 0
		{R0: 1_000_000, R1: 0, Den: 1, Dur: 86_400_000_000, C: 999_999},                // a day to 0
		{R0: 100_000_000, R1: 99_999_999, Den: 1, Dur: 3_600_000_000},                  // nearly constant
		{R0: 1_000_000_000_000_000, R1: 1, Den: 1_000_000_000_000, Dur: 3_600_000_000}, // as a script divides a ramp
		{R0: 1, R1: 2, Den: 1_000_000, Dur: 1_000_000_000_000_000, C: 1},               // slow and long
	} {
		l.K = pacer.Endless
		l.K = l.Before(l.T0 + l.Dur)
		for _, k := range []int64{0, 1, 2, l.K / 3, l.K / 2, l.K - 3, l.K - 2, l.K - 1} {
			if k >= 0 && k < l.K {
				check(l, k)
			}
		}
	}
	for range 3000 {
		if l := randomLaw(rng, true); l.K > 0 {
			check(l, rng.Int64N(l.K))
			check(l, l.K-1)
		}
	}
	t.Logf("largest relative error %.2g", worst)
}

func TestRateOfLaw(t *testing.T) {
	ramp := pacer.Law{T0: 1000, R0: 100, R1: 300, Den: 2, Dur: 1_000_000}
	flat := pacer.Law{T0: 1000, R0: 30, R1: 30, Den: 60}
	for _, c := range []struct {
		law  pacer.Law
		t    int64
		want float64
	}{
		{ramp, 0, 50}, {ramp, 1000, 50}, {ramp, 501_000, 100}, {ramp, 1_001_000, 150}, {ramp, 9_001_000, 150},
		{flat, 0, 0.5}, {flat, 1_000_000, 0.5},
	} {
		if got := c.law.Rate(c.t); got != c.want {
			t.Errorf("%v: Rate(%d) = %v, want %v", c.law, c.t, got, c.want)
		}
	}
}

// TestCheckOfALaw: Check accepts exactly the laws whose arithmetic is defined, up to the limits of each field.
func TestCheckOfALaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range 1000 {
		if l := randomLaw(rng, i%2 == 1); l.Check() != nil {
			t.Fatalf("%v is refused", l)
		}
	}
	const far = pacer.Endless // the limit of times and slots
	for name, l := range map[string]pacer.Law{
		"constant":              {ID: 1, R0: 5, R1: 5, Den: 1, K: far},
		"no rate, no slots":     {ID: 1, Den: 1},
		"a silent stage":        {ID: 1, Den: 1, Dur: 1_000_000},
		"the finest ramp":       {ID: 1, R0: 1, R1: 2, Den: 1_000_000_000_000, Dur: 1, K: 1},
		"all as far as it goes": {ID: 1, T0: far, C: 999_999, R0: 5, R1: 5, Den: 1_000_000, Dur: far, K: 1},
	} {
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*pacer.Law){
		"remainder negative":        func(l *pacer.Law) { l.C = -1 },
		"remainder of a slot":       func(l *pacer.Law) { l.C = 1_000_000 },
		"rate negative":             func(l *pacer.Law) { l.R0, l.R1 = -5, -5 },
		"last rate negative":        func(l *pacer.Law) { l.R1, l.Dur = -5, 1 },
		"no seconds":                func(l *pacer.Law) { l.Den = 0 },
		"seconds negative":          func(l *pacer.Law) { l.Den = -1 },
		"constant with too many":    func(l *pacer.Law) { l.Den = 1_000_001 },
		"ramp with too many":        func(l *pacer.Law) { l.R1, l.Den, l.Dur = 6, 1_000_000_000_001, 1 },
		"length negative":           func(l *pacer.Law) { l.Dur = -1 },
		"length beyond any clock":   func(l *pacer.Law) { l.R1, l.Dur = 6, far+1 },
		"ramp without length":       func(l *pacer.Law) { l.R1 = 6 },
		"slots negative":            func(l *pacer.Law) { l.K = -8 },
		"slots beyond endless":      func(l *pacer.Law) { l.K = far + 1 },
		"slots without rate or end": func(l *pacer.Law) { l.R0, l.R1 = 0, 0 },
		"T0 negative":               func(l *pacer.Law) { l.T0 = -1 },
		"T0 beyond any clock":       func(l *pacer.Law) { l.T0 = far + 1 },
	} {
		l := pacer.Law{ID: 1, R0: 5, R1: 5, Den: 1, K: 8}
		if change(&l); l.Check() == nil {
			t.Errorf("%s: %v was taken", name, l)
		}
	}
}

func FuzzLaw(f *testing.F) {
	const far = pacer.Endless
	for _, v := range [][7]int64{
		{0, 0, 5, 5, 1, 0, far}, {1_700_000_000_000_000, 5, 0, 5000, 1, 10_000_000, 25_000}, {0, 0, 5000, 0, 1, 10_000_000, 25_000},
		{0, 0, 1, 1, 1_000_000, 0, far}, {far, 999_999, math.MaxInt64, 0, 1, far, far}, {0, 0, 0, 1, 1_000_000_000_000, far, far}, {0, 0, 0, 0, 1, 5, 5},
	} {
		f.Add(v[0], v[1], v[2], v[3], v[4], v[5], v[6])
	}
	f.Fuzz(func(t *testing.T, t0, c, r0, r1, den, dur, k int64) {
		l := pacer.Law{ID: 1, T0: t0, C: c, R0: r0, R1: r1, Den: den, Dur: dur, K: k}
		if l.Check() != nil {
			return
		}
		checkDue(t, l)
		checkBefore(t, l)
	})
}

// checkDue: slot times are sane and in order over the whole of l.
func checkDue(t *testing.T, l pacer.Law) {
	t.Helper()
	ks := []int64{0, 1, 2, l.K / 1000, l.K / 2, l.K/2 + 1, l.K - 2, l.K - 1}
	slices.Sort(ks)
	last := l.T0 * 1000
	for _, k := range ks {
		if k < 0 || k >= l.K {
			continue
		}
		due := l.Due(k)
		if due < last-slack(l, last) || due < l.T0*1000 {
			t.Fatalf("%v: Due(%d) = %d, before %d", l, k, due, last)
		}
		last = due
	}
}

// checkBefore: counts and rates are sane and in order over the whole of l.
func checkBefore(t *testing.T, l pacer.Law) {
	t.Helper()
	at := []int64{-1, 0, 1, 1000, l.Dur / 2, l.Dur, l.Dur + 1, 1 << 52}
	slices.Sort(at)
	last := int64(0)
	for _, e := range at {
		n := l.Before(l.T0 + e)
		if n < last || n > l.K || e <= 0 && n > 0 {
			t.Fatalf("%v: Before(T0 + %d) = %d, before that %d", l, e, n, last)
		}
		last = n
		if r := l.Rate(l.T0 + e); !(r >= 0) || math.IsInf(r, 0) {
			t.Fatalf("%v: Rate(T0 + %d) = %v", l, e, r)
		}
	}
}
