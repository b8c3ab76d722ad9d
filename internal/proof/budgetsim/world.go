package budgetsim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/internal/proof/virtual"
)

const (
	ms     = int64(1_000)
	second = int64(1_000_000)
	host   = "api.example.com"            // the endpoint of all runs
	every  = 20 * ms                      // from one look of the judge to the next
	zero   = int64(1_700_000_000_000_000) // of all clocks, but for their skew, µs
)

// world is a running simulation.
type world struct {
	Plan
	without model.WithoutBudget
	rng     *rand.Rand
	virtual.Queue
	ledger *ledgerServer
	runs   []*run
	judged
}

// A span is a stretch of true time, µs.
type span struct{ from, to int64 }

func (s span) has(t int64) bool { return s.from <= t && t < s.to }

func within(t int64, spans []span) bool {
	for _, s := range spans {
		if s.has(t) {
			return true
		}
	}
	return false
}

func (w *world) trace(who, format string, a ...any) {
	if w.Trace != nil {
		w.Trace(time.Duration(w.Now)*time.Microsecond, who, fmt.Sprintf(format, a...))
	}
}

// way returns how long a message takes.
func (w *world) way() int64 {
	d := 200 + w.rng.Int64N(w.Slow)
	if w.rng.IntN(100) == 0 {
		d += w.rng.Int64N(300 * ms)
	}
	return d
}

// step returns how long a process takes from one step to the next. Some are suspended in between.
func (w *world) step() int64 {
	if w.rng.Float64() < w.Suspended {
		return w.rng.Int64N(45 * second)
	}
	return w.rng.Int64N(2 * ms)
}

// ask makes a call that a server carries out, and brings back the reply. A lost call or reply is repeated until the caller
// gives up; so a call may be carried out several times, and late. reply gets false if the caller gives up.
func (w *world) ask(reachable func() bool, do func() any, reply func(any, bool)) {
	done, tries := false, 0
	var try func()
	try = func() {
		if done {
			return
		}
		if tries++; tries > 4 {
			done = true
			reply(nil, false)
			return
		}
		there := w.way()
		if w.rng.Float64() < w.Late { // it waits somewhere, and arrives long after
			there += w.rng.Int64N(30 * second)
		}
		if w.rng.Float64() >= w.Lose {
			w.After(there, func() {
				if !reachable() {
					return
				}
				x := do()
				if w.rng.Float64() < w.Lose {
					return
				}
				w.After(w.way(), func() {
					if !done {
						done = true
						reply(x, true)
					}
				})
			})
		}
		w.After(500*ms, try)
	}
	try()
}

// Run carries out a plan, and judges it.
func Run(p Plan, without model.WithoutBudget) Result {
	w := &world{Plan: p, without: without, rng: rand.New(rand.NewPCG(p.Seed, 7))}
	w.ledger = newLedgerServer(w)
	for i, rp := range p.Runs {
		w.runs = append(w.runs, newRun(w, rp, i))
	}
	for _, f := range p.LedgerFaults {
		w.After(f.at, func() { w.ledger.fault(f) })
	}
	for _, o := range p.Orders {
		w.After(o.at, func() { w.issue(o) })
	}
	var look func()
	look = func() {
		w.look()
		w.After(every, look)
	}
	look()
	w.Run(p.Length)
	return w.result()
}
