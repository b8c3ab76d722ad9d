package budgetsim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
)

const (
	period = 500 * ms
	hold   = 10 * second
	ahead  = 20 * ms // from an order to its law
)

// A law is a rate from a time of the run's clock on.
type law struct{ id, from, rate int64 }

// state is what a run's Redis has of it.
type state struct {
	identity, seen string
	laws           []law // the newest is the last one
	right          reserve.Right
	budgets        []reserve.Budget
	raised         int64
	grace          int64 // until when workers may know laws or have leases that this server does not know
	last           int64
	leases         map[string]leased
	ended          bool
}

// leased is what a run's Redis knows of a worker: until when it leased, and the newest law that it has confirmed.
type leased struct{ until, known int64 }

func (s *state) clone() *state {
	c := *s
	c.laws, c.leases = slices.Clone(s.laws), maps.Clone(s.leases)
	return &c
}

// run is a run: its Redis and its workers.
type run struct {
	*world
	RunPlan
	name     string
	state    *state // nil before it is made, and after a loss
	skew     int64
	n        int // of its servers
	workers  []*worker
	lock     string // the worker that is the judge
	locked   int64
	made     bool
	admitted int64 // when it got its first right
	rowEnds  int64 // when the row is over that the ledger gave it last
	unbound  int64 // when the last lease is over by a right without end, if it always had a row or such a lease
}

func newRun(w *world, p RunPlan, i int) *run {
	r := &run{world: w, RunPlan: p, name: fmt.Sprint("run ", i), skew: p.Skew}
	for j := range p.Workers {
		r.workers = append(r.workers, &worker{run: r, WorkerPlan: p.Workers[j], name: fmt.Sprintf("run %d w%d", i, j)})
	}
	for _, f := range p.Faults {
		w.After(f.at, func() { r.fault(f) })
	}
	return r
}

func (r *run) clock() int64    { return zero + r.Now + r.skew }
func (r *run) reachable() bool { return !within(r.Now, r.Down) }

func (r *run) identity() string { return fmt.Sprint(r.name, " ", r.n) }

func (r *run) fault(f fault) {
	switch {
	case r.state == nil:
	case f.kind == "empty":
		r.n++
		r.state, r.skew = nil, r.skew+f.skew*3600 // another machine, for all we know
		r.trace(r.name, "is lost")
	case f.kind == "replica":
		replica := r.state.clone()
		r.After(f.misses, func() {
			if r.state == nil {
				return
			}
			r.n++
			r.state, r.skew = replica, r.skew+f.skew
			r.trace(r.name, "replica takes over")
		})
	}
}

// forget lets a replica take over soon that misses what comes next, now and then.
func (r *run) forget() {
	if r.rng.Float64() < r.Forgetful {
		r.fault(fault{kind: "replica", misses: 50*ms + r.rng.Int64N(900*ms), skew: r.rng.Int64N(second) - second/2})
	}
}

// enter is what each script does first. nil = there is no such run.
func (r *run) enter() *state {
	s := r.state
	if s == nil {
		return nil
	}
	if id := r.identity(); s.seen != id {
		s.seen = id
		s.last = r.clock()
		s.doubt(r)
	}
	s.last = max(s.last, r.clock())
	return s
}

// doubt notes that this server may have forgotten the right, laws and leases.
func (s *state) doubt(r *run) {
	s.grace = s.last + hold + second
	if !r.without.Verify {
		s.right.Until = 0
	}
}

func (s *state) newest() law { return s.laws[len(s.laws)-1] }

// need returns the highest rate at which a worker may send: by a law that has begun, with a margin for clocks, and that all
// know.
func (s *state) need() int64 {
	known := s.newest().id
	for _, x := range slices.Backward(s.laws) {
		if known = x.id; x.from+second <= s.last {
			break
		}
	}
	for _, l := range s.leases {
		if l.until >= s.last {
			known = min(known, l.known)
		}
	}
	most := s.newest().rate
	for i, x := range s.laws {
		if i == len(s.laws)-1 || s.laws[i+1].id > known {
			most = max(most, x.rate)
		}
	}
	return most
}

// reading is the first step of every change.
func (r *run) reading() (reserve.Reading, bool) {
	s := r.enter()
	if s == nil {
		return reserve.Reading{}, false
	}
	x := reserve.Reading{Host: host, Run: r.name, At: s.last, Identity: s.seen, Right: s.right, Budgets: s.budgets, Raised: s.raised, Need: s.need(), Settled: s.last >= s.grace}
	if r.without.Settled {
		x.Settled, x.Need = true, s.newest().rate
	}
	return x, true
}

// store stores a right and a budget. It refuses those that were asked for by a reading of another server, or of another
// right.
func (r *run) store(read reserve.Reading, right reserve.Right, budgets []reserve.Budget) bool {
	s := r.enter()
	if s == nil || read.Identity != s.seen && !r.without.Identity {
		return false
	}
	if (read.Right.Version != s.right.Version || read.Right.Rate != s.right.Rate) || read.Late(s.last) && !r.without.Late {
		return false
	}
	if read.Need <= right.Rate && s.need() > right.Rate { // an order came between
		return false
	}
	if r.without.Anchor && right.Until < reserve.Endless {
		right.Until = s.last + reserve.TTL - reserve.Margin
	}
	s.budgets = reserve.Merge(s.budgets, budgets)
	switch {
	case right.Version > s.right.Version || r.without.Version:
		s.right, s.raised = right, s.last
	case right.Version == s.right.Version && s.right.Until == reserve.Endless: // there is a budget now
		s.right.Until = right.Until
	case right.Version == s.right.Version:
		s.right.Rate, s.right.Until, s.right.End = min(s.right.Rate, right.Rate), max(s.right.Until, right.Until), max(s.right.End, right.End)
	}
	return true
}

// shrink lowers the right to what is needed. It answers with the right.
func (r *run) shrink(identity string, version int64) (reserve.Right, bool) {
	s := r.enter()
	if s == nil || identity != s.seen || version != s.right.Version || s.last < s.grace && !r.without.Settled {
		return reserve.Right{}, false
	}
	need := s.need()
	if r.without.Settled {
		need = s.newest().rate
	}
	r.forget()
	s.right.Rate = min(s.right.Rate, need)
	return s.right, true
}

// order sets the rate. It refuses one above the right.
func (r *run) order(rate int64) string {
	s := r.enter()
	switch {
	case s == nil:
		return "NOSTATE"
	case s.ended:
		return "ENDED"
	case rate > s.newest().rate && !r.without.Law && (rate > s.right.Rate || s.right.Until <= s.last):
		return "RETRY"
	case rate > s.newest().rate && (reserve.Grant{Budgets: s.budgets}).Frozen():
		return "FROZEN"
	}
	r.trace(r.name, "rate %d", rate)
	s.laws = append(s.laws, law{max(s.last, s.newest().id+1), s.last + ahead, rate})
	laws := slices.Clone(s.laws)
	for _, w := range r.workers { // the message
		r.After(r.way(), func() {
			if w.reaches() && r.rng.Float64() >= r.Lose {
				w.learn(laws)
			}
		})
	}
	return "OK"
}

// create makes the run with a right.
func (r *run) create(read reserve.Reading, right reserve.Right, budgets []reserve.Budget) bool {
	if r.made || read.Identity != r.identity() && !r.without.Identity || read.Late(r.clock()) && !r.without.Late {
		return false
	}
	r.made = true
	if r.without.Anchor && right.Until < reserve.Endless {
		right.Until = r.clock() + reserve.TTL - reserve.Margin
	}
	r.state = &state{identity: read.Identity, seen: r.identity(), last: r.clock(), right: right, budgets: budgets, raised: r.clock(),
		laws: []law{{r.clock(), r.clock() + ahead, r.Rate}}, leases: map[string]leased{}}
	r.trace(r.name, "is made, rate %d, right %+v", r.Rate, right)
	for _, w := range r.workers {
		r.After(r.way(), w.begin)
	}
	return true
}

// restore makes the run again of what a worker knows.
func (r *run) restore(laws []law, right reserve.Right, budgets []reserve.Budget) {
	r.n++
	newest := laws[len(laws)-1]
	laws = append(slices.Clone(laws), law{newest.id + 1, r.clock(), newest.rate}) // the clock may be any other
	r.state = &state{seen: r.identity(), last: r.clock(), right: right, budgets: budgets, laws: laws, leases: map[string]leased{}}
	r.state.doubt(r)
	r.trace(r.name, "is restored")
}

// sending returns what all workers may send now.
func (r *run) sending() int64 {
	sum := int64(0)
	for _, w := range r.workers {
		sum += w.sending()
	}
	return sum
}
