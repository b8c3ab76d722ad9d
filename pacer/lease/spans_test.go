package lease

import (
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// operated returns the laws of a run that begins at 1 s, is paused at 3 s, resumed at 5 s, and ends at 9 s. known is
// how many of them are known.
func operated(known int) *Laws {
	law := func(id, t0 int64, phase Phase, end int64) Law {
		return Law{Law: pacer.Law{ID: id, T0: t0, Den: 1}, Phase: phase, Prev: id - 1, End: end, ClockEpoch: 1}
	}
	return (*Laws)(nil).With([]Law{law(1, 1_000_000, Running, 7_000_000), law(2, 3_000_000, Paused, 4_000_000), law(3, 5_000_000, Running, 9_000_000),
		law(4, 9_000_000, Ended, 9_000_000)}[:known]...)
}

// TestRunning: the times at which the run goes on, according to the known laws.
func TestRunning(t *testing.T) {
	for _, c := range []struct {
		known          int
		at             int64
		from, until    int64
		over           bool
		before, paused int64 // in the 10 s from 0 on
	}{
		{0, 2_000_000, 0, 0, false, 0, 0},
		{1, 500_000, 1_000_000, 7_000_000, false, 6_000_000, 0},
		{1, 7_000_000, 1_000_000, 7_000_000, true, 6_000_000, 0},
		{2, 2_000_000, 1_000_000, 3_000_000, false, 2_000_000, 7_000_000},
		{2, 8_000_000, 0, 0, false, 2_000_000, 7_000_000},
		{3, 2_999_999, 1_000_000, 3_000_000, false, 6_000_000, 2_000_000},
		{3, 3_000_000, 5_000_000, 9_000_000, false, 6_000_000, 2_000_000},
		{3, 9_000_000, 5_000_000, 9_000_000, true, 6_000_000, 2_000_000},
		{4, 8_000_000, 5_000_000, 9_000_000, false, 6_000_000, 2_000_000},
		{4, 9_000_000, 0, 0, true, 6_000_000, 2_000_000},
	} {
		l := operated(c.known)
		if from, until := l.Running(c.at); from != c.from || until != c.until {
			t.Errorf("%d laws, at %d: from %d to %d, want %d to %d", c.known, c.at, from, until, c.from, c.until)
		}
		if over := l.Over(c.at); over != c.over {
			t.Errorf("%d laws, at %d: over %v", c.known, c.at, over)
		}
		if running, paused := l.Spent(0, 10_000_000); running != c.before || paused != c.paused {
			t.Errorf("%d laws: went on for %d, paused for %d, want %d and %d", c.known, running, paused, c.before, c.paused)
		}
	}
}

// TestSpentOfWhatIsForgotten: time before the known laws counts like the first of them.
func TestSpentOfWhatIsForgotten(t *testing.T) {
	all := operated(4).All()
	if running, paused := (*Laws)(nil).With(all[2:]...).Spent(2_000_000, 6_000_000); running != 4_000_000 || paused != 0 {
		t.Errorf("went on for %d, paused for %d", running, paused)
	}
	if running, paused := (*Laws)(nil).With(all[1:]...).Spent(2_000_000, 6_000_000); running != 1_000_000 || paused != 3_000_000 {
		t.Errorf("went on for %d, paused for %d", running, paused)
	}
}

// TestRunningThroughLaws: consecutive laws are one stretch, and a new clock epoch begins another one.
func TestRunningThroughLaws(t *testing.T) {
	a, b := constant(1, 1_000_000, 0, 0, 0), constant(2, 4_000_000, 1, 3000, 3000)
	a.End, b.End = 8_000_000, 8_000_000
	l := (*Laws)(nil).With(a, b)
	if from, until := l.Running(2_000_000); from != 1_000_000 || until != 8_000_000 {
		t.Errorf("from %d to %d", from, until)
	}
	c := constant(3, 2_500_000, 2, 500, 3500) // the clock went back
	c.ClockEpoch, c.End = 3, 6_500_000
	if from, until := l.With(c).In(3).Running(2_480_000); from != 2_500_000 || until != 6_500_000 {
		t.Errorf("from %d to %d", from, until)
	}
}

// TestPeak: the highest rate from a time on.
func TestPeak(t *testing.T) {
	ramp := Law{Law: pacer.Law{ID: 1, T0: 1_000_000, R0: 2000, R1: 1000, Den: 1, Dur: 2_000_000, K: 3000}, End: pacer.Endless, ClockEpoch: 1}
	flat := constant(2, 3_000_000, 1, 3000, 3000)
	flat.End = pacer.Endless
	l := (*Laws)(nil).With(ramp, flat)
	for at, want := range map[int64]float64{0: 2000, 1_000_000: 2000, 2_000_000: 1500, 3_000_000: 1000, 9_000_000: 1000} {
		if got := l.Peak(at); got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	if got := (*Laws)(nil).Peak(0); got != 0 {
		t.Error(got)
	}
}
