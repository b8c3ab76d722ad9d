package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/internal/proof/virtual"
)

// zero is the Redis time at which a simulation begins, ns.
const zero = int64(1_700_000_000_000_000_000)

// world is a running simulation.
type world struct {
	Plan
	rng     *rand.Rand
	without model.Without
	broken  Broken
	virtual.Queue
	server *server
	nodes  []*node
	sends  []send
}

// A send is one slot that was sent, or dropped as late, or not sent because its ordinal had been sent before.
type send struct {
	law, k, ordinal, at, due int64 // due by the Redis clock
	node                     int32
	late, again              bool
}

func (w *world) after(d time.Duration, do func()) { w.After(int64(d), do) }

func (w *world) trace(who, format string, a ...any) {
	if w.Trace != nil {
		w.Trace(time.Duration(w.Now), who, fmt.Sprintf(format, a...))
	}
}

func within(at int64, spans []Span) bool {
	for _, s := range spans {
		if at >= int64(s.From) && at < int64(s.To) {
			return true
		}
	}
	return false
}

// Run carries out a plan and judges what was sent.
func Run(p Plan, without model.Without, broken Broken) Result {
	w := &world{Plan: p, without: without, broken: broken, rng: rand.New(rand.NewPCG(p.Seed, 99))}
	w.server = newServer(w)
	for i, mp := range p.Members {
		m := newNode(w, mp, i)
		w.nodes = append(w.nodes, m)
		w.after(mp.Join, m.begin)
		if mp.Leave > mp.Join {
			w.after(mp.Leave, m.leave)
		}
		if mp.Crash > mp.Join {
			w.after(mp.Crash, m.quit)
		}
		for j, s := range mp.Pauses {
			stop := p.clockStops(i, j)
			w.after(s.From, m.pause)
			w.after(s.To, func() { m.wake(stop, s.To-s.From) })
		}
	}
	for i, f := range p.Failover {
		w.after(f.At-f.Forgets, w.server.fork)
		w.after(f.At, func() { w.server.promote(i, f.Skew) })
	}
	for _, s := range p.Steps {
		w.after(s.At, func() { w.server.skew += int64(s.By) })
	}
	if p.Rights != nil {
		w.after(0, w.server.keepRights)
	}
	if p.Lost > 0 {
		w.after(p.Lost, w.server.lose)
	}
	for i, c := range p.Commands {
		w.after(c.At, func() { w.server.command(i, c) })
	}
	for i, r := range p.Removes {
		w.after(r.At, func() { w.server.remove(i, r.Name) })
	}
	end := int64(p.Length + p.Length/2 + 30*time.Second)
	w.Run(end)
	for _, m := range w.nodes {
		if !m.stopped {
			m.quit()
		}
	}
	return w.judge()
}
