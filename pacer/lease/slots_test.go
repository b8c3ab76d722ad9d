package lease

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

// due collects all slots that shards send before a time, µs.
func due(shards []*Slots, before int64, got map[Pos]int) {
	for _, s := range shards {
		var x pacer.Slot
		last := int64(0)
		for ; s.Next(&x) && x.Due < before*1000; s.Pop() {
			got[Pos{x.Law, x.Number}]++
			if x.Due < last {
				panic(fmt.Sprint("not in the order of time: ", x))
			}
			last = x.Due
		}
	}
}

func shardsOf(n int) (out []*Slots) {
	for i := range n {
		out = append(out, NewSlots(i, n))
	}
	return out
}

// TestSlotsAreThoseOfTheRanges: the shards of a worker send each slot of its ranges once, and no other.
func TestSlotsAreThoseOfTheRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		law := constant(1, 1_000_000, 0, 0, rng.Int64N(1<<40))
		var held Ranges
		for at := int64(0); at < circle.Units; {
			lo := at + rng.Int64N(circle.Units/4)
			hi := min(circle.Units, lo+1+rng.Int64N(circle.Units/4))
			if lo < circle.Units {
				held = append(held, Range{Lo: lo, Hi: hi, From: Pos{1, rng.Int64N(900)}})
			}
			at = hi
		}
		v := View{Version: 1, ClockEpoch: 1, Laws: (*Laws)(nil).With(law), Held: held, P: 3_000_000}
		shards, got := shardsOf(1+rng.IntN(4)), map[Pos]int{}
		for _, s := range shards {
			s.Take(&v)
		}
		due(shards, math.MaxInt64/2000, got)
		for k := range int64(3000) {
			want := 0
			for _, x := range held {
				if at := circle.At(law.Base + k); at >= x.Lo && at < x.Hi && k >= x.From.K && k < 2000 { // the rest is not leased
					want = 1
				}
			}
			if got[Pos{1, k}] != want {
				t.Fatalf("slot %d is sent %d times, expected %d", k, got[Pos{1, k}], want)
			}
		}
	}
}

// TestSlotsChangeHands: two workers pass a range back and forth. Their shards take the views at different times, as
// far as agreement lets them. Each slot is sent once.
func TestSlotsChangeHands(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 40 {
		laws := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, rng.Int64N(1000)))
		a, b := shardsOf(2), shardsOf(3)
		x := Range{Lo: 0, Hi: circle.Units / 3, From: Pos{1, 0}}
		rest := Ranges{{Lo: circle.Units / 3, Hi: circle.Units, From: Pos{1, 0}}}
		got := map[Pos]int{}
		va, vb := View{Version: 1, ClockEpoch: 1, Laws: laws, Held: append(Ranges{x}, rest...), P: math.MaxInt64 / 2000}, View{Version: 1, ClockEpoch: 1, Laws: laws, P: math.MaxInt64 / 2000}
		take := func(shards []*Slots, v View) {
			for _, s := range shards {
				s.Take(&v)
			}
		}
		take(a, va)
		take(b, vb)
		now, reached, owner := int64(1_000_000), int64(0), 0
		for range 20 {
			now = max(now+rng.Int64N(300_000), reached) // a range is given up only from a slot that no shard has passed
			due(a, now, got)
			due(b, now, got)
			end := Later(x.From, Pos{1, laws.All()[0].Before(now + rng.Int64N(200_000))})
			from, to, vf, vt := a, b, &va, &vb
			if owner == 1 {
				from, to, vf, vt = b, a, &vb, &va
			}
			vf.Version++
			vf.Held = vf.Held.Minus(Ranges{x})
			vf.Ending = append([]Ending(nil), vf.Ending...)
			vf.Ending = append(vf.Ending, Ending{Range: x, End: end, P: vf.P, id: len(vf.Ending) + 1})
			take(from, *vf)
			x.From = end
			vt.Version++
			vt.Held = vt.Held.Plus(Ranges{x})
			view := *vt
			for _, s := range to { // some shards are late
				if rng.IntN(3) == 0 {
					reached = max(reached, now+rng.Int64N(50_000))
					due(to, reached, got)
				}
				s.Take(&view)
			}
			owner = 1 - owner
		}
		due(a, now+1_000_000, got)
		due(b, now+1_000_000, got)
		for k := range laws.All()[0].Before(now + 1_000_000) {
			if got[Pos{1, k}] != 1 {
				t.Fatalf("slot %d is sent %d times", k, got[Pos{1, k}])
			}
		}
	}
}

// TestSlotsBeyondACut: slots sent before the worker received a cut are counted, and none is sent after.
func TestSlotsBeyondACut(t *testing.T) {
	old := constant(1, 1_000_000, 0, 0, 0)
	v := View{Version: 1, ClockEpoch: 1, Laws: (*Laws)(nil).With(old), Held: Ranges{{Lo: 0, Hi: circle.Units / 2, From: Pos{1, 0}}}, P: math.MaxInt64 / 2000}
	shards, got := shardsOf(2), map[Pos]int{}
	for _, s := range shards {
		s.Take(&v)
	}
	due(shards, 2_000_000, got)
	sent := len(got)
	w := v
	w.Version, w.Laws = 2, v.Laws.With(constant(2, 1_900_000, 1, 900, 900))
	beyond := int64(0)
	for _, s := range shards {
		s.Take(&w)
		beyond += s.Beyond()
	}
	due(shards, 2_000_000, got)
	asked, of := 0, int64(0)
	for p := range got {
		if p.Law == 1 && p.K >= 900 {
			of++
		} else {
			asked++
		}
	}
	if beyond != of || of == 0 || sent != int(circle.Range{N: circle.Units / 2}.Count(0, 1000)) || asked != int(circle.Range{N: circle.Units / 2}.Count(0, 1000)) {
		t.Errorf("%d sent, %d beyond the cut, %d counted, %d asked for", sent, of, beyond, asked)
	}
}

// TestSlotsBeyondTwoLaws: a change may end a law and make the next one void, after slots of both were taken. All of them
// are counted, and found again.
func TestSlotsBeyondTwoLaws(t *testing.T) {
	first := constant(1, 1_000_000, 0, 0, 0)
	first.K = 900
	s := NewSlots(0, 1)
	s.Unique()
	v := View{Version: 1, ClockEpoch: 1, Laws: (*Laws)(nil).With(first, constant(2, 1_900_000, 1, 900, 900)), Held: Ranges{{Lo: 0, Hi: circle.Units, From: Pos{1, 0}}}, P: math.MaxInt64 / 2000}
	s.Take(&v)
	sent := map[int64]int{}
	send := func(before int64) {
		var x pacer.Slot
		for ; s.Next(&x) && x.Due < before*1000; s.Pop() {
			if !s.Again(&x) {
				sent[x.Ordinal]++
			}
		}
	}
	send(2_000_000)
	w := v
	w.Version, w.Laws = 2, v.Laws.With(constant(3, 1_800_000, 1, 800, 800))
	if s.Take(&w); s.Beyond() != 200 {
		t.Errorf("%d are beyond the cuts, want 200", s.Beyond())
	}
	if send(2_500_000); s.Deduplicated() != 200 {
		t.Errorf("%d have replaced others, want 200", s.Deduplicated())
	}
	for q := range int64(1500) {
		if sent[q] != 1 {
			t.Fatalf("ordinal %d was sent %d times", q, sent[q])
		}
	}
}

// TestSlotsAgain: slots sent before the worker received a cut replace the slots that have their ordinals next. So
// each ordinal is sent once, through two cuts, and nothing is beyond them in the end. One that was not sent is sent then.
func TestSlotsAgain(t *testing.T) {
	laws := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0))
	v := View{Version: 1, ClockEpoch: 1, Laws: laws, Held: Ranges{{Lo: 0, Hi: circle.Units / 2, From: Pos{1, 0}}}, P: math.MaxInt64 / 2000}
	shards, sent := shardsOf(2), map[int64]int{}
	send := func(before int64) {
		for _, s := range shards {
			var x pacer.Slot
			for ; s.Next(&x) && x.Due < before*1000; s.Pop() {
				if !s.Again(&x) {
					sent[x.Ordinal]++
				}
			}
		}
	}
	for _, s := range shards {
		s.Unique()
		s.Take(&v)
	}
	send(2_000_000) // 1,000 a second
	var unsent pacer.Slot
	for q := range sent {
		if q > 950 {
			unsent.Ordinal = q
			break
		}
	}
	shards[circle.Shard(unsent.Ordinal, 2)].Unsent(&unsent)
	sent[unsent.Ordinal] = 0
	for i, law := range []Law{constant(2, 1_900_000, 1, 900, 900), constant(3, 1_930_000, 2, 30, 930)} {
		w := v
		w.Version, w.Laws = 2+i, v.Laws.With(law)
		for _, s := range shards {
			s.Take(&w)
		}
		v = w
		if n := shards[0].Beyond() + shards[1].Beyond(); n == 0 {
			t.Fatal("nothing is beyond the cut")
		}
		send(1_950_000)
	}
	send(3_000_000)
	if n := shards[0].Beyond() - shards[0].Deduplicated() + shards[1].Beyond() - shards[1].Deduplicated(); n != 1 { // the one that was not sent
		t.Errorf("%d are still beyond the cuts", n)
	}
	for w := (circle.Range{N: circle.Units / 2}).Walk(0); w.Ordinal() < 2000; w.Next() {
		if n := sent[w.Ordinal()]; n != 1 {
			t.Errorf("ordinal %d was sent %d times", w.Ordinal(), n)
		}
	}
}

// TestSlotsDropped: slots that are dropped when Pop takes them replace no later ones, whatever is dropped later.
func TestSlotsDropped(t *testing.T) {
	laws := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0))
	v := View{Version: 1, ClockEpoch: 1, Laws: laws, Held: Ranges{{Lo: 0, Hi: circle.Units, From: Pos{1, 0}}}, P: math.MaxInt64 / 2000}
	s, sent := NewSlots(0, 1), map[int64]int{}
	s.Unique()
	take := func(before int64, drop bool) {
		var x pacer.Slot
		for ; s.Next(&x) && x.Due < before*1000; s.Pop() {
			switch {
			case s.Again(&x):
			case drop:
				s.Dropped(&x)
			default:
				sent[x.Ordinal]++
			}
		}
	}
	s.Take(&v)
	take(1_500_000, false) // 1,000 a second, from 1 s on
	take(2_000_000, true)
	w := v
	w.Version, w.Laws = 2, v.Laws.With(constant(2, 1_400_000, 1, 400, 400))
	s.Take(&w)
	take(3_000_000, false)
	for q := range int64(2000) {
		if n := sent[q]; n != 1 {
			t.Fatalf("ordinal %d was sent %d times", q, n)
		}
	}
	if n := s.Beyond() - s.Deduplicated(); s.Deduplicated() != 100 || n != 500 { // dropped ones stay beyond
		t.Errorf("%d deduplicated, %d are beyond", s.Deduplicated(), n)
	}
}

// BenchmarkSlots measures the cost of a slot for a shard. Names give the worker's share, ranges and shards.
func BenchmarkSlots(b *testing.B) {
	for _, c := range []struct {
		share, ranges int64
		shards        int
	}{{1, 1, 1}, {3, 1, 1}, {3, 8, 1}, {3, 1, 2}, {1, 1, 16}, {100, 8, 2}} {
		b.Run(fmt.Sprintf("share=1of%d/ranges=%d/shards=%d", c.share, c.ranges, c.shards), func(b *testing.B) {
			v := View{Version: 1, ClockEpoch: 1, Laws: (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0)), P: math.MaxInt64 / 2000}
			for i := range c.ranges {
				lo := circle.Units / c.ranges * i
				v.Held = append(v.Held, Range{Lo: lo, Hi: lo + circle.Units/c.share/c.ranges, From: Pos{1, 0}})
			}
			s := NewSlots(0, c.shards)
			s.Take(&v)
			b.ReportAllocs()
			var x pacer.Slot
			for b.Loop() {
				if !s.Next(&x) {
					b.Fatal("no slot")
				}
				s.Pop()
			}
		})
	}
}

// TestTinyRanges: all slots of a range of one place are in one shard, and the other shards' search ends.
func TestTinyRanges(t *testing.T) {
	for lo := range int64(4) {
		v := View{Version: 1, ClockEpoch: 1, Laws: (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0)), Held: Ranges{{Lo: lo, Hi: lo + 1, From: Pos{1, 0}}}, P: 20_000_000}
		for shard := range 2 {
			s := NewSlots(shard, 2)
			s.Take(&v)
			var x pacer.Slot
			for s.Next(&x) {
				s.Pop()
			}
		}
	}
}

// TestSlotsGivenUpAgain: a shard that skips the View in which a range came back does not send its slots again when
// the range is given up again.
func TestSlotsGivenUpAgain(t *testing.T) {
	laws, whole := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0)), Range{Lo: 0, Hi: circle.Units, From: Pos{1, 0}}
	s, got := NewSlots(0, 1), map[Pos]int{}
	ending := func(id int, end int64) []Ending {
		return []Ending{{Range: whole, id: id, End: Pos{1, end}, P: 10_000_000}}
	}
	s.Take(&View{Version: 1, ClockEpoch: 1, Laws: laws, Ending: ending(1, 2000), P: 10_000_000})
	due([]*Slots{s}, 1_500_000, got)
	s.Take(&View{Version: 3, ClockEpoch: 1, Laws: laws, Ending: ending(2, 2500), P: 10_000_000}) // version 2 contained the range
	due([]*Slots{s}, math.MaxInt64/2000, got)
	for k := range int64(2500) {
		if n := got[Pos{1, k}]; n != 1 {
			t.Fatalf("slot %d was given out %d times", k, n)
		}
	}
}

// TestGivenUpBeforeALaw: a shard may learn in one View that its worker gives up a range, and of a law that the worker
// did not know when it chose the end. Slots of that law are another worker's, and the shard sends none of them.
func TestGivenUpBeforeALaw(t *testing.T) {
	const quarter, half = circle.Units / 4, circle.Units / 2
	laws, s, got := (*Laws)(nil).With(constant(1, 1_000_000, 0, 0, 0)), NewSlots(0, 1), map[Pos]int{}
	v := View{Version: 1, ClockEpoch: 1, Laws: laws, Held: Ranges{{Lo: 0, Hi: half, From: Pos{1, 0}}}, P: 10_000_000}
	s.Take(&v)
	due([]*Slots{s}, 1_950_000, got)
	w := View{Version: 2, ClockEpoch: 1, Laws: laws.With(constant(2, 1_900_000, 1, 900, 900)), Held: Ranges{{Lo: quarter, Hi: half, From: Pos{1, 0}}},
		Ending: []Ending{{Range: Range{Lo: 0, Hi: quarter, From: Pos{1, 0}}, id: 1, End: Pos{1, 2500}, P: 10_000_000}}, P: 10_000_000}
	s.Learn(&w)
	due([]*Slots{s}, 2_000_000, got)
	s.Take(&w)
	due([]*Slots{s}, 3_000_000, got)
	for k := range int64(1000) {
		want := 0
		if at := circle.At(900 + k); at >= quarter && at < half {
			want = 1
		}
		if n := got[Pos{2, k}]; n != want {
			t.Fatalf("slot %d of the second law was given out %d times, want %d", k, n, want)
		}
	}
}

// TestNeighboursUnite: ranges that came at different times become one cursor when both times are past.
func TestNeighboursUnite(t *testing.T) {
	laws := (*Laws)(nil).With(Law{Law: pacer.Law{ID: 1, R0: 1000, R1: 1000, Den: 1, K: pacer.Endless}, Plan: &Plan{}, End: pacer.Endless}).In(0)
	s := NewSlots(0, 1)
	const half = circle.Units / 2
	s.Take(&View{Version: 1, Laws: laws, P: 60_000_000, Held: Ranges{{Lo: 0, Hi: half}}})
	s.Take(&View{Version: 2, Laws: laws, P: 60_000_000, Held: Ranges{{Lo: 0, Hi: half}, {Lo: half, Hi: circle.Units, From: Pos{1, 500}}}})
	var x pacer.Slot
	for s.Next(&x) && x.Due < 1_000_000_000 {
		s.Pop()
	}
	if len(s.cursors) != 2 {
		t.Fatalf("%d cursors of two ranges", len(s.cursors))
	}
	s.Take(&View{Version: 3, Laws: laws, Now: 900_000, P: 60_000_000, Held: Ranges{{Lo: 0, Hi: circle.Units, From: Pos{1, 500}}}})
	if len(s.cursors) != 1 {
		t.Errorf("%d cursors, the ranges are one", len(s.cursors))
	}
}
