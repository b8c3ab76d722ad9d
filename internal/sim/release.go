package sim

import (
	"math"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// catchUp is how late a slot may be when it is first seen, as worker.DefaultCatchUp.
const catchUp = int64(100 * time.Millisecond)

// A send is one request that was fired.
type send struct {
	at     int64 // true time, ns
	due    int64 // ns of the Redis clock
	gen    int64 // of its slot; of a permit's: 0
	slot   int64
	member int32
	phi    int64 // of its permit, slots per 10⁶ s; 0 = a slot
	skew   int64 // of the Redis clock when the permit was heard of

	ending bool  // on a permit that gives way to leased slots
	early  int64 // on a permit, so long before the one begins that the server has given since, in a reply that has not arrived; µs
	leeway int64 // how early it may be, µs
}

// stream is what a worker holds, a pacer.Slots for each shard. It is walked without a goroutine: between two events nothing changes
// that a slot's fate depends on, so advance decides all those between the last event and this one. What a slot's fate
// is, is what internal/worker's shard.release says; only its pace is left out, so what is late leaves at once.
type stream struct {
	local  func(redis int64) int64 // when a time of the Redis clock is, true ns
	redis  func(local int64) int64 // the other way round
	awake  func(at int64) int64    // the first moment at or after at at which the process runs
	fire   func(send)
	tick   func(at int64) // at the end of each second
	second int64          // the next end of a second

	at     int64 // all before it is decided
	shards []pacer.Slots
	fired  []pacer.Last // of a permit's slots, by shard
	notice pacer.Notice
	skew   int64 // of the Redis clock when it came
	counts report.Counts
}

func newShards(n int) (shards []pacer.Slots) {
	for i := range n {
		shards = append(shards, pacer.NewSlots(i, n))
	}
	return shards
}

func (s *stream) lease(r pacer.Range) {
	for i := range s.shards {
		s.shards[i].Lease(r)
	}
}

// tell replaces the notice.
func (s *stream) tell(n pacer.Notice, skew int64) {
	s.notice, s.skew = n, skew
	for i := range s.shards {
		s.shards[i].Permit(n.Permits, s.fired[i].Due(s.redis))
	}
}

// next is the slot least due, and its shard, −1 if there is none.
func (s *stream) next() (x pacer.Slot, shard int) {
	shard = -1
	var y pacer.Slot
	for i := range s.shards {
		if s.shards[i].Next(&y) && (shard < 0 || y.Due < x.Due) {
			x, shard = y, i
		}
	}
	return x, shard
}

// advance decides all that was due up to now.
func (s *stream) advance(now int64) {
	for {
		x, shard := s.next()
		at := int64(math.MaxInt64)
		if shard >= 0 {
			at = s.awake(max(s.at, s.local(x.Due)))
		}
		for s.second <= min(at, now) {
			s.tick(s.second)
			s.second += int64(time.Second)
		}
		if at > now {
			break
		}
		s.release(x, shard, at)
		s.shards[shard].Pop()
	}
	s.at = max(s.at, now)
}

func (s *stream) release(x pacer.Slot, shard int, at int64) {
	due := s.local(x.Due)
	late := at-due > catchUp
	switch {
	case x.Permit && !late:
		s.fired[shard].Sent(x.Due, due)
		s.counts.PermitSent++
		s.counts.Sent++
		phi, ending := s.permit(x.Due)
		s.fire(send{at: at, due: x.Due, slot: x.Number, phi: phi, ending: ending, skew: s.skew})
	case x.Permit:
	case s.notice.Recalled(&x):
		s.counts.Recalled++
	case x.Yielded:
		s.counts.Yielded++
	case s.fired[shard].Replaces(&x, s.redis), late:
		s.counts.LateDropped++
	default:
		s.counts.Sent++
		s.fire(send{at: at, due: x.Due, gen: x.Generation, slot: x.Number})
	}
}

// permit is the rate of the permit in force at a time, and whether the next one is known: then the server knows of this one.
func (s *stream) permit(due int64) (phi int64, ending bool) {
	for i, p := range s.notice.Permits {
		if due < p.Until*1000 {
			return p.Phi(), i+1 < len(s.notice.Permits)
		}
	}
	return 1, true
}

// drop accounts for all that is still held: as recalled where it is, else as dropped late.
func (s *stream) drop() {
	s.quit()
	for i := range s.shards {
		for x := new(pacer.Slot); s.shards[i].Next(x); s.shards[i].Pop() {
			if s.notice.Recalled(x) {
				s.counts.Recalled++
			} else {
				s.counts.LateDropped++
			}
		}
	}
}

// quit ends the permits.
func (s *stream) quit() { s.tell(pacer.Notice{Recalls: s.notice.Recalls}, s.skew) }

func (s *stream) empty() bool {
	for i := range s.shards {
		if !s.shards[i].Empty() {
			return false
		}
	}
	return true
}
