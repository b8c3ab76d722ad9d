package worker

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

func TestPeak(t *testing.T) {
	ramp := pacer.Law{T0: 1e15, R0: 1000, R1: 2000, Den: 1, Dur: 10 * second, K: 15_000, F: 16}
	down := ramp
	down.R0, down.R1 = ramp.R1, ramp.R0
	for _, c := range []struct {
		name      string
		r         pacer.Range
		low, high float64
	}{
		{"constant", pacer.Range{Law: law(1, 1e15, 700, 16), First: 32, N: 100}, 700, 700},
		{"the beginning of a ramp", pacer.Range{Law: ramp, First: 0, N: 16}, 1000, 1002},
		{"its end", pacer.Range{Law: ramp, First: 14_992, N: 8}, 1999, 2000},
		{"part of a frame", pacer.Range{Law: ramp, First: 7501, N: 1}, 1500, 1600},
		{"all of it", pacer.Range{Law: ramp, N: 15_000}, 1999, 2000},
		{"the beginning of a ramp down", pacer.Range{Law: down, First: 0, N: 100}, 1999, 2000},
		{"its end", pacer.Range{Law: down, First: 14_992, N: 8}, 1000, 1002},
	} {
		if got := peak(c.r); got < c.low || got > c.high {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.low, c.high)
		}
	}
}

func TestGuard(t *testing.T) {
	slow, fast := pacer.Range{Law: law(1, 1e15, 2000, 16), N: 16}, pacer.Range{Law: law(2, 1e15, 2001, 16), N: 16}
	permit := []pacer.Permit{{Law: slow.Law, From: 1e15, Until: 1e15 + 1}}
	for _, most := range []pacer.Rate{{}, pacer.PerSecond(2001)} {
		g := guard{most: most, end: func(error) { t.Error("it ends") }}
		if g.refuses(slow) || g.refuses(fast) || g.permits(permit) == nil || len(g.refused) > 0 {
			t.Errorf("%v: refused %v", most, g.refused)
		}
	}
	var ended []error
	g := guard{most: pacer.PerSecond(2000), end: func(err error) { ended = append(ended, err) }}
	if g.refuses(slow) || g.permits(permit) == nil || len(ended) > 0 {
		t.Error("what is not too fast is refused")
	}
	if g.permits([]pacer.Permit{{Law: fast.Law, From: 1e15, Until: 1e15 + 1}}) != nil {
		t.Error("a permit that is too fast by itself")
	}
	if !g.refuses(fast) || !g.refuses(slow) || g.permits(permit) != nil || len(g.refused) != 2 {
		t.Errorf("refused %v", g.refused)
	}
	if len(ended) != 1 || !errors.Is(ended[0], ErrTooFast) || ended[0].Error() != "the cluster is asked for 2001/s, more than --max-qps 2000 of this worker" {
		t.Errorf("ended with %v", ended)
	}
}

// tooFast checks that a member ended because of its MaxRate, which is no failure of the sim.
func (m *simMember) tooFast(says string) {
	m.t.Helper()
	if !errors.Is(m.err, ErrTooFast) || !strings.HasPrefix(m.err.Error(), says) {
		m.t.Errorf("%s ended with %v", m.ID, m.err)
	}
	m.err = nil
}

// A change of the rate to more than a worker takes part in: it sends nothing of it, what it was leased of it is dropped and counted, and
// the others have it all.
func TestMaxRate(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 10 * second, Min: 3})
		s.fleet(3)
		for _, m := range s.members[1:] {
			m.MaxRate = pacer.PerSecond(2000)
		}
		s.members[2].MaxRate = pacer.PerSecond(1000)
		for _, m := range s.members {
			m.start()
		}
		time.Sleep(3 * time.Second)
		first := s.command("set-rate", pieces(t, 2000))
		time.Sleep(2 * time.Second)
		second := s.command("set-rate", pieces(t, 2001))
		s.wait()
		for i, change := range map[int]time.Duration{1: second, 2: first} {
			m := s.members[i]
			m.tooFast("the cluster is asked for 200")
			for _, x := range s.sends {
				if x.worker == m.ID && time.Duration(x.due) >= change {
					t.Fatalf("%s sent what was due %v after the change", m.ID, time.Duration(x.due)-change)
				}
			}
			if left, ok := m.journal.left[StateLeft]; !ok || left > change+200*time.Millisecond {
				t.Errorf("%s left at %v, the change was at %v", m.ID, left, change)
			}
		}
		n := s.audit()
		if n.LateDropped == 0 || n.LateDropped > 2000/3/2+2001/2/2+50 { // H of each, and a frame
			t.Errorf("%+v", n)
		}
		if n := s.between(second+time.Second, second+2*time.Second); n < 1999 || n > 2003 {
			t.Errorf("%d in a second after they have left", n)
		}
	})
}

// On a ramp it leaves where the ramp would pass its limit, not before.
func TestMaxRateOnARamp(t *testing.T) {
	simulate(t, func(t *testing.T) {
		ramp, err := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(2000)}).Pieces()
		if err != nil {
			t.Fatal(err)
		}
		s := newSim(t, 0, model.Options{Pieces: ramp, Span: 10 * second, Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.MaxRate = pacer.PerSecond(1500)
		s.run()
		m.tooFast("the cluster is asked for 15")
		last := time.Duration(s.sends[len(s.sends)-1].due) - (time.Duration(s.budget.Started)*time.Microsecond - time.Duration(s.began.Add(s.skew).UnixNano()))
		if last > 7500*time.Millisecond || last < 7100*time.Millisecond {
			t.Errorf("the last was due after %v, the limit is reached after 7.5 s", last)
		}
		if n := s.audit(); n.LateDropped == 0 {
			t.Errorf("%+v", n)
		}
	})
}

// One that joins a run which is too fast from the first slot on sends nothing.
func TestMaxRateFromTheBeginning(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 100, model.Options{Span: 5 * second, Min: 1})
		s.fleet(1)
		m := s.members[0]
		m.MaxRate = pacer.PerSecond(50)
		s.run()
		m.tooFast("the cluster is asked for 100/s, more than --max-qps 50 of this worker")
		if s.audit(); len(s.sends) > 0 {
			t.Errorf("%d sent", len(s.sends))
		}
	})
}
