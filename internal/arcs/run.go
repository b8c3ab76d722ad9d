package arcs

import (
	"fmt"
	"slices"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

const (
	grace   = 50_000    // µs a piece is left alone after its promise
	margin  = 1_000_000 // µs by which the clocks of two servers may differ, and more than any slot is sent late
	stepped = 500_000   // a clock that goes back by more begins a new era
)

// Options are what a run is created with.
type Options struct {
	Pieces   []pacer.Piece
	Span     int64 // µs until the end; 0 = endless
	Requests int64 // 0 = no limit
	Min      int   // members to wait for
	Hold     int64 // for how long a reply promises the pieces in it, µs: Tfb
	Without  Without
}

// Member is what the server knows of a worker.
type Member struct {
	Name, Incarnation string
	Weight            int64
	seq               int64
	epoch             string
	held              Segs // what it owns
	target            Segs // what it is to own, bare
	until, heard      int64
	leaving, gone     bool
	joined            int64
	spoke             *Claim // in this epoch, and the epoch that it had heard before
	spokeOf           string
}

// An Entry of the log: the units [Lo, Hi) were an incarnation's, or nobody's, from one slot to another.
type Entry struct {
	Owner    string // name/incarnation; "" = idle
	Lo, Hi   int64
	From, To Pos
}

// Run is the state of one run, as one server has it.
type Run struct {
	Options
	Identity string // of the server; another one is a failover

	laws      *Laws
	command   int64 // number of the last law that somebody asked for
	era       int64
	epoch     string
	tf, quiet int64 // when this server was first called; until when nobody is given what nobody claims, 0 = over
	patience  int64 // nobody expires before
	last      int64 // highest time seen in this era
	now       int64
	leveled   int64
	free      Segs // given up, not yet taken
	unknown   Segs // whose owner this server has not heard of
	words     []word
	members   map[string]*Member
	log       []Entry
	woken     map[string]bool
}

// New is a run that waits for its members.
func New(o Options, identity string) *Run {
	return &Run{Options: o, Identity: identity, epoch: identity, free: whole(), members: map[string]*Member{}, woken: map[string]bool{}}
}

// Restore makes a run anew from what a worker knows of it.
func Restore(o Options, identity string, now int64, laws *Laws) *Run {
	r := New(o, identity)
	r.laws, r.era, r.last, r.now = laws, laws.newest().Era, now, now
	r.command = laws.newest().ID
	r.free, r.epoch = whole(), "" // settle sees another server than before
	return r
}

// Call is a renewal.
type Call struct {
	Worker, Incarnation string
	Seq                 int64
	Epoch               string // of the last reply; "" = none was heard
	Weight              int64
	Laws                *Laws // the newer ones of them are taken
	Releases            []Release
	Claim               *Claim
	Leaving             bool
}

// Release gives units up from a slot on, to somebody.
type Release struct {
	Lo, Hi int64
	From   Pos
	To     string
	Epoch  string
}

// Claim is what a worker says to a server that may have forgotten: what it holds, and until when; and what it gave up to a former one, so
// that this has reached whom it was for or nobody.
type Claim struct {
	Held   Segs
	P      int64
	Era    int64
	Gone   []Release
	Ticket string // of the last reply
}

// Status is how a call went.
type Status string

// How a call goes.
const (
	OK        Status = "OK"
	MustClaim Status = "CLAIM"
	Stale     Status = "STALE"
	Replaced  Status = "REPLACED"
	Gone      Status = "GONE"
	NoState   Status = "NOSTATE" // said by who has no Run
)

// Reply is the answer to a Call.
type Reply struct {
	Status  Status
	Seq     int64
	Epoch   string
	Era     int64
	Now, P  int64
	Members int
	Wait    int64  // until the next call, µs
	Ticket  string // the worker's name, and since when this server knows it without a gap
	List    Segs   // all that the worker holds
	Give    Segs   // what of it to give up, and to whom
	Laws    *Laws
}

// Renew is the one call of the protocol.
func (r *Run) Renew(now int64, c Call) Reply {
	r.settle(now)
	m := r.members[c.Worker]
	if m != nil && m.Incarnation != c.Incarnation {
		if m.Incarnation > c.Incarnation || c.Epoch != "" {
			return r.refuse(c, Replaced)
		}
		r.Remove(m.Name) // the same id once more: the first process is trusted to be gone
		m = nil
	}
	if m != nil && !r.Without.Seq && c.Seq < m.seq {
		return r.refuse(c, Stale)
	}
	if m != nil && m.gone && c.Seq == m.seq {
		return r.refuse(c, MustClaim)
	}
	r.learn(c.Laws)
	if c.Epoch != "" && c.Epoch != r.epoch && c.Claim == nil { // rule 1
		return r.refuse(c, MustClaim)
	}
	again := m != nil && c.Seq == m.seq && m.epoch == r.epoch && !r.Without.Seq
	if m != nil && (m.gone || m.epoch != r.epoch && c.Epoch == "") {
		m = nil
	}
	if m == nil {
		m = r.enter(c)
	}
	if r.laws == nil && r.quiet == 0 {
		r.start()
	}
	if c.Claim != nil && c.Epoch != r.epoch && !again {
		if r.claim(m, c); len(m.target) == 0 && r.quiet == 0 && !c.Leaving {
			r.welcome(m)
		}
	}
	changed := false
	if !again {
		changed = r.releases(m, c)
	}
	if c.Leaving && !m.leaving {
		m.leaving, changed = true, true
		lost := m.target
		m.target = nil
		r.orphan(m)
		r.assign(lost)
	}
	if c.Epoch == r.epoch { // who has not heard this server holds nothing
		changed = r.take(m) || changed
	}
	if !again && (changed || c.Claim != nil || c.Epoch == "") {
		m.seq = c.Seq
	}
	m.held = r.join(m.held, m.owner())
	m.until, m.heard = max(m.until, r.now+r.Hold), r.now
	if m.leaving && len(m.held) == 0 && r.quiet == 0 {
		m.gone, m.seq = true, c.Seq
		return r.refuse(c, Gone)
	}
	return r.reply(m, c)
}

// ticket names a member's stay: who comes again, having been given up, has another one.
func (m *Member) ticket() string { return fmt.Sprint(m.Name, "@", m.joined) }

func (m *Member) owner() string { return m.Name + "/" + m.Incarnation }

func (r *Run) refuse(c Call, s Status) Reply {
	return Reply{Status: s, Seq: c.Seq, Epoch: r.epoch, Era: r.era, Now: r.now, Members: len(r.present()), Wait: r.period(), Laws: r.laws}
}

func (r *Run) reply(m *Member, c Call) Reply {
	out := r.refuse(c, OK)
	out.Ticket = m.ticket()
	out.P, out.List, out.Give = r.now+r.Hold, slices.Clone(m.held), r.give(m)
	if r.laws == nil || m.target.Len() != m.held.Len() && len(m.target.minus(m.held)) > 0 {
		incomplete := int64(0)
		for _, x := range r.present() {
			if len(x.target.minus(x.held)) > 0 {
				incomplete++
			}
		}
		out.Wait = max(100_000, out.Wait/5, incomplete*500)
	}
	return out
}

// period is how often a worker calls, µs.
func (r *Run) period() int64 { return max(500_000, int64(len(r.members))*250) }

// give is what of m's is to be somebody else's.
func (r *Run) give(m *Member) (out Segs) {
	out = m.held.minus(m.target).bare()
	for _, x := range r.present() {
		if x != m && len(out) > 0 {
			in, rest := out.split(x.target)
			out = rest.plus(in.each(func(s *Seg) { s.To = x.ticket() }))
		}
	}
	return out
}

// enter is for who is not there: it gets a share, but nothing yet.
func (r *Run) enter(c Call) *Member {
	m := &Member{Name: c.Worker, Incarnation: c.Incarnation, Weight: max(1, c.Weight), epoch: r.epoch, joined: r.now, heard: r.now, until: r.now + r.Hold}
	r.members[c.Worker] = m
	if r.laws != nil && !c.Leaving && (c.Claim == nil || c.Epoch == r.epoch) {
		r.welcome(m)
	}
	return m
}

// take gives m what is free and to be its own.
func (r *Run) take(m *Member) bool {
	if m.leaving {
		return false
	}
	in, out := r.free.split(m.target.minus(m.held))
	now := r.laws.Pos(r.now, r.era)
	var got Segs
	for _, s := range in {
		if s.To != "" && s.To != m.ticket() && !r.Without.Names { // promised to another
			out = out.plus(Segs{s})
			continue
		}
		s.From = later(s.From, now)
		s.since = r.close("", s, s.From)
		s.To = ""
		got = append(got, s)
	}
	r.free = out
	m.held = m.held.plus(got)
	return len(got) > 0
}

// releases takes what m gives up.
func (r *Run) releases(m *Member, c Call) (any bool) {
	for _, x := range c.Releases {
		if x.Epoch != r.epoch {
			continue
		}
		in, out := m.held.split(Segs{{Lo: x.Lo, Hi: x.Hi}})
		if len(in) == 0 {
			continue
		}
		any = true
		m.held = out
		r.letGo(m, in, x.From, r.aim(in.bare(), x.To))
	}
	return any
}

// aim makes the receiver of a release the one that the units are for: its name has been said, and after a failover it will be believed.
func (r *Run) aim(units Segs, to string) string {
	i := slices.IndexFunc(r.present(), func(m *Member) bool { return m.ticket() == to && !m.leaving })
	if i < 0 {
		return ""
	}
	y := r.present()[i]
	for _, x := range r.members {
		x.target = x.target.minus(units)
	}
	y.target = union(y.target, units)
	r.woken[y.Name] = true
	return to
}

// letGo makes units free from a slot on.
func (r *Run) letGo(m *Member, units Segs, from Pos, to string) {
	for _, s := range units {
		s.From = later(s.From, from)
		s.since = r.close(m.owner(), s, s.From)
		s.To = to
		r.free = r.free.plus(Segs{s})
	}
	r.wakeTargets(units)
}

func (r *Run) wakeTargets(units Segs) {
	for _, x := range r.present() {
		if len(x.target.and(units.bare())) > 0 {
			r.woken[x.Name] = true
		}
	}
}

// close ends an entry of the log, and returns where the next begins.
func (r *Run) close(owner string, s Seg, to Pos) Pos {
	if !s.since.Less(to) {
		return s.since
	}
	r.log = append(r.log, Entry{Owner: owner, Lo: s.Lo, Hi: s.Hi, From: s.since, To: to})
	return to
}

// join joins neighbours where it no longer matters that they came at different times.
func (r *Run) join(held Segs, owner string) (out Segs) {
	if len(held) < 2 {
		return held
	}
	past := r.laws.Pos(r.now-margin, r.era)
	for _, s := range held {
		n := len(out)
		if n == 0 || out[n-1].Hi != s.Lo || past.Less(s.From) || past.Less(out[n-1].From) {
			out = append(out, s)
			continue
		}
		x := &out[n-1]
		since := later(x.since, s.since)
		r.close(owner, *x, since)
		r.close(owner, s, since)
		x.From, x.Hi, x.since = later(x.From, s.From), s.Hi, since
	}
	return out
}

// present are the members of this epoch, by name.
func (r *Run) present() (out []*Member) {
	for _, m := range r.members {
		if !m.gone && m.epoch == r.epoch {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *Member) int {
		if len(a.Name) != len(b.Name) {
			return len(a.Name) - len(b.Name)
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
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
	all, targets := slices.Concat(r.free, r.unknown), Segs(nil)
	for _, m := range r.members {
		if m.epoch == r.epoch && !m.gone {
			all, targets = append(all, m.held...), append(targets, m.target...)
		}
	}
	byPlace := func(a, b Seg) int { return int(a.Lo - b.Lo) }
	slices.SortFunc(all, byPlace)
	slices.SortFunc(targets, byPlace)
	switch {
	case all.overlap() || all.Len() != circle.Units:
		return fmt.Errorf("%d units have an owner: %v", all.Len(), all)
	case targets.overlap():
		return fmt.Errorf("a unit is to be two members': %v", targets)
	}
	return nil
}

// Clone is a copy that shares nothing with r: what a replica knows at this moment. Segs and Laws are never changed in place.
func (r *Run) Clone() *Run {
	c := *r
	c.members = make(map[string]*Member, len(r.members))
	for name, m := range r.members {
		x := *m
		c.members[name] = &x
	}
	c.woken = map[string]bool{}
	c.log, c.words = slices.Clone(r.log), slices.Clone(r.words)
	return &c
}
