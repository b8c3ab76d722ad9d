package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
)

// Span is a stretch of true time since the simulation began: [From, To).
type Span struct{ From, To time.Duration }

func (s Span) has(at int64) bool { return at >= int64(s.From) && at < int64(s.To) }

func within(at int64, spans []Span) bool {
	for _, s := range spans {
		if s.has(at) {
			return true
		}
	}
	return false
}

// Size is how large a simulation is.
type Size struct {
	Workers int
	Length  time.Duration // of the run, as planned
	Rate    int64         // requests per second, at first; 0 = by the seed
}

// Plan is all that will happen in one simulation.
type Plan struct {
	Kind     string
	Of       []string // the kinds in a mix
	Seed     uint64
	Rate     int64 // requests per second, at first
	Options  model.Options
	Length   time.Duration
	Skew     time.Duration // of the Redis clock at first
	Net      Net
	Members  []MemberPlan
	Down     []Span // the server is away
	Frozen   []Span // the server stands still
	Failover []Failover
	Steps    []Step
	Lost     time.Duration // when the server forgets the run; 0 = never
	Commands []Command
	Floor    float64                                  // how much of what is asked for is promised for each second, whatever happens; 0 = nothing
	Least    float64                                  // and how much of what is asked for in all seconds that no fault touches
	Trace    func(at time.Duration, who, what string) // told of what happens; nil = nobody
	Faults   []Span                                   // when something is broken, and what it leads to may still be seen
}

// MemberPlan is what will happen to one incarnation of a worker.
type MemberPlan struct {
	Name, Incarnation string
	Weight            int64
	Join              time.Duration
	Leave, Crash      time.Duration // 0 = never
	DriftPPM          int64
	Shards            int
	Pauses            []Span // the process is stopped
	CutCalls, CutBack []Span // what it sends to the server is lost; what the server sends
}

// Failover makes a replica the server, which knows what the server knew Forgets before.
type Failover struct {
	At, Forgets time.Duration
	Skew        time.Duration // of its clock, beside the old one
}

// Step moves the Redis clock.
type Step struct{ At, By time.Duration }

// steps are those of the Redis clock, and those from one server's to another's.
func (p Plan) steps() []Step {
	all := slices.Clone(p.Steps)
	for _, f := range p.Failover {
		if f.Skew != 0 {
			all = append(all, Step{At: f.At, By: f.Skew})
		}
	}
	return all
}

// Command is given at a time.
type Command struct {
	At     time.Duration
	Kind   string
	Pieces []pacer.Piece
}

// draw is a Plan in the making.
type draw struct {
	*Plan
	rng *rand.Rand
}

// Draw is the plan of a kind, one of Kinds or "day", and a seed.
func Draw(name string, seed uint64, size Size) Plan {
	d := draw{Plan: &Plan{Kind: name, Seed: seed, Length: size.Length}, rng: rand.New(rand.NewPCG(seed, 0))}
	d.base(size)
	for _, k := range append(kinds(), kind{"day", draw.day}) {
		if k.name == name {
			k.draw(d)
			return *d.Plan
		}
	}
	panic("no such kind: " + name)
}

// Kinds are the names of the kinds of fault.
func Kinds() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// between is a time in [lo, hi), to the ns: no two events should fall together.
func (d draw) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.rng.Int64N(int64(hi-lo)))
}

func (d draw) chance(p float64) bool { return d.rng.Float64() < p }

// base is what all kinds have in common.
func (d draw) base(size Size) {
	d.Least = 0.99
	d.Rate = 500 + d.rng.Int64N(1500)
	if size.Rate > 0 {
		d.Rate = size.Rate
	}
	ps, err := pacer.Constant(pacer.PerSecond(d.Rate), 0).Pieces()
	if err != nil {
		panic(err)
	}
	d.Options = model.Options{Pieces: ps, Span: size.Length.Microseconds(), Min: int64(size.Workers),
		PermitFor: []int64{2_000_000, 5_000_000, 10_000_000}[d.rng.IntN(3)]}
	d.Skew = d.between(-time.Hour, time.Hour)
	d.Net = Net{Lo: 200 * time.Microsecond, Hi: d.between(300*time.Microsecond, 4*time.Millisecond), Late: time.Second, Double: 0.01}
	switch d.rng.IntN(8) {
	case 0:
		d.Net.Hi = d.between(4*time.Millisecond, 100*time.Millisecond)
	case 1:
		d.Net.Rare = d.between(4*time.Millisecond, 200*time.Millisecond)
	}
	weighted, shards := d.chance(0.25), 1
	if d.chance(0.25) {
		shards = 2
	}
	for i := range size.Workers {
		m := MemberPlan{Name: fmt.Sprint("w", i), Incarnation: "1", Weight: 1, Shards: shards, Join: d.between(0, 300*time.Millisecond), DriftPPM: d.rng.Int64N(201) - 100}
		if weighted {
			m.Weight = 1 + d.rng.Int64N(3)
		}
		d.Members = append(d.Members, m)
	}
}

// some are k members' indices, in no order.
func (d draw) some(k int) []int { return d.rng.Perm(len(d.Members))[:min(k, len(d.Members))] }

// fault notes when something is broken; what follows from it may be seen for a while after, longer where H is.
func (d draw) fault(from, to, after time.Duration) {
	if d.Net.slow() {
		after *= 2
	}
	d.Faults = append(d.Faults, Span{from, to + after})
}
