package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

const (
	expirySlack = 50_000      // µs a range is left alone after its lease
	margin      = 1_000_000   // µs by which the clocks of two servers may differ; no slot is sent later than this
	makeUp      = 100_000     // µs: slots of a free range that are past by no more than this are given too, to be sent late
	settled     = 5_000_000   // µs after which new ranges are in force everywhere
	atOnce      = 16          // members or ranges that one call handles at most, about
	history     = 1000        // laws that are over and that a reply contains, at most
	stepped     = 500_000     // a clock that goes back by more begins a new clock epoch
	longest     = 600_000_000 // µs at most to wait for a lease of a former server, which may have no end
)

// Options are the settings of a run.
type Options struct {
	Pieces   []pacer.Piece
	Loop     bool
	Span     int64 // µs until the end; 0 = endless
	Requests int64 // 0 = no limit
	Min      int   // members to wait for; 0 = for the command start
	Hold     int64 // for how long a reply leases the ranges in it, µs
	Deadman  int64 // µs without a controller after which the run is stopped; 0 = never
	Seed     int64 // of Poisson arrivals; 0 = slots are evenly spaced
	Bound    Bound // what the run may send at endpoints that others share
	Without  Without
}

// Member is what the server knows of a worker.
type Member struct {
	Name, Incarnation string
	Weight            int64
	seq               int64
	epoch             string
	held              lease.Ranges // what it owns
	target            lease.Ranges // what it is to own, only places
	drops             int64        // when it is gone if it stays silent, µs
	joins             int64        // when neighbours may be joined, µs; endless = none; of a departed member: its last call
	version           int64        // of held
	leaving, gone     bool
	known             int64 // newest law that it has confirmed
}

// An Entry of the log: an incarnation, or nobody, owned the places [Lo, Hi) from one slot to another.
type Entry struct {
	Owner    string // name/incarnation; "" = nobody
	Lo, Hi   int64
	From, To lease.Pos
}

// Run is the state of one run on one server.
type Run struct {
	Options
	Identity string // of the server; it changes with a failover, see Become

	laws           *lease.Laws // laws in force and later ones, which may still be needed
	ever           *lease.Laws // all
	given          bool        // a command before the start has given the plan
	scaled         lease.Plan  // its factor and what follows from it
	bound          Bound
	peak, high     int64 // the highest rate by the laws; and that a worker may still go by. Requests per 1,000,000 s
	frozen         frozen
	changed        bool  // the laws, in this call
	command        int64 // number of the last law of a command
	started        int64 // first T0
	clockEpoch     int64
	epoch          string
	tf, grace      int64 // when this server was first called; until when unknown ranges stay unknown, 0 = over
	noExpiryBefore int64 // nobody expires before
	last           int64 // highest time seen in this clock epoch
	now, time      int64 // the highest time seen, or that of a step back; that of the call
	rebalancedAt   int64
	free           lease.Ranges // given up, not yet taken
	unknown        lease.Ranges // the owner has not called this server
	unassigned     lease.Ranges // in nobody's target
	controllerAt   int64        // when a controller last called, µs
	members        map[string]*Member
	replaced       map[string]bool // incarnations
	log            []Entry
	woken          map[string]bool
	answers        []Answer // the last ones
}

// New returns a run that waits for its members.
func New(o Options, identity string) *Run {
	r := &Run{Options: o, Identity: identity, epoch: identity, free: lease.Whole(), unassigned: lease.Whole(), members: map[string]*Member{}, replaced: map[string]bool{}, woken: map[string]bool{}, bound: o.Bound}
	if r.bound == (Bound{}) {
		r.bound = Bound{Allow: endless, Until: endless}
	}
	r.weigh()
	return r
}

// Restore makes a run again from what a worker knows of it, on a server that may have had it before. For the workers
// it is another server.
func Restore(o Options, identity string, now int64, laws []lease.Law) *Run {
	salt := "." + strconv.FormatInt(now, 10)
	r := New(o, identity+salt)
	r.last, r.now, r.controllerAt, r.epoch = now, now, now, salt // so advance sees another server than before
	r.high = 0
	r.learn(laws)
	r.doubt()
	r.weigh()
	return r
}

// Become sets the identity of the run's server.
func (r *Run) Become(server string) {
	_, salt, restored := strings.Cut(r.Identity, ".")
	if r.Identity = server; restored {
		r.Identity += "." + salt
	}
}

// Renew is the one call of the protocol.
func (r *Run) Renew(now int64, c lease.Call) lease.Reply {
	r.changed = false
	defer r.reweigh()
	r.advance(now)
	m := r.members[c.Worker]
	if m != nil && m.Incarnation != c.Incarnation {
		if c.Epoch != "" || r.replaced[c.Worker+"/"+c.Incarnation] {
			return r.refuse(c, lease.Replaced)
		}
		r.replace(m) // the first process is trusted to be gone
		m = nil
	}
	if m != nil && !r.Without.Seq && c.Seq < m.seq {
		return r.refuse(c, lease.Stale)
	}
	if m != nil && m.gone && c.Seq == m.seq {
		return r.refuse(c, lease.MustClaim)
	}
	r.learn(c.Laws)
	if c.Epoch != "" && c.Epoch != r.epoch && c.Claim == nil { // rule 1
		return r.refuse(c, lease.MustClaim)
	}
	again := m != nil && c.Seq == m.seq && m.epoch == r.epoch && !r.Without.Seq
	if m != nil && (m.gone || m.epoch != r.epoch && c.Epoch == "") {
		m = nil
	}
	if m == nil {
		m = r.enter(c)
	}
	m.Weight = max(1, c.Weight) // shares follow later
	if r.laws == nil && r.grace == 0 {
		r.start()
	}
	if c.Claim != nil && c.Epoch != r.epoch && !again {
		if r.claim(m, c); len(m.target) == 0 && r.laws != nil && r.grace == 0 && c.Leaving == lease.Stays && !m.leaving {
			r.welcome(m)
		}
	}
	changed := false
	if !again {
		changed = r.releases(m, c)
	}
	if c.Leaving != lease.Stays && !m.leaving {
		m.leaving, changed = true, true
		r.unassign(m)
	}
	if c.Epoch == r.epoch { // a worker that has no reply of this server holds nothing
		changed = r.receive(m) || changed
	}
	if !again && (changed || c.Claim != nil || c.Epoch == "") {
		m.seq = c.Seq
	}
	if m.known < r.command {
		m.known = max(m.known, c.Known)
	}
	r.joinNeighbours(m)
	if m.drops = r.now + r.Hold + expirySlack; len(m.held) == 0 {
		m.drops = min(m.drops, r.now+3_000_000+2*r.period())
	}
	if c.Leaving == lease.Halted && len(m.held) == 0 && r.grace == 0 {
		m.gone, m.seq, m.joins = true, c.Seq, r.now
		out := r.refuse(c, lease.Gone)
		out.Laws = r.news(c) // they show which of its slots were not asked for any more
		return out
	}
	return r.reply(m, c)
}

// lastCall returns when a present member last called, µs.
func (r *Run) lastCall(m *Member) int64 {
	at := m.drops - r.Hold - expirySlack
	if len(m.held) == 0 {
		at = max(at, m.drops-3_000_000-2*r.period())
	}
	return at
}

func (m *Member) owner() string { return m.Name + "/" + m.Incarnation }

func (r *Run) refuse(c lease.Call, s lease.Status) lease.Reply {
	return lease.Reply{Status: s, Seq: c.Seq, Epoch: r.epoch, ClockEpoch: r.clockEpoch, Now: r.now, Members: int64(len(r.present())), Wait: r.period()}
}

func (r *Run) reply(m *Member, c lease.Call) lease.Reply {
	out := r.refuse(c, lease.OK)
	out.Laws = r.news(c)
	if out.Version = m.version; out.Version != c.Version {
		out.List = m.held
	}
	out.P, out.Give = r.leaseEnd(), m.gives().Bare()
	if r.laws == nil || len(m.target.Minus(m.held)) > 0 { // it soon gets more
		out.Wait = soon(out.Members, r.Hold)
	}
	return out
}

// news returns the laws that the caller does not know.
func (r *Run) news(c lease.Call) []lease.Law { return append(r.missed(c), r.laws.Since(c.Known)...) }

// missed returns laws that are over and that the caller does not know. After a long absence it must learn which slots
// of its own law nobody asks for. What followed these laws does not matter any more, so they name the plan of the
// first law in force.
func (r *Run) missed(c lease.Call) (out []lease.Law) {
	knows := func(id int64) bool {
		return id <= c.Known || slices.ContainsFunc(c.Laws, func(l lease.Law) bool { return l.ID == id })
	}
	live := slices.DeleteFunc(slices.Clone(r.laws.All()), func(l lease.Law) bool { return !r.laws.Live(l.ID) })
	known := slices.ContainsFunc(live, func(l lease.Law) bool { return knows(l.ID) })
	if known || len(live) == 0 || c.Known == 0 && len(c.Laws) == 0 {
		return nil
	}
	for prev := live[0].Prev; prev > 0 && !knows(prev) && len(out) < history; {
		i, ok := r.ever.Index(prev)
		if !ok {
			break
		}
		l := r.ever.All()[i]
		l.Plan, l.Piece, l.Left, prev = live[0].Plan, 0, pacer.Piece{}, l.Prev
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

// period returns the time between two calls of a worker, µs.
func (r *Run) period() int64 { return lease.Period(int64(len(r.present())), r.Hold) }

// soon returns the time between two calls of a worker that waits for more ranges, µs. It is a fifth of a period, but
// all members together call at most 2,000 times a second. A message asks the worker to call when there is more, but
// that message may be lost.
//
//	max(0.1 s, p/5, members / 2,000 s), at most p
func soon(members, hold int64) int64 {
	p := lease.Period(members, hold)
	return min(p, max(100_000, p/5, 500*members))
}

// enter adds a new member. It gets a target, but no ranges yet.
func (r *Run) enter(c lease.Call) *Member {
	m := &Member{Name: c.Worker, Incarnation: c.Incarnation, Weight: c.Weight, epoch: r.epoch, drops: r.now + r.Hold, joins: endless, version: 1}
	if old := r.members[c.Worker]; old != nil {
		m.version = old.version + 1
	}
	r.members[c.Worker] = m
	if r.laws != nil && c.Leaving == lease.Stays && (c.Claim == nil || c.Epoch == r.epoch) {
		r.welcome(m)
	}
	return m
}

// receive gives m the free ranges of its target. When the rate is changed, a range may be free for a moment: a law that
// begins before the slot from which the range was given up has no other owner. These slots are given too.
func (r *Run) receive(m *Member) bool {
	if m.leaving {
		return false
	}
	in, out := r.free.Split(m.target.Minus(m.held))
	now := r.pos(r.now - makeUp)
	got := in.Each(func(s *lease.Range) {
		s.From = lease.Later(s.From, now)
		s.Since = r.close("", *s, s.From)
	})
	r.free = out
	if len(got) > 0 {
		r.setHeld(m, m.held.Plus(got))
	}
	return len(got) > 0
}

// releases takes the ranges that m gives up.
func (r *Run) releases(m *Member, c lease.Call) (any bool) {
	if c.Epoch != r.epoch {
		return false
	}
	for _, x := range c.Releases {
		in, out := m.held.Split(lease.Ranges{{Lo: x.Lo, Hi: x.Hi}})
		if len(in) == 0 {
			continue
		}
		any = true
		r.setHeld(m, out)
		r.makeFree(m.owner(), in, x.From)
	}
	if any && m.leaving {
		r.unassign(m)
	}
	return any
}

// makeFree makes ranges free from a slot on; whose says who held them.
func (r *Run) makeFree(whose string, units lease.Ranges, from lease.Pos) {
	for _, s := range units {
		s.From = lease.Later(s.From, from)
		s.Since = r.close(whose, s, s.From)
		r.free = r.free.Plus(lease.Ranges{s})
	}
}

// close ends an entry of the log, and returns where the next one begins.
func (r *Run) close(owner string, s lease.Range, to lease.Pos) lease.Pos {
	if !s.Since.Less(to) {
		return s.Since
	}
	r.log = append(r.log, Entry{Owner: owner, Lo: s.Lo, Hi: s.Hi, From: s.Since, To: to})
	return to
}

// setHeld sets all that a member holds.
func (r *Run) setHeld(m *Member, held lease.Ranges) {
	m.held, m.joins = held, r.now+settled
	m.version++
}

// joinNeighbours joins neighbouring ranges once it no longer matters that they came at different times.
func (r *Run) joinNeighbours(m *Member) {
	if r.now < m.joins {
		return
	}
	m.joins = endless
	past := r.pos(r.now - margin)
	var out lease.Ranges
	for _, s := range m.held {
		n := len(out)
		if n == 0 || out[n-1].Hi != s.Lo || past.Less(s.From) || past.Less(out[n-1].From) {
			out = append(out, s)
			continue
		}
		x := &out[n-1]
		since := lease.Later(x.Since, s.Since)
		r.close(m.owner(), *x, since)
		r.close(m.owner(), s, since)
		x.From, x.Hi, x.Since = lease.Later(x.From, s.From), s.Hi, since
	}
	if len(out) < len(m.held) {
		m.held = out
		m.version++
	}
}

// present returns the members of this epoch, by name.
func (r *Run) present() (out []*Member) {
	for _, m := range r.members {
		if !m.gone && m.epoch == r.epoch {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Woken returns the members that should call now, and forgets them.
func (r *Run) Woken() (names []string) {
	for _, m := range r.present() {
		if r.woken[m.Name] {
			names = append(names, m.Name)
		}
	}
	r.woken = map[string]bool{}
	return names
}

// Check returns an error if the state contradicts itself.
func (r *Run) Check() error {
	all, targets := slices.Concat(r.free, r.unknown), slices.Clone(r.unassigned)
	for _, m := range r.members {
		if m.epoch == r.epoch && !m.gone {
			all, targets = append(all, m.held...), append(targets, m.target...)
		}
	}
	byPlace := func(a, b lease.Range) int { return int(a.Lo - b.Lo) }
	slices.SortFunc(all, byPlace)
	slices.SortFunc(targets, byPlace)
	switch {
	case all.Overlap() || all.Len() != circle.Units:
		return fmt.Errorf("%d units have an owner: %v", all.Len(), all)
	case targets.Overlap() || targets.Len() != circle.Units:
		return fmt.Errorf("%d units are somebody's target or nobody's: %v", targets.Len(), targets)
	}
	return nil
}

// Clone returns a copy that shares nothing with r: what a replica knows now. lease.Ranges and Laws are never changed in
// place.
func (r *Run) Clone() *Run {
	c := *r
	c.members = make(map[string]*Member, len(r.members))
	for name, m := range r.members {
		x := *m
		c.members[name] = &x
	}
	c.woken = map[string]bool{}
	c.replaced, c.log, c.answers = maps.Clone(r.replaced), slices.Clone(r.log), slices.Clone(r.answers)
	return &c
}
