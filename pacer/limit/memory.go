package limit

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// Lifetimes in µs: those of lua/limiter.lua.
const (
	spare    = 10_000 * 1e3        // that a state outlives its use
	keepSet  = 7 * 24 * 3600 * 1e6 // of a limit set live, after nothing is left of what it granted
	keepMark = 60 * 1e6            // of the mark of what was given back
)

// Memory returns a Store in this process, for at most so many states; 0 is 1,000,000. Its answers are those of Redis. A
// state is removed when nothing is left of what it granted. If there are too many, the one is forgotten that would be
// removed next: of buckets the one that owes least, of windows and logs the oldest.
func Memory(most int) Store {
	start := time.Now() // with a clock that does not go back
	return memoryAt(most, func() int64 { return start.UnixMicro() + time.Since(start).Microseconds() })
}

func memoryAt(most int, now func() int64) *memory {
	if most < 1 {
		most = 1_000_000
	}
	return &memory{most: most, now: now, entries: map[id]*entry{}}
}

// memory does what the scripts do: take.lua, all.lua, give_back.lua and set_limit.lua.
type memory struct {
	most int
	now  func() int64 // µs

	mu      sync.Mutex
	entries map[id]*entry
	ends    ends
}

type id struct{ prefix, kind, key string }

// entry is what is known of a key: a state, a limit that was set, or both. Times are µs.
type entry struct {
	id        id
	state     state
	stateEnds float64
	set       *Limit
	setEnds   float64
	place     int // among the ends
}

func (e *entry) ends() float64 { return max(e.stateEnds, e.setEnds) }

// ends is a heap: the entry that ends next comes first.
type ends []*entry

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].ends() < h[j].ends() }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].place, h[j].place = i, j }
func (h *ends) Push(x any)        { e := x.(*entry); e.place = len(*h); *h = append(*h, e) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	return e
}

// expire removes what has ended. m.mu is held, as in all that follows.
func (m *memory) expire(now float64) {
	for len(m.ends) > 0 && m.ends[0].ends() <= now {
		m.remove(m.ends[0])
	}
}

func (m *memory) remove(e *entry) {
	heap.Remove(&m.ends, e.place)
	delete(m.entries, e.id)
}

// entry returns the entry with this name, without what has ended; nil if there is none.
func (m *memory) entry(name id, now float64) *entry {
	e := m.entries[name]
	if e == nil {
		return nil
	}
	if e.stateEnds <= now {
		e.state, e.stateEnds = nil, 0
	}
	if e.setEnds <= now {
		e.set, e.setEnds = nil, 0
	}
	return e
}

// keep lets an entry, which may be new, end later or sooner.
func (m *memory) keep(name id, change func(e *entry)) {
	e := m.entries[name]
	if e == nil {
		if len(m.ends) >= m.most {
			m.remove(m.ends[0])
		}
		e = &entry{id: name}
		m.entries[name] = e
		change(e)
		heap.Push(&m.ends, e)
		return
	}
	change(e)
	heap.Fix(&m.ends, e.place)
}

// seat is a rule's part of a call.
type seat struct {
	name  id
	state state
	law   law
	set   bool // its limit was set live
	ends  float64
	most  float64 // capacity
	free  float64
	reply reply
}

func (m *memory) seat(r *rule, key string, now float64, call int64) (seat, error) {
	l, err := r.limitOf(key)
	if err != nil {
		return seat{}, err
	}
	s := seat{name: id{r.prefix, r.kind.name, key}}
	if e := m.entry(s.name, now); e != nil {
		if s.state = e.state; e.set != nil {
			l, s.set, s.ends = *e.set, true, e.setEnds
		}
	}
	if s.state == nil {
		s.state = r.kind.fresh()
	}
	s.law = l.law(r.option, call)
	s.most = r.kind.capacity(s.law)
	return s, nil
}

// decide is decide() of a script, and keeps what it has changed.
func (m *memory) decide(s *seat, now, n float64, all bool) reply {
	r := s.state.decide(now, &s.law, n, all)
	if r.lives > 0 {
		m.keep(s.name, func(e *entry) { e.state, e.stateEnds = s.state, now+r.lives })
	}
	return r
}

// prolong keeps a limit that was set live while it is of use.
func (m *memory) prolong(s *seat, now float64, r reply) {
	if s.set && (r.granted > 0 || s.ends-now < r.reset) {
		m.keep(s.name, func(e *entry) { e.setEnds = now + keepSet + math.Ceil(r.reset/1000)*1000 })
	}
}

func (m *memory) take(_ context.Context, set *Set, key string, n int64, all bool) (Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, name := float64(m.now()), rand.Int64N(1<<53)
	m.expire(now)
	if len(set.rules) > 1 {
		return m.takeAll(set, key, now, name, float64(n), all)
	}
	s, err := m.seat(set.rules[0], key, now, name)
	if err != nil {
		return Answer{}, err
	}
	if all && float64(n) > s.most {
		return Answer{}, ErrNever
	}
	r := m.decide(&s, now, float64(n), all)
	if n == 0 && r.remaining == 0 {
		r.retry = m.decide(&s, now, 1, true).retry // it is refused
	}
	m.prolong(&s, now, r)
	return r.answer(name), nil
}

func (m *memory) takeAll(set *Set, key string, now float64, name int64, n float64, all bool) (Answer, error) {
	seats, room := make([]seat, len(set.rules)), n
	for i, r := range set.rules {
		s, err := m.seat(r, key, now, name)
		if err != nil {
			return Answer{}, err
		}
		if all && n > s.most {
			return Answer{}, ErrNever
		}
		seats[i] = s
	}
	for i := range seats {
		s := &seats[i]
		s.reply = m.decide(s, now, 0, true)
		if s.free = s.reply.remaining; s.free > 0 && s.most > s.law.burst { // it goes into debt
			s.free = s.most
		}
		room = min(room, s.free)
	}
	if all && room < n {
		room = 0
	}
	parts := make([]Answer, len(seats))
	for i := range seats {
		m.settle(&seats[i], now, n, room, all)
		parts[i] = seats[i].reply.answer(name)
	}
	return together(set.rules, parts), nil
}

// settle takes what there is room for in all seats, or finds out when there will be.
func (m *memory) settle(s *seat, now, n, room float64, all bool) {
	wanted, after := 1.0, 0.0
	if all {
		wanted = max(1, n)
	}
	if room > 0 {
		s.reply = m.decide(s, now, room, true)
	}
	if room < max(1, n) && s.free-room < wanted { // it is refused
		after = m.decide(s, now, wanted, true).retry
	}
	if room > 0 || n == 0 { // what a queue grants has to wait
		after = max(after, s.reply.retry)
	}
	s.reply.retry = after
	m.prolong(s, now, s.reply)
}

func (m *memory) takeMany(ctx context.Context, s *Set, keys []string, n int64) ([]Answer, []error) {
	answers, errs := make([]Answer, len(keys)), make([]error, len(keys))
	for i, key := range keys {
		answers[i], errs[i] = m.take(ctx, s, key, n, true)
	}
	return answers, errs
}

func (m *memory) back(_ context.Context, r *rule, key string, a Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := float64(m.now())
	m.expire(now)
	mark := id{r.prefix, r.kind.name, key + "}back:" + strconv.FormatInt(a.name, 10)} // no key has a }
	e := m.entry(id{r.prefix, r.kind.name, key}, now)
	if e == nil || e.state == nil || m.entry(mark, now) != nil {
		return nil
	}
	if e.state.undo(float64(a.at), float64(a.Granted), a.name) > 0 {
		m.keep(mark, func(e *entry) { e.stateEnds = now + keepMark })
	}
	return nil
}

func (m *memory) forget(_ context.Context, s *Set, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range s.rules {
		name := id{r.prefix, r.kind.name, key}
		if m.entries[name] != nil {
			m.keep(name, func(e *entry) { e.state, e.stateEnds = nil, 0 })
		}
	}
	m.expire(float64(m.now()))
	return nil
}

func (m *memory) set(_ context.Context, r *rule, key string, l Limit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := float64(m.now())
	m.expire(now)
	l.Burst = l.burst()
	m.entry(id{r.prefix, r.kind.name, key}, now)
	m.keep(id{r.prefix, r.kind.name, key}, func(e *entry) { e.set, e.setEnds = &l, now+keepSet })
	return nil
}
