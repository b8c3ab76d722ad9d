package lease

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

// TestSeatsOfAView: workers that share the circle share the seats. A law that says otherwise has its time.
func TestSeatsOfAView(t *testing.T) {
	law := func(id, t0, n int64, phase Phase) Law {
		return Law{Law: pacer.Law{ID: id, T0: t0, R0: n, R1: n, Den: 1_000_000, K: pacer.Endless}, Phase: phase, Prev: id - 1, ClockEpoch: 1, End: pacer.Endless}
	}
	laws := (*Laws)(nil).With(law(1, 100, 8, Running), law(2, 200, 21, Running), law(3, 300, 0, Paused))
	seats := func(at int64) (sum, until int64) {
		for _, held := range []Ranges{{{Lo: 0, Hi: 7}, {Lo: 1000, Hi: circle.Units / 2}}, {{Lo: 7, Hi: 1000}}, {{Lo: circle.Units / 2, Hi: circle.Units}}, nil} {
			n, next := (&View{Laws: laws, Held: held}).Seats(at)
			sum, until = sum+n, next
		}
		return sum, until
	}
	for _, c := range []struct{ at, n, until int64 }{
		{50, 8, 200}, {100, 8, 200}, {199, 8, 200}, {200, 21, 300}, {300, 0, pacer.Endless}, {5000, 0, pacer.Endless},
	} {
		if n, until := seats(c.at); n != c.n || until != c.until {
			t.Errorf("at %d: %d seats until %d, want %d until %d", c.at, n, until, c.n, c.until)
		}
	}
	if n, until := (&View{Held: Whole()}).Seats(0); n != 0 || until != pacer.Endless {
		t.Errorf("without laws: %d until %d", n, until)
	}
}
