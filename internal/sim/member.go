package sim

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// patience is how long a worker that leaves waits for an answer, and before it tries again.
const patience = 250 * time.Millisecond

// A member is one incarnation of a worker: a Leaser whose Sink is a stream, behind a network of its own.
type member struct {
	*world
	MemberPlan
	index       int32
	name        string
	incarnation string
	leaser      pacer.Leaser
	wake        chan struct{}
	ctx         context.Context
	cancel      context.CancelFunc // tells it to leave
	exited      chan struct{}
	calls       uint64
	restores    uint64

	mu     sync.Mutex
	stream stream
	sends  []send
	hand   int64           // where the server believes its last stream to end, µs of the Redis clock; 0 = nowhere
	leeway int64           // how much earlier that may begin, µs
	owed   int64           // since when there is a permit for it that it has not got, true ns; 0 = it has got all
	from   int64           // when that begins as the server has it, µs of the Redis clock
	told   report.Counts   // as last published
	heard  map[int64]int64 // when it learned of a recall, true ns, by the recall's id
	dead   int64           // when it was killed, true ns; 0 = it was not
	err    error
}

func newMember(ctx context.Context, w *world, p MemberPlan, index int) *member {
	m := &member{world: w, MemberPlan: p, index: int32(index), name: p.Name, incarnation: p.Incarnation,
		wake: make(chan struct{}, 1), exited: make(chan struct{}), heard: map[int64]int64{}}
	m.ctx, m.cancel = context.WithCancel(ctx)
	clock := pacer.NewClock()
	m.stream = stream{
		local:  func(redis int64) int64 { return clock.Local(redis+m.drifted(redis)) - w.epoch },
		redis:  func(local int64) int64 { at := clock.Redis(local + w.epoch); return at - m.drifted(at) },
		awake:  m.awake,
		fire:   m.fired,
		tick:   m.publish,
		shards: newShards(max(1, p.Shards)), fired: make([]pacer.Last, max(1, p.Shards)),
		at: w.now(), second: w.now() + int64(time.Second),
	}
	m.leaser = pacer.Leaser{Limiter: link{m}, Sink: m, Clock: clock, Worker: m.name, Incarnation: m.incarnation, Weight: p.Weight, Wake: m.wake,
		Restore: m.restore}
	return m
}

// drifted is how far this member's clock has run away from the true one at a time of the Redis clock, ns. Its Clock is told
// times that are off by it, and so are the due times it asks for: what remains is what the Clock makes of a drift.
func (m *member) drifted(redis int64) int64 { return (redis - m.epoch) / 1_000_000 * m.DriftPPM }

func (m *member) fired(x send) {
	if m.dead > 0 && x.at >= m.dead {
		return
	}
	x.member = m.index
	if x.phi > 0 && !x.ending && m.owed > 0 && m.owed <= x.at && x.due/1000 >= m.hand {
		x.early, x.leeway = max(0, m.from-x.due/1000), m.leeway
	}
	m.sends = append(m.sends, x)
}

// granted notes from when on the server will believe it to be firing on its permit: until the reply arrives it may begin earlier.
func (m *member) granted(a pacer.Ask, r pacer.Reply, from int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed, m.from, m.hand, m.leeway = m.now(), max(from, r.Permit.From), max(m.hand, r.Hand), r.Horizon/5
	if r.Hand > 0 {
		m.leeway = 2*r.Horizon/5 + 2*a.RTTHi + 10_000
	}
}

func (m *member) received() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owed = 0
}

// learned is when it learned of an order, or of a later one, true ns.
func (m *member) learned(o order) (at int64) {
	at = math.MaxInt64
	for id, heard := range m.heard {
		if id >= o.id {
			at = min(at, heard)
		}
	}
	return at
}

// publish notes the counts as they are in Redis, if it can be reached.
func (m *member) publish(at int64) {
	if m.dead == 0 || at < m.dead {
		if !within(at, m.CutCalls) && !within(at, m.CutBack) && m.server.up(at) {
			m.told = m.stream.counts
		}
	}
}

// awake is the first moment at or after at at which the process is not paused.
func (m *member) awake(at int64) int64 {
	for _, p := range m.Pauses {
		if p.has(at) {
			return int64(p.To)
		}
	}
	return at
}

// Lease implements pacer.Sink.
func (m *member) Lease(r pacer.Range) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream.advance(m.now())
	m.stream.lease(r)
}

// Notice implements pacer.Sink.
func (m *member) Notice(n pacer.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream.advance(m.now())
	m.stream.tell(n, m.server.clock())
	for _, r := range n.Recalls {
		if _, known := m.heard[r.ID]; !known {
			m.heard[r.ID] = m.now()
		}
	}
}

// advance decides all that was due up to now.
func (m *member) advance() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream.advance(m.now())
}

// run is the member's life.
func (m *member) run() {
	defer close(m.exited)
	if m.killed() {
		return
	}
	err := m.leaser.Run(m.ctx)
	m.mu.Lock()
	m.err = err
	m.stream.advance(m.now())
	if m.dead == 0 {
		m.stream.quit()
	}
	last, dead := int64(0), m.dead > 0
	for _, r := range m.stream.notice.Recalls {
		last = m.stream.local(r.T0 * 1000)
	}
	m.mu.Unlock()
	switch {
	case dead:
		return
	case errors.Is(err, pacer.ErrStopped):
		time.Sleep(time.Duration(last-m.now()) + 5*time.Millisecond)
		m.finish()
		m.leave("stopped")
	case errors.Is(err, pacer.ErrEnded):
		m.drain()
		m.leave("left")
	case errors.Is(err, context.Canceled): // first the fleet is told, then what is held is fired
		m.leave("left")
		m.drain()
	default:
		m.finish()
	}
}

// drain fires what is held.
func (m *member) drain() {
	for range 40 {
		m.mu.Lock()
		m.stream.advance(m.now())
		done := m.stream.empty()
		m.mu.Unlock()
		if done {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	m.finish()
}

// finish drops what is held, and publishes the last counts.
func (m *member) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream.advance(m.now())
	m.stream.drop()
	if m.dead == 0 {
		m.told = m.stream.counts
	}
}

// leave tells the server, for some seconds if need be.
func (m *member) leave(state string) {
	op := func(b *model.Budget, now int64) pacer.Reply {
		if b != nil {
			b.Leave(now, m.name, m.incarnation, state)
		}
		return pacer.Reply{}
	}
	for try := uint64(1); try < 16 && !m.killed(); try++ {
		done := make(chan bool, 1)
		m.carry(m.fate(2, try), op, func(_ pacer.Reply, ok bool) { done <- ok })
		select {
		case ok := <-done:
			if ok {
				return
			}
		case <-time.After(patience):
		}
		time.Sleep(patience + time.Duration(m.index))
	}
}

// begin starts the process; not before the one of the same name that it follows has ended.
func (m *member) begin() {
	if before := m.before(); before != nil && !before.killed() {
		<-before.exited
		time.Sleep(patience + time.Duration(m.index))
	}
	m.run()
}

func (m *member) before() *member {
	for _, x := range m.members[:m.index] {
		if x.name == m.name {
			return x
		}
	}
	return nil
}

// kill ends the process at once.
func (m *member) kill() {
	m.mu.Lock()
	m.stream.advance(m.now())
	m.dead = m.now()
	m.mu.Unlock()
	m.cancel()
}

func (m *member) killed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead > 0
}
