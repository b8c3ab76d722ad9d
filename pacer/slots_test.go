package pacer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/pacer"
)

// drain pops all slots due before `before` ns.
func drain(s *pacer.Slots, before int64) (leased, permitted []int64) {
	for x := new(pacer.Slot); s.Next(x) && x.Due < before; s.Pop() {
		if x.Permit {
			permitted = append(permitted, x.Due)
		} else {
			leased = append(leased, x.Due)
		}
	}
	return leased, permitted
}

func TestSlotsComeInOrder(t *testing.T) {
	s := pacer.NewSlots(0, 1)
	if s.Next(new(pacer.Slot)) || !s.Empty() {
		t.Fatal("not empty at first")
	}
	law := pacer.Law{ID: 7, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless, F: 16}
	s.Lease(pacer.Range{Law: law, First: 1040, N: 40})
	s.Lease(pacer.Range{Law: law, First: 1000, N: 40})
	s.Permit([]pacer.Permit{permitOf(100, 0, second, 2*second)}, 0)
	if s.Leased() != 80 || s.Empty() {
		t.Fatalf("%d leased", s.Leased())
	}
	last, n := int64(0), 0
	for x := new(pacer.Slot); s.Next(x); s.Pop() {
		if x.Due < last {
			t.Fatalf("slot %+v after one due at %d", x, last)
		}
		last = x.Due
		n++
	}
	if n != 80+100 || !s.Empty() {
		t.Errorf("%d slots, want 180", n)
	}
}

// Ranges and permits come while others are being walked: the next slot is always one of the least due of all that are held.
func TestSlotsOfSeveralRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		s := pacer.NewSlots(1, 2)
		var held []pacer.Slot
		hold := func(r pacer.Range, permit bool) {
			for c := r.Cursor(1, 2); c.Ok(); c.Next() {
				held = append(held, pacer.Slot{Generation: c.Generation(), Number: c.Slot(), Due: c.Due(), Permit: permit, Yielded: !permit && c.Yielded()})
			}
		}
		var x pacer.Slot
		for id := range int64(300) {
			switch rng.Int64N(40) {
			case 0:
				rate := 500 + rng.Int64N(1000)
				law := pacer.Law{ID: id, T0: rng.Int64N(second), R0: rate, R1: rate, Den: 1, K: pacer.Endless, F: 16}
				r := pacer.Range{Law: law, First: rng.Int64N(1000), N: 1 + rng.Int64N(100), Yield: rng.Int64N(2) * 300_000}
				if rng.Int64N(2) == 0 {
					r.At = law.T0 + second // many at once
				}
				s.Lease(r)
				hold(r, false)
			case 1:
				from := rng.Int64N(second)
				ps := []pacer.Permit{permitOf(1+rng.Int64N(500), 0, from, from+second), permitOf(1+rng.Int64N(500), 7, from+second, 2*second)}
				s.Permit(ps, 0)
				held = slices.DeleteFunc(held, func(x pacer.Slot) bool { return x.Permit })
				for _, p := range ps {
					hold(p.Range(), true)
				}
			default:
				ok := s.Next(&x)
				if ok != (len(held) > 0) {
					t.Fatalf("there is a slot: %v, but %d are held", ok, len(held))
				}
				if !ok {
					continue
				}
				i := slices.Index(held, x)
				if i < 0 || slices.ContainsFunc(held, func(y pacer.Slot) bool { return y.Due < x.Due }) {
					t.Fatalf("%+v is not held, or others are due before", x)
				}
				held = slices.Delete(held, i, i+1)
				s.Pop()
			}
		}
	}
}

// Of slots that are due at once the leased one goes first, whichever was walked before: the permit's would replace it.
func TestSlotsDueAtOnce(t *testing.T) {
	s := pacer.NewSlots(0, 1)
	s.Lease(pacer.Range{Law: pacer.Law{R0: 100, R1: 100, Den: 1, K: pacer.Endless, F: 1}, First: 100, N: 50})
	s.Permit([]pacer.Permit{permitOf(1000, 0, second, 2*second)}, 0)
	var x, last pacer.Slot
	ties := 0
	for ; s.Next(&x); s.Pop() {
		if x.Due == last.Due {
			ties++
			if last.Permit || !x.Permit {
				t.Fatalf("%+v came before %+v", last, x)
			}
		}
		last = x
	}
	if ties != 50 {
		t.Errorf("%d pairs were due at once, want 50", ties)
	}
}

// Each notice brings a new permit; a stream that is in force goes on where it was, and none of its slots is sent twice.
func TestSlotsChangeThePermit(t *testing.T) {
	s := pacer.NewSlots(0, 1)
	s.Permit([]pacer.Permit{permitOf(100, 0, 2*second, 9*second)}, 0)
	_, a := drain(&s, 2_505e6)
	s.Permit([]pacer.Permit{permitOf(100, 0, 2*second+second/10, 9*second)}, a[len(a)-1]) // begun already
	_, b := drain(&s, 2_995e6)
	s.Permit([]pacer.Permit{permitOf(100, 0, 2*second, 3*second), permitOf(50, 500_000, 4*second, 5*second)}, b[len(b)-1]) // handed over at 3 s
	_, c := drain(&s, 100e9)
	if len(a) != 51 || len(b) != 49 || len(c) != 50 {
		t.Errorf("%d, %d and %d slots, want 51, 49 and 50", len(a), len(b), len(c))
	}
	if all := append(append(a, b...), c...); true {
		for i := range all[1:] {
			if all[i+1] <= all[i] {
				t.Fatalf("slot due at %d after one at %d", all[i+1], all[i])
			}
		}
	}
	s.Permit([]pacer.Permit{permitOf(100, 0, 6*second, 9*second)}, c[len(c)-1])
	s.Permit(nil, 0)
	if s.Next(new(pacer.Slot)) {
		t.Error("a permit that was taken away is still there")
	}
}
