package worker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// pair is a fleet of four workers in which two events come close together.
type pair struct {
	*sim
	kind string
	over bool // the run was stopped
}

// event is what may happen to a run: it is done, or it is known before the run begins and comes at a time.
type event struct {
	name string
	do   func(*pair)
	plan func(p *pair, at time.Duration)
	harm bool // slots may be late or nobody's, or a worker may hear of a change late
	lost bool // slots may be lost
}

const (
	pairRate  = 600                    // requests a second
	pairBegin = 600 * time.Millisecond // when the first slot is due
	pairFirst = 4 * time.Second        // when the first event comes
	faultTime = time.Second            // how long a fault lasts
)

func events() []event {
	change := func(kind string, rate int64) func(*pair) {
		return func(p *pair) {
			var ps []pacer.Piece
			if rate > 0 {
				ps = pieces(p.t, rate)
			}
			p.command(kind, ps)
		}
	}
	leave := func(ids ...string) func(*pair) {
		return func(p *pair) {
			for _, id := range ids {
				p.named(id).cancel()
			}
		}
	}
	return []event{
		{name: "join", do: (*pair).join},
		{name: "leave", do: leave("w0")},
		{name: "two leave", do: leave("w1", "w2")},
		{name: "rate up", do: change("set-rate", 2*pairRate)},
		{name: "rate down", do: change("set-rate", pairRate/3)},
		{name: "rate over 2 s", do: func(p *pair) {
			p.command("set-rate", []pacer.Piece{{R0: pairRate, R1: 2 * pairRate, Den: 1, Dur: 2_000_000}, {R0: 2 * pairRate, R1: 2 * pairRate, Den: 1}})
		}},
		{name: "pause", do: change("pause", 0)},
		{name: "resume", do: change("resume", 0)},
		{name: "stop", do: change("stop", 0)},
		{name: "planned end", plan: func(p *pair, at time.Duration) { p.arcs.Span = (at - pairBegin).Microseconds() }},
		{name: "last request", plan: func(p *pair, at time.Duration) { p.arcs.Requests = int64(pairRate * (at - pairBegin).Seconds()) }},
		{name: "rm of a dead one", do: func(p *pair) {
			if dead := p.members[0]; dead.crashed > 0 && p.since() >= dead.crashed {
				p.remove(dead.ID)
			}
		}},
		{name: "its name is taken", do: (*pair).takeName},
		{name: "suspend 1 s", plan: suspend(time.Second), harm: true},
		{name: "suspend 5 s", plan: suspend(5 * time.Second), harm: true},
		{name: "kill", plan: func(p *pair, at time.Duration) { p.members[0].crashed = at }, harm: true},
		{name: "no Redis", plan: func(p *pair, at time.Duration) { p.gone = append(p.gone, [2]time.Duration{at, at + faultTime}) }, harm: true},
		{name: "lost messages", plan: func(p *pair, at time.Duration) { p.deaf = append(p.deaf, [2]time.Duration{at, at + faultTime}) }, harm: true},
		{name: "lost replies", plan: func(p *pair, at time.Duration) { p.lossy = append(p.lossy, [2]time.Duration{at, at + faultTime}) }, harm: true, lost: true},
	}
}

// suspend stops the process of w2 for some time.
func suspend(d time.Duration) func(*pair, time.Duration) {
	return func(p *pair, at time.Duration) {
		m := p.members[2]
		m.asleep = append(m.asleep, [2]time.Duration{at, at + d})
	}
}

// takeName starts another process with the name of the worker that is suspended, if one is.
func (p *pair) takeName() {
	first := p.members[2]
	if first.wakes() == p.since() {
		return
	}
	first.replaced = true
	m := p.member(first.ID)
	m.Incarnation = "2"
	m.start()
}

// remove is what an operator does who knows that a worker is dead.
func (p *pair) remove(id string) {
	p.mu.Lock()
	p.arcs.Remove(p.redis(), id)
	woken := p.arcs.Woken()
	p.mu.Unlock()
	p.publish(lease.Message{}, woken)
}

// named returns a member that was added.
func (p *pair) named(id string) *simMember {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[slices.IndexFunc(p.members, func(m *simMember) bool { return m.ID == id })]
}

// join starts one more worker.
func (p *pair) join() { p.member(fmt.Sprintf("j%d", len(p.members))).start() }

// member adds a worker. With numbers it sends none twice.
func (p *pair) member(id string) *simMember {
	m := p.add(id)
	m.Unique = p.kind == "numbers"
	m.loss = func() bool { return inAny(p.since(), p.lossy) }
	return m
}

// inAny reports whether a time is in one of the spans.
func inAny(d time.Duration, spans [][2]time.Duration) bool {
	return slices.ContainsFunc(spans, func(s [2]time.Duration) bool { return within(d, s) })
}

// command gives a command to a run that may be over, or may be as wanted.
func (p *pair) command(kind string, ps []pacer.Piece) {
	p.mu.Lock()
	_, status := p.arcs.Command(p.redis(), kind, ps)
	laws := p.arcs.Laws().All()
	p.mu.Unlock()
	if status == "OK" {
		p.publish(lease.Message{Laws: laws, Quiet: true}, nil)
	}
	p.over = p.over || kind == "stop"
}

// runKinds are the kinds of runs in which pairs are played. make test plays those with numbers.
func runKinds() []string {
	if testing.Short() {
		return []string{"numbers"}
	}
	return []string{"numbers", "plain", "limiter"}
}

// TestPairs: whatever two events come close together, each slot that was asked for is sent once, or is counted under
// one reason. If nothing fails, all are sent, and none beyond what a command cut.
func TestPairs(t *testing.T) {
	gaps := []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond, 1100 * time.Millisecond}
	if testing.Short() {
		gaps = []time.Duration{50 * time.Millisecond, 300 * time.Millisecond}
	}
	for _, kind := range runKinds() {
		for _, first := range events() {
			for _, second := range events() {
				t.Run(kind+", "+first.name+" and "+second.name, func(t *testing.T) {
					for _, gap := range gaps {
						t.Run(gap.String(), func(t *testing.T) {
							simulate(t, func(t *testing.T) { playPair(t, kind, first, second, gap) })
						})
					}
				})
			}
		}
	}
}

func playPair(t *testing.T, kind string, first, second event, gap time.Duration) {
	p := &pair{sim: newSim(t, pairRate, model.Options{Min: 4, Hold: 3_000_000}), kind: kind}
	if kind == "limiter" {
		p.limiter = &simLimiter{burst: 2 * pairRate, tokens: 2 * pairRate}
	}
	for i := range 4 {
		p.member(fmt.Sprintf("w%d", i))
	}
	p.loses = first.lost || second.lost
	for i, e := range []event{first, second} {
		if e.plan != nil {
			e.plan(p, pairFirst+time.Duration(i)*gap)
		}
	}
	for _, m := range p.members {
		m.start()
	}
	time.Sleep(pairFirst)
	first.happen(p)
	time.Sleep(gap)
	second.happen(p)
	time.Sleep(6 * time.Second)
	if !p.over {
		p.command("stop", nil)
	}
	p.wait()
	p.check(first.harm || second.harm)
}

func (e *event) happen(p *pair) {
	if e.do != nil {
		e.do(p)
	}
}

// check asserts what must hold after each pair; harm: there was a fault.
func (p *pair) check(harm bool) {
	n := p.audit()
	asked, idle := p.books()
	// With a limiter, slots are granted ahead of time, and a change recalls some of them.
	exact := n.Sent == asked && n.Sent == n.Completed && n.LateDropped+n.Ungranted+idle == 0 && n.Beyond == n.Recalled && (n.Beyond == 0 || p.limiter != nil)
	if !harm && !exact {
		p.t.Errorf("%d asked, %d nobody's, %+v", asked, idle, n)
	}
	if p.kind != "numbers" {
		return
	}
	numbers, twice := map[uint64]bool{}, 0
	for _, x := range p.sends {
		if numbers[x.number] {
			twice++
		}
		numbers[x.number] = true
	}
	most := 0
	if p.members[2].replaced { // when it woke up, it sent what was due in the last --catch-up
		most = int(pairRate / 4 * DefaultCatchUp / time.Second)
	}
	if twice > most {
		p.t.Errorf("%d numbers were sent twice, at most %d may be", twice, most)
	}
}
