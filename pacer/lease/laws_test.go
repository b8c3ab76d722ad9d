package lease

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// constant is a law of 1,000 slots a second from a time on, µs. It follows another law.
func constant(id, t0, prev, cut, base int64) Law {
	return Law{Law: pacer.Law{ID: id, T0: t0, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless}, Prev: prev, Cut: cut, Base: base, ClockEpoch: 1}
}

// TestLawsFormAChain: the newest law is in force, and so are the laws that it follows. All others are void. The order
// in which laws come does not matter.
func TestLawsFormAChain(t *testing.T) {
	first := constant(1, 1_000_000, 0, 0, 0)
	planned := constant(2, 9_000_000, 1, 8000, 8000)
	ordered := constant(5, 3_000_000, 1, 2000, 2000)
	forgotten := constant(4, 2_000_000, 1, 1000, 1000)
	want := map[int64]int64{1: 2000, 2: 0, 4: 0, 5: pacer.Endless}
	for _, order := range [][]Law{{first, planned, ordered, forgotten}, {forgotten, ordered, first, planned}, {first, ordered, planned, forgotten}} {
		var l *Laws
		for _, x := range order {
			l = l.With(x)
		}
		l = l.With(order...)
		for i, x := range l.All() {
			if l.Cut(i) != want[x.ID] || l.Live(x.ID) != (x.ID == 1 || x.ID == 5) {
				t.Errorf("law %d: %d slots, live %v", x.ID, l.Cut(i), l.Live(x.ID))
			}
		}
		for _, c := range []struct {
			pos  Pos
			want int64
		}{{Pos{1, 0}, 0}, {Pos{1, 1999}, 1999}, {Pos{1, 5000}, 2000}, {Pos{2, 7}, 2000}, {Pos{4, 10}, 2000}, {Pos{5, 3}, 2003}} {
			if n := l.Ordinal(c.pos); n != c.want {
				t.Errorf("%d slots before %v, expected %d", n, c.pos, c.want)
			}
		}
		if p := l.Pos(2_500_000); p != (Pos{1, 1500}) {
			t.Errorf("at 2.5 s it is %v", p)
		}
		if p := l.Pos(4_000_000); p != (Pos{5, 1000}) {
			t.Errorf("at 4 s it is %v", p)
		}
		if !l.Recalled(Pos{1, 2000}) || l.Recalled(Pos{1, 1999}) || !l.Recalled(Pos{2, 0}) || l.Recalled(Pos{5, 1 << 40}) || l.Recalled(Pos{77, 0}) {
			t.Error("slots are recalled that are asked for, or the other way round")
		}
	}
}

// TestLawsOfAnEra: the laws of another clock epoch do not count.
func TestLawsOfAnEra(t *testing.T) {
	first, later := constant(1, 1_000_000, 0, 0, 0), constant(9, 500_000, 1, 700, 700)
	later.ClockEpoch = 9
	l := (*Laws)(nil).With(first, later)
	if l.In(1).Newest().ID != 1 || l.In(9).Newest().ID != 9 || l.In(9).Cut(0) != 700 || l.In(1).Cut(0) != pacer.Endless {
		t.Error("an era does not have its own newest law")
	}
	if n := len(l.In(1).Trim(0).All()); n != 1 {
		t.Errorf("%d laws are kept", n)
	}
}

// TestLawsAreTrimmed: laws that have ended are forgotten; laws in force are not.
func TestLawsAreTrimmed(t *testing.T) {
	l := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0), constant(2, 2_000_000, 1, 1000, 1000), constant(3, 3_000_000, 2, 1000, 2000))
	for _, c := range []struct {
		before int64
		left   int
	}{{0, 3}, {1_500_000, 3}, {2_000_000, 2}, {2_999_999, 2}, {3_000_000, 1}, {9_000_000, 1}} {
		got := l.Trim(c.before)
		if len(got.All()) != c.left || got.Newest().ID != 3 || got.Ordinal(Pos{3, 5}) != 2005 {
			t.Errorf("before %d: %d laws", c.before, len(got.All()))
		}
	}
}
