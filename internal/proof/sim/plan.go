package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/poisson"
)

// Span is a period of true time since the simulation began: [From, To).
type Span struct{ From, To time.Duration }

// Size is the size of a simulation.
type Size struct {
	Workers int
	Length  time.Duration // planned length of the run
}

// Plan is all that happens in one simulation. It is the same for a kind, a seed and a size.
type Plan struct {
	Kind     string
	Of       []string // the kinds in a mix
	Seed     uint64
	Rate     int64 // requests per second at the beginning
	Options  Options
	Length   time.Duration
	Skew     time.Duration // of the Redis clock at the beginning
	Net      Net
	Members  []MemberPlan
	Down     []Span // the server is unreachable
	Frozen   []Span // the server stands still
	Failover []Failover
	Steps    []Step
	Lost     time.Duration // when the server forgets the run; 0 = never
	Commands []Command
	Requests int64                                    // the run's number of requests; 0 = no limit
	Removes  []Remove                                 // `workers rm` of dead processes
	Rights   *RightsPlan                              // what happens to the rights of the run to send; nil = it needs none
	Stops    bool                                     // the clock of every second stopped process stands still
	Trace    func(at time.Duration, who, what string) // called for each event; nil = no trace
}

// Options are the settings of the run.
type Options struct {
	Pieces    []pacer.Piece
	Span      int64 // µs, 0 = without an end
	Min       int64
	PermitFor int64 // how long a lease lasts, µs
	Arrivals  int64 // seed of Poisson arrivals; 0 = slots are evenly spaced
}

// A Net is what the network does to each message.
type Net struct {
	Lo, Hi   time.Duration // how long a message takes
	Rare     time.Duration // one in fifty takes up to this longer; 0 = none
	LoseCall float64       // probability
	LoseBack float64
	Double   float64       // probability that a call arrives twice,
	Late     time.Duration // the second time up to this later
}

// MemberPlan is what happens to one incarnation of a worker.
type MemberPlan struct {
	Name, Incarnation string
	Weight            int64
	Join              time.Duration
	Leave, Crash      time.Duration // 0 = never
	Shards            int
	Pauses            []Span // the process is stopped
	CutCalls, CutBack []Span // lost: what it sends to the server; what the server sends
}

// Failover makes a replica the server. The replica lacks the last Forgets of the server's knowledge.
type Failover struct {
	At, Forgets time.Duration
	Skew        time.Duration // of its clock, relative to the old one
}

// Step moves the Redis clock.
type Step struct{ At, By time.Duration }

// Command is a command and its time.
type Command struct {
	At     time.Duration
	Kind   string
	Pieces []pacer.Piece
	Factor int64 // of scale and cap, millionths
}

// Remove is `workers rm` and its time.
type Remove struct {
	At   time.Duration
	Name string
}

// clockStops reports whether the clock of a member stands still in its j-th pause.
func (p *Plan) clockStops(i, j int) bool { return p.Stops && (int(p.Seed)+i+j)%2 == 0 }

// draw is a Plan while it is made.
type draw struct {
	*Plan
	rng *rand.Rand
}

// Draw returns the plan of a kind, one of Kinds, and a seed.
func Draw(name string, seed uint64, size Size) Plan {
	d := draw{Plan: &Plan{Kind: name, Seed: seed, Length: size.Length}, rng: rand.New(rand.NewPCG(seed, 0))}
	d.base(size)
	k := find(name)
	if k.on != "" {
		find(k.on).draw(d)
		d.rng = rand.New(rand.NewPCG(seed, 7))
	}
	k.draw(d)
	if d.chance(1.0 / 3) { // after all else: it keeps the meaning of old seeds
		d.Options.Arrivals = 1 + d.rng.Int64N(poisson.MaxSeed)
	}
	return *d.Plan
}

func find(name string) kind {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		panic("no such kind: " + name)
	}
	return all[i]
}

// Kinds returns the names of the kinds of fault.
func Kinds() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// between returns a time in [lo, hi), to the ns: no two events should be at the same time.
func (d draw) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.rng.Int64N(int64(max(1, hi-lo))))
}

func (d draw) chance(p float64) bool { return d.rng.Float64() < p }

// base sets what all kinds have in common.
func (d draw) base(size Size) {
	d.Rate = 500 + d.rng.Int64N(1500)
	ps, err := pacer.Constant(pacer.PerSecond(d.Rate), 0).Pieces()
	if err != nil {
		panic(err)
	}
	d.Options = Options{Pieces: ps, Span: size.Length.Microseconds(), Min: int64(size.Workers),
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
		m := MemberPlan{Name: fmt.Sprint("w", i), Incarnation: "1", Weight: 1, Shards: shards, Join: d.between(0, 300*time.Millisecond)}
		d.rng.Int64N(201) // keeps the meaning of old seeds
		if weighted {
			m.Weight = 1 + d.rng.Int64N(3)
		}
		d.Members = append(d.Members, m)
	}
}

// some returns the indices of k members, at random.
func (d draw) some(k int) []int { return d.rng.Perm(len(d.Members))[:min(k, len(d.Members))] }
