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
	grace   = 50_000      // µs a piece is left alone after its promise
	margin  = 1_000_000   // µs by which the clocks of two servers may differ, and more than any slot is sent late
	settled = 5_000_000   // µs after which pieces that were given are in force everywhere
	atOnce  = 16          // members or pieces that one call looks after at the most, or thereabouts
	history = 1000        // laws that are over and that a worker is told of, at most
	stepped = 500_000     // a clock that goes back by more begins a new era
	longest = 600_000_000 // µs at most that a promise of a former server is waited for: one without end is not
)

// Options are what a run is created with.
type Options struct {
	Pieces   []pacer.Piece
	Loop     bool
	Span     int64 // µs until the end; 0 = endless
	Requests int64 // 0 = no limit
	Min      int   // members to wait for; 0 = for the command start
	Hold     int64 // for how long a reply promises the pieces in it, µs: Tfb
	Deadman  int64 // µs without a controller after which the run is stopped; 0 = never
	Without  Without
}

// Member is what the server knows of a worker.
type Member struct {
	Name, Incarnation string
	Weight            int64
	seq               int64
	epoch             string
	held              lease.Segs // what it owns
	target            lease.Segs // what it is to own, bare
	drops             int64      // when it is taken for gone if it stays silent, µs
	joins             int64      // when neighbours may be joined, µs; endless = there are none; of who is not there: when it was heard of last
	version           int64      // of held
	leaving, gone     bool
}

// An Entry of the log: the units [Lo, Hi) were an incarnation's, or nobody's, from one slot to another.
type Entry struct {
	Owner    string // name/incarnation; "" = idle
	Lo, Hi   int64
	From, To lease.Pos
}

// Run is the state of one run, as one server has it.
type Run struct {
	Options
	Identity string // of the server; another one is a failover, see Become

	laws      *lease.Laws // what may still be needed: what is in force, and later
	ever      *lease.Laws // all
	given     bool        // a command before the start has given the plan
	command   int64       // number of the last law that somebody asked for
	started   int64       // first T0
	era       int64
	epoch     string
	tf, quiet int64 // when this server was first called; until when nobody is given what nobody claims, 0 = over
	patience  int64 // nobody expires before
	last      int64 // highest time seen in this era
	now       int64
	leveled   int64
	free      lease.Segs // given up, not yet taken
	unknown   lease.Segs // whose owner this server has not heard of
	orphans   lease.Segs // that are to be nobody's
	heard     int64      // when a controller was heard of last, µs
	members   map[string]*Member
	replaced  map[string]bool // incarnations
	log       []Entry
	woken     map[string]bool
	answers   []Answer // the last ones
}

// New is a run that waits for its members.
func New(o Options, identity string) *Run {
	return &Run{Options: o, Identity: identity, epoch: identity, free: lease.Whole(), orphans: lease.Whole(), members: map[string]*Member{}, replaced: map[string]bool{}, woken: map[string]bool{}}
}

// Restore makes a run anew from what a worker knows of it, on a server that may have had it before: for the workers it is another one.
func Restore(o Options, identity string, now int64, laws []lease.Law) *Run {
	salt := "." + strconv.FormatInt(now, 10)
	r := New(o, identity+salt)
	r.last, r.now, r.heard, r.epoch = now, now, now, salt // settle sees another server than before
	r.learn(laws)
	return r
}

// Become makes another server that of the run.
func (r *Run) Become(server string) {
	_, salt, restored := strings.Cut(r.Identity, ".")
	if r.Identity = server; restored {
		r.Identity += "." + salt
	}
}

// Renew is the one call of the protocol.
func (r *Run) Renew(now int64, c lease.Call) lease.Reply {
	r.settle(now)
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
	m.Weight = max(1, c.Weight) // shares follow by and by
	if r.laws == nil && r.quiet == 0 {
		r.start()
	}
	if c.Claim != nil && c.Epoch != r.epoch && !again {
		if r.claim(m, c); len(m.target) == 0 && r.laws != nil && r.quiet == 0 && c.Leaving == lease.Stays && !m.leaving {
			r.welcome(m)
		}
	}
	changed := false
	if !again {
		changed = r.releases(m, c)
	}
	if c.Leaving != lease.Stays && !m.leaving {
		m.leaving, changed = true, true
		r.abandon(m)
	}
	if c.Epoch == r.epoch { // who has not heard this server holds nothing
		changed = r.take(m) || changed
	}
	if !again && (changed || c.Claim != nil || c.Epoch == "") {
		m.seq = c.Seq
	}
	r.join(m)
	if m.drops = r.now + r.Hold + grace; len(m.held) == 0 {
		m.drops = min(m.drops, r.now+3_000_000+2*r.period())
	}
	if m.leaving && len(m.held) == 0 && r.quiet == 0 {
		m.gone, m.seq, m.joins = true, c.Seq, r.now
		return r.refuse(c, lease.Gone)
	}
	return r.reply(m, c)
}

// heardOf is when a member that is present was heard of last, µs.
func (r *Run) heardOf(m *Member) int64 {
	at := m.drops - r.Hold - grace
	if len(m.held) == 0 {
		at = max(at, m.drops-3_000_000-2*r.period())
	}
	return at
}

func (m *Member) owner() string { return m.Name + "/" + m.Incarnation }

func (r *Run) refuse(c lease.Call, s lease.Status) lease.Reply {
	return lease.Reply{Status: s, Seq: c.Seq, Epoch: r.epoch, Era: r.era, Now: r.now, Members: int64(len(r.present())), Wait: r.period()}
}

func (r *Run) reply(m *Member, c lease.Call) lease.Reply {
	out := r.refuse(c, lease.OK)
	out.Laws = append(r.missed(c), r.laws.Since(c.Known)...)
	if out.Version = m.version; out.Version != c.Version {
		out.List = m.held
	}
	out.P, out.Give = r.now+r.Hold, m.held.Minus(m.target).Bare()
	if r.laws == nil || len(m.target.Minus(m.held)) > 0 { // it soon gets more
		out.Wait = lease.Soon(out.Members, r.Hold)
	}
	return out
}

// missed are laws that are over and that the caller does not know. It was away for long, and is to learn which slots of its own law nobody asks for. What
// came behind them does not matter any more, so they name the plan of the first law that is not over.
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

// period is how often a worker calls, µs.
func (r *Run) period() int64 { return lease.Period(int64(len(r.present())), r.Hold) }

// enter is for who is not there: it gets a share, but nothing yet.
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

// take gives m what is free and to be its own.
func (r *Run) take(m *Member) bool {
	if m.leaving {
		return false
	}
	in, out := r.free.Split(m.target.Minus(m.held))
	now := r.pos(r.now)
	got := in.Each(func(s *lease.Seg) {
		s.From = lease.Later(s.From, now)
		s.Since = r.close("", *s, s.From)
	})
	r.free = out
	if len(got) > 0 {
		r.own(m, m.held.Plus(got))
	}
	return len(got) > 0
}

// releases takes what m gives up.
func (r *Run) releases(m *Member, c lease.Call) (any bool) {
	if c.Epoch != r.epoch {
		return false
	}
	for _, x := range c.Releases {
		in, out := m.held.Split(lease.Segs{{Lo: x.Lo, Hi: x.Hi}})
		if len(in) == 0 {
			continue
		}
		any = true
		r.own(m, out)
		r.letGo(m.owner(), in, x.From)
	}
	return any
}

// letGo makes units free from a slot on, whose they were.
func (r *Run) letGo(whose string, units lease.Segs, from lease.Pos) {
	for _, s := range units {
		s.From = lease.Later(s.From, from)
		s.Since = r.close(whose, s, s.From)
		r.free = r.free.Plus(lease.Segs{s})
	}
}

// close ends an entry of the log, and returns where the next begins.
func (r *Run) close(owner string, s lease.Seg, to lease.Pos) lease.Pos {
	if !s.Since.Less(to) {
		return s.Since
	}
	r.log = append(r.log, Entry{Owner: owner, Lo: s.Lo, Hi: s.Hi, From: s.Since, To: to})
	return to
}

// own makes units all that a member holds.
func (r *Run) own(m *Member, held lease.Segs) {
	m.held, m.joins = held, r.now+settled
	m.version++
}

// join joins neighbours where it no longer matters that they came at different times.
func (r *Run) join(m *Member) {
	if r.now < m.joins {
		return
	}
	m.joins = endless
	past := r.pos(r.now - margin)
	var out lease.Segs
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

// present are the members of this epoch, by name.
func (r *Run) present() (out []*Member) {
	for _, m := range r.members {
		if !m.gone && m.epoch == r.epoch {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Woken are those who should call now; asking forgets them.
func (r *Run) Woken() (names []string) {
	for _, m := range r.present() {
		if r.woken[m.Name] {
			names = append(names, m.Name)
		}
	}
	r.woken = map[string]bool{}
	return names
}

// Check is an error if the state contradicts itself.
func (r *Run) Check() error {
	all, targets := slices.Concat(r.free, r.unknown), slices.Clone(r.orphans)
	for _, m := range r.members {
		if m.epoch == r.epoch && !m.gone {
			all, targets = append(all, m.held...), append(targets, m.target...)
		}
	}
	byPlace := func(a, b lease.Seg) int { return int(a.Lo - b.Lo) }
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

// Clone is a copy that shares nothing with r: what a replica knows at this moment. lease.Segs and Laws are never changed in place.
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
