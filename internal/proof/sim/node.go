package sim

import (
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// node is one incarnation of a worker: its process, its clock and its network path to the server.
type node struct {
	*world
	MemberPlan
	index   int32
	worker  *lease.Holder
	shards  []*shard
	begun   bool
	handed  bool // all that it gave up is handed over
	halted  bool // its shards send nothing any more
	over    bool // it does nothing any more
	stopped bool
	waiting []func() // run when the process goes on
	offset  int64    // of the Redis clock, as this process estimates it, ns
	wrong   int64    // bound of the error of offset, ns
	sampled int64    // when offset was measured
	try     int
	timer   int64 // number of the next call's timer
	busy    []int64
	view    int // version of the View that the shards have
}

func newNode(w *world, p MemberPlan, index int) *node {
	m := &node{world: w, MemberPlan: p, index: int32(index), worker: lease.NewHolder(p.Name, p.Incarnation, p.Weight)}
	n := max(1, p.Shards)
	for i := range n {
		m.shards, m.busy = append(m.shards, newShard(m, i, n)), append(m.busy, 0)
	}
	return m
}

func (m *node) alive() bool { return m.begun && !m.over }

// redis returns the Redis clock as this process estimates it, µs.
func (m *node) redis() int64 { return (zero + m.Now + m.offset) / 1000 }

// when does something as soon as the process runs.
func (m *node) when(do func()) {
	if m.stopped {
		m.waiting = append(m.waiting, do)
		return
	}
	if m.alive() {
		do()
	}
}

// advance lets the shards decide up to now. They know no time before the first reply.
func (m *node) advance() {
	if m.alive() && !m.stopped && m.sampled > 0 {
		for _, s := range m.shards {
			s.advance(m.redis(), false)
		}
	}
}

func (m *node) pause() {
	m.advance()
	m.stopped = true
}

func (m *node) wake(clock bool, length time.Duration) {
	m.stopped = false
	if clock {
		m.offset -= int64(length)
	}
	if m.alive() {
		for _, s := range m.shards {
			s.advance(m.redis(), true)
		}
	}
	todo := m.waiting
	m.waiting = nil
	for _, do := range todo {
		m.when(do)
	}
}

func (m *node) begin() {
	for _, x := range m.nodes[:m.index] {
		if x.Name == m.Name && !x.over { // its predecessor has not ended
			m.after(250*time.Millisecond, m.begin)
			return
		}
	}
	m.begun = true
	m.call()
}

func (m *node) leave() {
	m.when(func() {
		m.worker.Leave()
		m.after(12*time.Second, func() { m.when(m.quit) })
		if (m.Seed+uint64(m.index))%4 == 0 { // it does not hand over
			m.when(m.halt)
			return
		}
		m.call()
	})
}

// rest waits until the shards have sent what the worker had left when it handed over. Then it halts.
func (m *node) rest() {
	if m.halted {
		return
	}
	m.advance()
	for _, s := range m.shards {
		if s.slots.Version() < m.view || s.slots.Next(new(pacer.Slot)) {
			m.after(50*time.Millisecond, func() { m.when(m.rest) })
			return
		}
	}
	m.halt()
}

// halt ends the sending, and notifies the server.
func (m *node) halt() {
	m.advance()
	m.halted = true
	reached := int64(0)
	for _, s := range m.shards {
		reached = max(reached, s.at)
	}
	m.worker.Halt(reached)
	m.call()
}

// quit ends the process.
func (m *node) quit() {
	m.advance()
	m.over = true
}

// way returns how long a message takes.
func (m *node) way() time.Duration {
	d := m.Net.Lo + time.Duration(m.rng.Int64N(int64(m.Net.Hi-m.Net.Lo)))
	if m.Net.Rare > 0 && m.rng.IntN(50) == 0 {
		d += time.Duration(m.rng.Int64N(int64(m.Net.Rare)))
	}
	return d
}

// call makes the next call, or repeats the last one.
func (m *node) call() {
	if !m.alive() || m.stopped {
		return
	}
	c := m.worker.Call()
	m.timer++
	timer, sent := m.timer, m.Now
	m.trace(m.Name, "calls %d epoch %q releases %d claim %v leaving %v", c.Seq, c.Epoch, len(c.Releases), c.Claim != nil, c.Leaving)
	arrive := func(answer bool) {
		m.server.do(func() {
			r := m.server.renew(c)
			at, skew := m.Now, m.server.skew
			if !answer || m.rng.Float64() < m.Net.LoseBack || within(m.Now, m.CutBack) {
				return
			}
			m.after(m.way(), func() { m.when(func() { m.receive(r, sent, at, skew) }) })
		})
	}
	if there := m.way(); m.rng.Float64() >= m.Net.LoseCall && !within(m.Now, m.CutCalls) {
		m.after(there, func() { arrive(true) })
		if m.rng.Float64() < m.Net.Double {
			m.after(there+time.Duration(m.rng.Int64N(int64(m.Net.Late))), func() { arrive(false) })
		}
	}
	wait := min(time.Second, 250*time.Millisecond<<min(m.try, 4))
	m.try++
	m.after(wait, func() {
		m.when(func() {
			if m.timer == timer && m.worker.Waiting() {
				m.call()
			}
		})
	})
}

// sample takes a reading of the Redis clock, as read in the middle of a call. The best reading counts, and so does
// one that contradicts it.
func (m *node) sample(offset, wrong int64) {
	aged := m.wrong + (m.Now-m.sampled)/10_000
	if d := offset - m.offset; m.sampled > 0 && wrong > aged && max(d, -d) <= wrong+aged+int64(time.Millisecond) {
		return
	}
	m.offset, m.wrong, m.sampled = offset, wrong, m.Now
	for _, s := range m.shards {
		s.advance(m.redis(), true)
	}
}

// receive takes a reply.
func (m *node) receive(r lease.Reply, sent, at, skew int64) {
	if !m.worker.Waiting() {
		return
	}
	m.advance()
	m.sample(skew+at-(sent+m.Now)/2, (m.Now-sent)/2)
	era := m.worker.View().ClockEpoch
	again := m.worker.Receive(m.redis(), r)
	if m.worker.Waiting() { // the reply was to another call
		return
	}
	m.trace(m.Name, "received %d %s epoch %s P %d list %v give %v", r.Seq, r.Status, r.Epoch, r.P, r.List, r.Give)
	if now := m.worker.View().ClockEpoch; now != era {
		m.trace(m.Name, "era %d", now)
	}
	m.try = 0
	m.publish()
	if m.worker.View().Handed && !m.handed {
		m.handed = true
		m.rest()
	}
	m.timer++
	timer := m.timer
	switch {
	case r.Status == lease.Gone, r.Status == lease.Replaced:
		m.quit()
	case again:
		m.call()
	default:
		wait := time.Duration(r.Wait) * time.Microsecond
		m.after(wait, func() {
			m.when(func() {
				if m.timer == timer {
					m.end()
					m.call()
				}
			})
		})
	}
}

// end ends the process when the run is over.
func (m *node) end() {
	if n := m.worker.View().Laws.Newest(); n != nil && n.Phase >= lease.Stopped && m.redis() > n.T0+1_000_000 {
		m.quit()
	}
}

// message is a published message, which may be lost.
func (m *node) message(laws []lease.Law, wake bool) {
	if m.rng.Float64() < m.Net.LoseBack || within(m.Now, m.CutBack) {
		return
	}
	m.after(m.way(), func() {
		m.when(func() {
			m.worker.Learn(laws)
			m.publish()
			if wake && !m.worker.Waiting() {
				m.call()
			}
		})
	})
}

// slow reports whether shards in a plan are slow at times.
func (w *world) slow() bool {
	return slices.Contains([]string{"stall", "suspend", "churn", "mix", "motion", "eras", "relapse", "copies", "short", "storm"}, w.Kind)
}

// publish hands the View to the shards. Each takes it up when it looks for it.
func (m *node) publish() {
	v := m.worker.View()
	if v.Version == m.view {
		return
	}
	m.view = v.Version
	if m.broken.Agree {
		m.worker.Agreed(v.Version, 0, 0)
	}
	left, reached := len(m.shards), int64(0)
	for i, s := range m.shards {
		d := m.rng.Int64N(int64(3 * time.Millisecond))
		if m.slow() && m.rng.IntN(50) == 0 { // for a while it does not look for a new View
			m.busy[i] = m.Now + m.rng.Int64N(int64(1500*time.Millisecond))
		}
		m.after(time.Duration(max(d, m.busy[i]-m.Now)), func() {
			m.when(func() {
				s.take(v, m.redis())
				reached = max(reached, s.at)
				if left--; left == 0 && m.worker.Agreed(v.Version, m.redis(), reached) && !m.worker.Waiting() {
					m.call()
				}
				m.publish()
			})
		})
	}
}
