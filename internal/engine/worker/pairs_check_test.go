package worker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
)

// play runs a fleet in which events follow each other. gaps has one less than chosen. It returns how many slots that were
// asked for were not sent, −1 if that is not known.
func play(t *testing.T, kind string, chosen []event, gaps []time.Duration) (missing int64) {
	p := &pair{sim: newSim(t, pairRate, model.Options{Min: 4, Hold: 3_000_000}), kind: kind, events: len(chosen)}
	switch kind {
	case "limiter":
		p.limiter = &simLimiter{burst: 2 * pairRate, tokens: 2 * pairRate}
	case "closed":
		p.model.Pieces = []pacer.Piece{{Den: 1}}
	case "seats":
		p.model.Pieces = seatedPieces(pairRate)
		p.allow(p.redis(), pairRate/seatedRate)
	}
	for i := range 4 {
		p.member(fmt.Sprintf("w%d", i))
	}
	at, harm := pairFirst, false
	for i, e := range chosen {
		harm, p.loses = harm || e.harm, p.loses || e.lost
		if e.plan != nil {
			e.plan(p, at)
		}
		if i < len(gaps) {
			at += gaps[i]
		}
	}
	p.plan = p.model.Options
	for _, m := range p.members {
		m.start()
	}
	time.Sleep(pairFirst)
	for i, e := range chosen {
		if e.do != nil {
			e.do(p)
		}
		if i < len(gaps) {
			time.Sleep(gaps[i])
		}
	}
	p.last = p.since()
	time.Sleep(pairAfter)
	p.command("stop", nil) // again, as a server with an old state does not know of the first one
	p.wait()
	if p.kind == "numbers" {
		p.checkNumbers()
	}
	return p.check(harm)
}

// check asserts what must hold after each sequence of events; harm: there was a fault. It returns what play does.
func (p *pair) check(harm bool) (missing int64) {
	switch {
	case p.removed > 0:
		p.checkRemoved()
	case p.kind == "seats":
		p.checkSeats(harm, p.last)
		p.checkClosed()
	case p.kind == "closed":
		p.checkClosed()
	case p.forgot:
		p.checkForgot()
	default:
		n := p.audit()
		asked, idle := p.books()
		// With a limiter, slots are granted ahead of time, and a change recalls some of them. After three events within 0.1 s, those
		// of a rate that was in force for a moment may not be granted in time.
		rushed := p.limiter != nil && p.events > 2
		exact := n.Sent+n.Ungranted == asked && (n.Ungranted == 0 || rushed) && n.Sent == n.Completed && n.LateDropped+idle == 0 &&
			n.Beyond == n.Recalled && (n.Beyond == 0 || p.limiter != nil)
		if !harm && !exact {
			p.t.Errorf("%d asked, %d nobody's, %+v", asked, idle, n)
		}
		return asked - (n.Sent - n.Overrun())
	}
	return -1
}

// checkRemoved: each worker has ended, and sends nothing when its lease is over.
func (p *pair) checkRemoved() {
	for _, m := range p.members {
		if m.err != nil && !errors.Is(m.err, pacer.ErrNoState) && !errors.Is(m.err, pacer.ErrReplaced) && m.crashed == 0 {
			p.t.Errorf("%s ended with %v", m.ID, m.err)
		}
	}
	ended := p.removed + time.Duration(p.plan.Hold)*time.Microsecond
	for _, x := range p.sends {
		if time.Duration(x.due) > ended {
			p.t.Fatalf("%s sends at %v, all leases end at %v", x.worker, time.Duration(x.at), ended)
		}
	}
}

// checkClosed: what was sent is counted.
func (p *pair) checkClosed() {
	sent, all := map[*simMember]int64{}, int64(0)
	for _, m := range p.members {
		if m.crashed > 0 {
			return
		}
		m.auditJournal(m.total)
		sent[m] = m.total.Counts.Sent
		all += sent[m]
	}
	if all != int64(len(p.sends)) {
		p.t.Errorf("%d requests were sent, counted are %d", len(p.sends), all)
	}
}

// checkForgot: a server that does not know all cannot say who owned each slot. But no slot is sent twice, and no more are
// decided on than the laws asked for.
func (p *pair) checkForgot() {
	seen := map[int64]bool{}
	for _, x := range p.sends {
		if seen[x.due] && p.limiter == nil && !p.ousted() {
			p.t.Errorf("two requests are due at %v", time.Duration(x.due))
		}
		seen[x.due] = true
	}
	all := record.NewSnapshot("", "")
	for _, m := range p.members {
		if m.crashed > 0 {
			return
		}
		m.auditJournal(m.total)
		all.Merge(m.total)
	}
	n := all.Counts
	if n.Sent != int64(len(p.sends)) {
		p.t.Errorf("%d requests were sent, counted are %d", len(p.sends), n.Sent)
	}
	if p.model == nil || p.deserted { // no worker was left to restore it
		return
	}
	laws := p.model.Laws()
	asked := laws.Ordinal(laws.Pos(p.redis()))
	if accounted := n.Slots() - n.Beyond + n.Deduplicated; accounted > asked && !p.ousted() {
		p.t.Errorf("asked for %d, decided on %d: %+v", asked, accounted, n)
	}
}

// ousted reports whether others have what a worker held that may be alive.
func (s *sim) ousted() bool {
	return slices.ContainsFunc(s.members, func(m *simMember) bool { return m.ousted })
}

// checkNumbers: no number is sent twice.
func (p *pair) checkNumbers() {
	numbers, twice := map[uint64]bool{}, 0
	for _, x := range p.sends {
		if numbers[x.number] {
			twice++
		}
		numbers[x.number] = true
	}
	most := time.Duration(0)
	switch cut := len(p.lossy)+len(p.gone) > 0; {
	case p.ousted() && cut: // it sends until its lease ends, as nothing notifies it of the other process
		most = time.Duration(p.plan.Hold) * time.Microsecond
	case p.forgot && len(p.deaf) > 0: // it had not received a change when the server forgot what it held
		most = faultTime
	case p.ousted(): // when it woke up, it sent what was due in the last --catch-up
		most = DefaultCatchUp
	}
	most = most * pairRate / 4 / time.Second
	if twice > int(most) {
		p.t.Errorf("%d numbers were sent twice, at most %d may be", twice, most)
	}
}
