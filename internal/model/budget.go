package model

import (
	"math"
	"slices"

	"github.com/loadctl/loadctl/pacer"
)

const (
	frame = 25_000 // µs a frame covers at most
	lead  = 20_000 // µs between a change and its t0, at least

	maxRTT = 500_000 // µs of round trip that are believed at most
)

// Member is what the budget knows of one incarnation of a worker.
type Member struct {
	Incarnation, State  string
	Seq, Weight, V      int64
	Gen, Share          int64
	Leased, Beyond      int64
	At, Ack, RTT, shift int64
	Phi                 int64 // the permit it may hold, slots per 10⁶ s
	From                int64 // when that begins, µs
	Rank                int64 // it was the Rank-th to join
	reply               pacer.Reply
	ranges              []held
	present             bool
}

type held struct{ gen, first, n, until int64 }

// Options are what a run is created with. Zero values are the defaults.
type Options struct {
	Pieces   []pacer.Piece
	Loop     bool
	Span     int64 // µs until the end; 0 = endless
	Requests int64 // 0 = no limit
	Min      int64 // members to wait for
	Held     bool  // wait for the command start instead
	Horizon  int64 // H, µs
	TTL      int64 // µs
	Qmax     int64 // calls/s of all members together

	PermitFor int64 // Tfb, µs; 0 = no permits
	Deadman   int64 // µs; 0 = off
	Started   int64 // of a run that is restored
	Restored  int64 // when it is, µs
	GrantFrom int64 // until when permits of before may be in force, µs
	Past      int64 // what was asked for before it goes on
	ID        int64 // its highest generation
	Stood     int64 // as in pacer.Reply
	Stopped   bool  // it was stopped while it was lost
	Without   Without
}

// Without switches rules of the protocol off, to show that each is needed.
type Without struct {
	Identity  bool // another server is taken for the same
	Seq       bool // a repeated call is answered anew
	Ack       bool // a lower permit is believed before it was confirmed
	Barrier   bool // grants do not wait for those who are silent
	Thinning  bool // nothing is yielded to suspects
	GrantFrom bool // a run that is restored grants at once
	Revoke    bool // permits of before a loss go on, whatever was commanded
	Prompt    bool // a command to a run that was restored is in force when that grants
}

// Budget is the state of one run. Not safe for concurrent use.
type Budget struct {
	Phase                       string
	Gens                        []*Generation
	Laws                        []*Generation // all there ever were
	Recalls                     pacer.Recalls
	Members                     map[string]*Member // by worker, and worker/incarnation for those replaced
	Issued, Skipped, Beyond     int64
	Started, Ended              int64
	id, cutAt, last, now, time  int64
	w, n, joins, version        int64
	at, piece                   int64
	left, stop, shift, pausedAt int64
	rest                        pacer.Piece
	restC                       int64
	standby                     string
	thin                        int64
	grantFrom, revoked          int64  // of a run that is restored: until when nothing is granted, and since when its old permits are void
	Reach                       int64  // H in force
	Server                      string // the identity of the server; setting another one is a failover
	identity                    string
	phi, away, edge, heard      int64
	grown                       int64 // when Reach was last changed
	stood                       int64 // as in pacer.Reply, without a pause that lasts
	renewed                     int64 // the recall that a failover or a step of the clock made
	opts                        Options
	commands                    map[string]string
}

// New is a run that waits for its members.
func New(o Options) *Budget {
	o.Min, o.Horizon, o.TTL, o.Qmax = or(o.Min, 1), or(o.Horizon, 500_000), or(o.TTL, 1_000_000), or(o.Qmax, 10_000)
	if o.Held {
		o.Min = 0
	}
	b := &Budget{Phase: "waiting", Members: map[string]*Member{}, opts: o, left: -1, commands: map[string]string{}, Reach: o.Horizon,
		Started: o.Started, id: o.ID, stood: o.Stood, Issued: o.Past, Skipped: o.Past}
	if o.Requests > 0 {
		b.left = o.Requests
	}
	if o.GrantFrom > 0 {
		b.restore()
	}
	return b
}

// restore is what lua/create.lua does where Redis has lost the run.
func (b *Budget) restore() {
	b.tick(b.opts.Restored)
	b.grantFrom = b.opts.GrantFrom
	if b.opts.Min > 0 {
		b.start()
	}
	if b.opts.Stopped {
		b.halt(max(b.now, b.cutAt+1))
	}
	b.store()
}

func or(x, y int64) int64 {
	if x == 0 {
		return y
	}
	return x
}

func (b *Budget) tick(now int64) {
	b.time = now
	b.now = max(now, b.last)
}

func (b *Budget) store() {
	for b.at > 0 && b.Gens[0].Ends < b.now {
		b.Gens = b.Gens[1:]
		b.at--
	}
	b.last = b.now
}

func (b *Budget) lowest(p pacer.Piece, piece int64) int64 {
	low, rest := float64(min(p.R0, p.R1))/float64(p.Den), 2*b.Reach+b.opts.PermitFor
	queue := b.opts.Pieces
	for range queue {
		if p.Dur == 0 || b.opts.PermitFor == 0 {
			break
		}
		if piece >= int64(len(queue)) {
			if !b.opts.Loop {
				break
			}
			piece = 0
		}
		x := queue[piece]
		piece++
		low = min(low, float64(x.R0)/float64(x.Den), float64(x.R1)/float64(x.Den))
		rest -= x.Dur
		if x.Dur == 0 || rest <= 0 {
			break
		}
	}
	return int64(math.Floor(low * unit))
}

func (b *Budget) begin(p pacer.Piece, t0, c, piece int64) {
	b.id = max(b.id+1, b.now)
	g := &Generation{
		Law:  pacer.Law{ID: b.id, T0: t0, C: c, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless, F: p.F},
		Ends: pacer.Endless, Piece: piece, Low: b.lowest(p, piece),
	}
	if p.Dur > 0 {
		g.K = int64(max(0, math.Ceil((g.area(p.Dur)-float64(c))/unit)))
		g.Ends = t0 + p.Dur
	} else if p.R0 == 0 {
		g.K = 0
	}
	if b.left >= 0 {
		if g.K >= b.left {
			g.K = b.left
			g.Ends = min(g.Ends, g.when(g.K))
		}
		b.left -= g.K
	}
	g.Cut = g.K
	b.Gens = append(b.Gens, g)
	b.Laws = append(b.Laws, g)
}

func (b *Budget) advance() bool {
	prev := b.Gens[len(b.Gens)-1]
	if b.left == 0 || prev.Dur == 0 {
		return false
	}
	if b.piece >= int64(len(b.opts.Pieces)) {
		if !b.opts.Loop {
			return false
		}
		b.piece = 0
	}
	p, t0 := b.opts.Pieces[b.piece], prev.T0+prev.Dur
	if b.stop > 0 {
		if t0 >= b.stop {
			return false
		}
		if p.Dur == 0 || t0+p.Dur > b.stop {
			p = part(p, 0, b.stop-t0)
		}
	}
	c := phase(float64(prev.K)*unit + float64(prev.C) - prev.area(prev.Dur))
	b.piece++
	b.begin(p, t0, c, b.piece)
	return true
}

func phase(c float64) int64 { return int64(max(0, min(unit-1, c))) }

func (b *Budget) cut(t int64) (active *Generation, c int64) {
	active = b.Gens[0]
	for _, g := range b.Gens {
		if s := g.before(t); s < g.Cut {
			given := g.over(0, g.Next, s) - g.over(0, g.Next, g.Cut)
			for _, m := range b.Members {
				for _, r := range m.ranges {
					if r.gen == g.ID {
						beyond := g.over(r.first, r.first+r.n, s) - g.over(r.first, r.first+r.n, g.Cut)
						m.Beyond += beyond
						b.Beyond += beyond
						given -= beyond
					}
				}
			}
			b.Issued -= given
			b.Skipped -= given
			if b.left >= 0 {
				b.left += g.Cut - s
			}
			g.Cut = s
		}
		g.Ends = min(g.Ends, max(t, g.T0))
		if g.T0 <= t {
			active = g
		}
	}
	c = phase(float64(active.Cut)*unit + float64(active.C) - active.area(max(0, t-active.T0)))
	b.cutAt, b.revoked = t, t
	b.id = max(b.id+1, b.now)
	b.Recalls = append(slices.Clip(b.Recalls), pacer.Recall{ID: b.id, T0: t, Prev: active.ID, Cut: active.Cut})
	b.Recalls = b.Recalls[max(0, len(b.Recalls)-4):]
	return active, c
}

func (b *Budget) latest() int64 {
	if n := len(b.Recalls); n > 0 {
		return b.Recalls[n-1].ID
	}
	return 0
}

func (b *Budget) skip(g *Generation, to int64) {
	if to <= g.Next {
		return
	}
	n := to - g.Next - g.over(g.Next, to, g.Cut)
	b.Issued += n
	b.Skipped += n
	g.Next = to
}

// resume is the scripts' go.
func (b *Budget) resume(p pacer.Piece, t0, c, piece int64) {
	if b.stop > 0 {
		if t0 >= b.stop {
			return
		}
		if p.Dur == 0 || t0+p.Dur > b.stop {
			p = part(p, 0, b.stop-t0)
		}
	}
	b.begin(p, t0, c, piece)
	b.piece = piece
}

// remainder is the scripts' rest.
func remainder(g *Generation, t int64) pacer.Piece {
	p := pacer.Piece{R0: g.R0, R1: g.R1, Den: g.Den, Dur: g.Dur, F: g.F}
	if g.Dur > 0 {
		p = part(p, max(0, min(g.Dur, t-g.T0)), 0)
	}
	return p
}

func (b *Budget) stoodStill() int64 {
	if b.stood >= 0 && b.Phase == "paused" {
		return b.stood + max(0, b.now-b.pausedAt)
	}
	return b.stood
}

func (b *Budget) halt(t0 int64) {
	if len(b.Gens) > 0 {
		b.cut(t0)
	}
	for _, g := range b.Gens {
		b.skip(g, g.limit())
	}
	b.Phase, b.Ended = "stopped", t0
}

func (b *Budget) position() int64 {
	if b.at >= int64(len(b.Gens)) {
		return b.now
	}
	g := b.Gens[b.at]
	if g.Next >= g.limit() {
		return max(b.now, min(g.Ends, b.now+b.opts.Horizon))
	}
	return max(b.now, g.when(g.Next))
}

func (b *Budget) drop(name string, m *Member, state string) {
	b.phi -= m.Phi
	if m.State == "suspect" {
		b.away -= m.Phi
	}
	m.Phi = 0
	m.State, m.present = state, false
	b.w -= m.Weight
	b.n--
	if b.w > 0 {
		d := float64(m.Weight) * float64(b.position()-(m.V-(b.shift-m.shift))) / float64(b.w)
		h := float64(b.opts.Horizon)
		b.shift += int64(math.Floor(max(-h, min(h, d)) + 0.5))
	}
	if b.standby == name {
		b.standby = ""
	}
	b.version++
}
