package budgetsim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is a simulation: runs, people, servers, and what happens to them.
type Plan struct {
	Seed         uint64
	Length       int64 // µs
	Slow         int64 // of most messages, µs at most
	Lose, Late   float64
	Suspended    float64 // part of the steps before which a process is suspended
	Forgetful    float64 // part of the steps that a replica misses which takes over right after
	LedgerSkew   int64
	LedgerDown   []span
	LedgerFaults []fault
	Runs         []RunPlan
	Orders       []Order
	Trace        func(at time.Duration, who, what string)
}

// A RunPlan is a run and what happens to it.
type RunPlan struct {
	Rate    int64
	Skew    int64
	Again   int // how often its creation is tried again if there is no room
	Down    []span
	Faults  []fault
	Workers []WorkerPlan
}

// A WorkerPlan is what happens to a worker.
type WorkerPlan struct {
	Dies      int64  // 0 = it does not
	Cut       []span // from the run's Redis
	CutLedger []span
}

type draw struct{ *rand.Rand }

func (d draw) between(a, b int64) int64 { return a + d.Int64N(b-a) }
func (d draw) chance(p float64) bool    { return d.Float64() < p }
func (d draw) span(length, most int64) span {
	at := d.Int64N(length)
	return span{at, at + d.between(100*ms, most)}
}

// Draw draws a plan: five runs whose rates fit a budget together or do not, three people who change rates and the
// budget, and faults.
func Draw(seed uint64) Plan {
	d := draw{rand.New(rand.NewPCG(seed, 3))}
	p := Plan{Seed: seed, Length: 150 * second, Slow: d.between(500, 20*ms), LedgerSkew: d.between(-3600*second, 3600*second)}
	if d.chance(0.5) {
		p.Lose = 0.05
	}
	if d.chance(0.3) {
		p.Late = 0.02
	}
	if d.chance(0.3) {
		p.Suspended = 0.03
	}
	if d.chance(0.3) {
		p.Forgetful = 0.02
	}
	const budget = 100 * second // requests per 1,000,000 s
	p.Orders = append(p.Orders, Order{at: 0, kind: "set", rate: budget})
	for i := range 5 {
		p.Runs = append(p.Runs, d.run(p.Length, budget))
		p.Orders = append(p.Orders, Order{at: d.between(second, 20*second), kind: "create", run: i, dies: d.dies()})
	}
	changes, busy := d.chance(0.4), d.between(2*second, 20*second)
	for range 3 { // people
		for at := d.between(5*second, 30*second); at < p.Length-20*second; at += d.between(100*ms, busy) {
			p.Orders = append(p.Orders, d.order(at, budget, changes))
		}
	}
	if d.chance(0.3) {
		p.LedgerDown = append(p.LedgerDown, d.span(p.Length, 25*second))
	}
	p.LedgerFaults = d.faults(p.Length, 0.4)
	if d.chance(0.2) { // the budget comes later; until then the ledger must have all rows, so no run is cut off from it
		p.LedgerFaults, p.LedgerDown, p.Suspended = nil, nil, 0
		p.Orders[0].at = d.between(25*second, 60*second)
		for i := range p.Runs {
			for j := range p.Runs[i].Workers {
				p.Runs[i].Workers[j].CutLedger = nil
			}
		}
	}
	for _, f := range p.LedgerFaults { // somebody creates a run before the budget is back
		if f.kind == "empty" {
			p.Runs = append(p.Runs, d.run(p.Length, budget))
			p.Orders = append(p.Orders, Order{at: f.at + d.between(1, 3*second), kind: "create", run: len(p.Runs) - 1})
		}
	}
	return p
}

// Calm returns the plan without any fault, but for outages of the ledger of this length.
func (p Plan) Calm(outage int64) Plan {
	p.Lose, p.Late, p.Suspended, p.Forgetful, p.LedgerFaults, p.LedgerDown = 0, 0, 0, 0, nil, nil
	for at := 20 * second; outage > 0 && at < p.Length; at += outage + 30*second {
		p.LedgerDown = append(p.LedgerDown, span{at, at + outage})
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		r.Down, r.Faults = nil, nil
		for j := range r.Workers {
			r.Workers[j] = WorkerPlan{}
		}
	}
	p.Orders = slices.DeleteFunc(p.Orders, func(o Order) bool { return o.kind == "freeze" })
	return p
}

func (d draw) dies() int {
	if d.chance(0.2) {
		return 1 + d.IntN(4)
	}
	return 0
}

func (d draw) order(at, budget int64, changes bool) Order {
	o := Order{at: at, kind: "set-rate", run: d.IntN(5), rate: d.between(budget/50, budget*2/3), dies: d.dies()}
	if !changes {
		return o
	}
	switch {
	case d.chance(0.06):
		o.kind, o.rate = "set", d.between(budget/3, budget*2)
	case d.chance(0.08):
		o.kind, o.rate = "cut", d.between(budget/3, budget)
	case d.chance(0.03):
		o.kind = "freeze"
	case d.chance(0.06):
		o.kind = "thaw"
	}
	return o
}

func (d draw) faults(length int64, p float64) (all []fault) {
	for d.chance(p) {
		f := fault{at: d.between(5*second, length), kind: "replica", misses: d.between(1, second), skew: d.between(-second/2, second/2)}
		if d.chance(0.3) {
			f.kind = "empty"
		}
		all = append(all, f)
	}
	return all
}

func (d draw) run(length, budget int64) RunPlan {
	r := RunPlan{Rate: d.between(budget/20, budget/2), Skew: d.between(-3600*second, 3600*second), Again: d.IntN(10), Faults: d.faults(length, 0.25)}
	if d.chance(0.2) {
		r.Down = append(r.Down, d.span(length, 15*second))
	}
	for range 1 + d.IntN(4) {
		w := WorkerPlan{}
		if d.chance(0.15) {
			w.Dies = d.between(20*second, length)
		}
		for d.chance(0.2) {
			w.Cut = append(w.Cut, d.span(length, 20*second))
		}
		for d.chance(0.2) {
			w.CutLedger = append(w.CutLedger, d.span(length, 60*second))
		}
		r.Workers = append(r.Workers, w)
	}
	return r
}
