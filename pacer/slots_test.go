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

// Ranges and permits come while others are being walked: the next slot is always the least due of all that are held.
func TestSlotsOfSeveralRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		s := pacer.NewSlots(0, 1)
		var leased, permitted []int64 // due times that are held
		var x pacer.Slot
		for range 300 {
			switch n := rng.Int64N(40); n {
			case 0:
				law := pacer.Law{T0: rng.Int64N(second), R0: 1000, R1: 1000, Den: 1, K: pacer.Endless, F: 16}
				r := pacer.Range{Law: law, First: rng.Int64N(1000), N: 1 + rng.Int64N(60)}
				s.Lease(r)
				for c := r.Cursor(0, 1); c.Ok(); c.Next() {
					leased = append(leased, c.Due())
				}
			case 1:
				p := permitOf(1+rng.Int64N(500), 0, rng.Int64N(second), 2*second)
				s.Permit([]pacer.Permit{p}, 0)
				permitted = permitted[:0]
				for c := p.Range().Cursor(0, 1); c.Ok(); c.Next() {
					permitted = append(permitted, c.Due())
				}
			default:
				held := slices.Concat(leased, permitted)
				if ok := s.Next(&x); ok != (len(held) > 0) || ok && x.Due != slices.Min(held) {
					t.Fatalf("%v: %+v, of %d", ok, x, len(held))
				} else if ok {
					s.Pop()
					from := &leased
					if x.Permit {
						from = &permitted
					}
					i := slices.Index(*from, x.Due)
					*from = slices.Delete(*from, i, i+1)
				}
			}
		}
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
