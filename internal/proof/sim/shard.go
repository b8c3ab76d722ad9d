package sim

import (
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// Broken are rules of workers to break, to show that each is needed.
type Broken struct {
	ListP bool // a new lease also covers what was given up
	Agree bool // a range is released before the shards have agreed
	Due   bool // slots due after the lease are sent
	Back  bool // a shard forgets what it has decided when it takes up a new View
	Again bool // a shard forgets which ordinals it sent beyond a cut
	Fixed bool // the range of a slot, not its ordinal, decides which shard sends it
}

// shard decides on its slots when they are due, while its process runs.
type shard struct {
	*node
	slots         *lease.Slots
	index, shards int
	clockEpoch    int64
	at            int64 // it has looked at all slots due before, µs of the Redis clock as the process estimates it
}

func newShard(m *node, index, shards int) *shard {
	s := &shard{node: m, index: index, shards: shards}
	s.forget()
	return s
}

func (s *shard) forget() {
	s.slots = lease.NewSlots(s.index, s.shards)
	if s.broken.Fixed {
		s.slots = lease.NewSlots(0, 1)
	}
	if !s.broken.Again {
		s.slots.Unique()
	}
}

// advance decides on all slots due before now, each at its due time; late ones now. If the process was stopped, all
// are late.
func (s *shard) advance(now int64, woken bool) {
	if now <= s.at {
		return
	}
	s.decide(now, woken)
	s.at = now
}

// take goes by another View. Slots that the new View admits and that are past are decided now.
func (s *shard) take(v lease.View, now int64) {
	if v.Version <= s.slots.Version() {
		return
	}
	if v.ClockEpoch == s.clockEpoch {
		s.advance(now, false)
		s.slots.Learn(&v)
		s.decide(s.at, true)
	}
	s.damage(&v)
	s.slots.Take(&v)
	if s.clockEpoch != v.ClockEpoch {
		s.clockEpoch, s.at = v.ClockEpoch, now
	}
	s.decide(s.at, true)
}

// damage applies the broken rules to a View.
func (s *shard) damage(v *lease.View) {
	b := s.broken
	v.Ending = slices.Clone(v.Ending)
	for i := range v.Ending {
		if b.ListP {
			v.Ending[i].P = v.P
		}
		if b.Due {
			v.Ending[i].P = math.MaxInt64 / 2000
		}
		if b.Fixed {
			v.Ending[i].Range = s.part(v.Ending[i].Range)
		}
	}
	if b.Due {
		v.P = math.MaxInt64 / 2000
	}
	if b.Back {
		s.forget()
	}
	if b.Fixed {
		v.Held = v.Held.Each(func(x *lease.Range) { *x = s.part(*x) })
		v.Held = slices.DeleteFunc(v.Held, func(x lease.Range) bool { return x.Lo == x.Hi })
		v.Ending = slices.DeleteFunc(v.Ending, func(x lease.Ending) bool { return x.Lo == x.Hi })
	}
}

// part returns this shard's part of a range, cut by length.
func (s *shard) part(x lease.Range) lease.Range {
	n := x.Hi - x.Lo
	lo := x.Lo + n*int64(s.index)/int64(s.shards)
	x.Lo, x.Hi = lo, x.Lo+n*int64(s.index+1)/int64(s.shards)
	return x
}

func (s *shard) decide(before int64, now bool) {
	if s.halted {
		return
	}
	var x pacer.Slot
	for ; s.slots.Next(&x) && x.Due < before*1000; s.slots.Pop() {
		d := send{law: x.Law, k: x.Number, ordinal: x.Ordinal, due: x.Due, at: x.Due - zero - s.offset, node: s.node.index}
		d.again = s.slots.Again(&x)
		if now || x.Due < s.at*1000 {
			d.at = s.Now
			d.late = lease.FateOf(s.redis()*1000, x.Due, int64(100*time.Millisecond)) == lease.Late
		}
		if d.late && !d.again {
			s.slots.Dropped(&x)
		}
		s.sends = append(s.sends, d)
	}
}
