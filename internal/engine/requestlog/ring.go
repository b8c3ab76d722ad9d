package requestlog

import (
	"sync/atomic"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// An entry is one request that waits to be written. Times are ns of the Redis clock.
type entry struct {
	due, sent, first, done int64 // first: 0 = no byte came
	number                 uint64
	in, out                int64
	connection             int64
	class                  string
	step, status           int32
	reused                 bool
}

// A ring holds entries between one goroutine that adds and one that takes.
//
//	taken ≤ put ≤ taken + room
type ring struct {
	put   atomic.Uint64 // how many were put in; the producer writes it
	left  atomic.Uint64 // how many found no room; the producer writes it
	seen  uint64        // what taken was when the producer last looked
	_     [40]byte      // the two goroutines share no line of the cache
	taken atomic.Uint64 // how many were taken out; the consumer writes it
	_     [56]byte
	slots []entry // their number is a power of two
}

func newRing(size int) *ring { return &ring{slots: make([]entry, size)} }

// add puts a request in, or counts it as left out. The producer calls it.
func (g *ring) add(r *targets.Result, clock *pacer.Clock) {
	n := g.put.Load()
	if n-g.seen == uint64(len(g.slots)) {
		if g.seen = g.taken.Load(); n-g.seen == uint64(len(g.slots)) {
			g.leave()
			return
		}
	}
	e := &g.slots[n&uint64(len(g.slots)-1)]
	ahead := clock.Redis(0)
	e.due, e.sent, e.done, e.first = r.Due+ahead, r.Sent+ahead, r.Done+ahead, 0
	if r.First != 0 {
		e.first = r.First + ahead
	}
	e.number, e.step = r.Call.Number, int32(r.Call.Step)
	e.in, e.out, e.status, e.class = r.Outcome.BytesIn, r.Outcome.BytesOut, int32(r.Outcome.Status), r.Outcome.Class
	e.connection, e.reused = r.Connection, r.Reused
	g.put.Store(n + 1)
}

// leave counts a request that is left out. The producer calls it.
func (g *ring) leave() { g.left.Store(g.left.Load() + 1) }

// added returns how many requests came, in the ring or not.
func (g *ring) added() int64 { return int64(g.put.Load() + g.left.Load()) }

// take calls do with each entry that is there, until it returns an error. The consumer calls it.
func (g *ring) take(do func(e *entry) error) error {
	last := g.put.Load()
	for n := g.taken.Load(); n != last; n++ {
		if err := do(&g.slots[n&uint64(len(g.slots)-1)]); err != nil {
			return err
		}
		g.taken.Store(n + 1)
	}
	return nil
}
