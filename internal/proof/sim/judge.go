package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// Result is the outcome of a simulation.
type Result struct {
	Twice        int // slots sent twice
	Contested    int // slots decided twice, by two workers or by one
	Asked        int64
	Idle         int64 // those of Asked that were nobody's
	Sent         int64
	Late         int64   // dropped as late
	Overrun      int64   // sent beyond the cut of their law
	Deduplicated int64   // part of Sent: an overrun slot with the same ordinal counts as one of them
	Repeated     int64   // ordinals sent by two workers: a worker that had not received a cut sent one of them
	Twofold      int64   // ordinals sent twice by one worker
	Worst        float64 // part of what was asked for that was sent in the worst second
	WorstAt      time.Duration
	Floor        float64 // the promised part
	Errors       []string
}

// Check returns an error that says which promises were broken; nil if none was.
func (r Result) Check() error {
	var problems []error
	if r.Twice > 0 {
		problems = append(problems, fmt.Errorf("%d slots sent twice", r.Twice))
	}
	if r.Twofold > 0 {
		problems = append(problems, fmt.Errorf("%d ordinals sent twice by one worker", r.Twofold))
	}
	if r.Contested > 0 {
		problems = append(problems, fmt.Errorf("%d slots decided twice", r.Contested))
	}
	for _, e := range r.Errors {
		problems = append(problems, errors.New(e))
	}
	if r.Worst < r.Floor {
		problems = append(problems, fmt.Errorf("%.1f %% sent in the second at %v, %.1f %% is promised", 100*r.Worst, r.WorstAt, 100*r.Floor))
	}
	return errors.Join(problems...)
}

// A mark counts what happened to a slot.
type mark struct {
	decided, sent uint8
}

func (w *world) judge() Result {
	r := Result{Worst: 1, Floor: w.floor()}
	if w.server.bad != nil {
		r.Errors = append(r.Errors, "the state: "+w.server.bad.Error())
	}
	marks := map[int64][]mark{}
	for _, x := range w.sends {
		for int64(len(marks[x.law])) <= x.k {
			marks[x.law] = append(marks[x.law], make([]mark, 1+len(marks[x.law]))...)
		}
		m := &marks[x.law][x.k]
		if m.decided++; m.decided == 2 {
			r.Contested++
			if w.Trace != nil {
				w.traceSlot(x.law, x.k)
			}
		}
		if !x.late && !x.again {
			if m.sent++; m.sent == 2 {
				r.Twice++
			}
		}
	}
	w.ordinals(&r)
	w.checkRights(&r)
	if w.server.run == nil || len(w.server.run.Laws().All()) == 0 {
		return r
	}
	w.count(&r)
	return r
}

// ordinals counts those that were sent more than once.
func (w *world) ordinals(r *Result) {
	senders := map[int64]int32{}
	for _, x := range w.sends {
		if x.late || x.again {
			continue
		}
		switch before, sent := senders[x.ordinal]; {
		case !sent:
			senders[x.ordinal] = x.node
		case before == x.node:
			r.Twofold++
			if w.Trace != nil {
				w.traceOrdinal(x.ordinal)
			}
		default:
			r.Repeated++
		}
	}
}

// count compares what was sent with what was asked for, and with the audit.
func (w *world) count(r *Result) {
	laws := w.server.run.Laws()
	now := max(w.server.redis(), w.server.run.Now()) // the clock may have gone back after the last call
	a := w.server.run.Audit(now)
	r.Asked, r.Idle = a.Asked, a.Idle
	asked, sent := map[int64]float64{}, map[int64]float64{}
	cuts := map[int64]int64{}
	for i := range laws.All() {
		l := &laws.All()[i]
		cuts[l.ID] = laws.Cut(i)
		for k := range laws.Cut(i) {
			due := l.Due(k)
			if due/1000 >= now {
				break
			}
			asked[(due-zero-w.server.skews[l.ID])/int64(time.Second)]++
		}
	}
	decided := map[string]int64{}
	for _, x := range w.sends {
		switch {
		case x.law < laws.All()[0].ID: // asked for before the run was lost; a worker that restores it knows some seconds
			continue
		case x.k >= cuts[x.law]:
			if !x.again {
				r.Overrun++
			}
			continue
		case x.late && !x.again:
			r.Late++
		default:
			if x.again {
				r.Deduplicated++
			}
			r.Sent++
			sent[(x.due-zero-w.server.skews[x.law])/int64(time.Second)]++
		}
		m := w.nodes[x.node]
		decided[m.Name+"/"+m.Incarnation]++
	}
	seconds := make([]int64, 0, len(asked))
	for s := range asked {
		seconds = append(seconds, s)
	}
	slices.Sort(seconds)
	for i, s := range seconds {
		if share := sent[s] / asked[s]; i > 0 && i < len(seconds)-1 && asked[s] >= 100 && share < r.Worst {
			r.Worst, r.WorstAt = share, time.Duration(s)*time.Second
		}
	}
	w.audit(r, a, decided)
}

// audit compares the server's sums with what was decided.
func (w *world) audit(r *Result, a model.Audit, decided map[string]int64) {
	sum := a.Idle
	for _, n := range a.Owned {
		sum += n
	}
	if sum != a.Asked {
		r.Errors = append(r.Errors, fmt.Sprintf("asked %d, owned and idle %d", a.Asked, sum))
	}
	forgetful := len(w.Failover) > 0 || w.Lost > 0
	for name, n := range decided {
		if !forgetful && n > a.Owned[name] {
			r.Errors = append(r.Errors, fmt.Sprintf("%s owned %d and decided on %d", name, a.Owned[name], n))
		}
	}
	w.checkLeases(r, a.Until)
	if w.Kind == "healthy" && r.Sent != a.Asked {
		r.Errors = append(r.Errors, fmt.Sprintf("asked %d, sent %d, late %d, idle %d", a.Asked, r.Sent, r.Late, r.Idle))
	}
	if w.Requests > 0 && r.Sent > w.Requests {
		r.Errors = append(r.Errors, fmt.Sprintf("%d requests sent, %d at most", r.Sent, w.Requests))
	}
}

// checkLeases checks that nobody owned a slot that was due after its last lease. It needs one server with one
// clock.
func (w *world) checkLeases(r *Result, until map[string]int64) {
	if len(w.Failover) > 0 || w.Lost > 0 || len(w.Steps) > 0 {
		return
	}
	laws := w.server.run.Laws()
	for name, q := range until {
		if most := laws.Ordinal(laws.Pos(w.server.called[name] + w.Options.PermitFor)); name != "" && q > most {
			r.Errors = append(r.Errors, fmt.Sprintf("%s owned slots up to ordinal %d, its last lease was up to %d", name, q, most))
		}
	}
}

// floor returns the promised part of each second: 99 %, if nobody is out of reach for longer than its lease.
func (w *world) floor() float64 {
	var spans []Span
	hold := time.Duration(w.Options.PermitFor) * time.Microsecond
	switch w.Kind {
	case "healthy":
	case "outage":
		spans = w.Down
	case "failover": // the new server believes leases of one second and more
		spans = w.Down
		hold -= time.Second
	case "freeze":
		spans = w.Frozen
	case "cut-replies", "cut-calls":
		for _, m := range w.Members {
			spans = append(spans, append(slices.Clone(m.CutCalls), m.CutBack...)...)
		}
	default:
		return 0
	}
	slices.SortFunc(spans, func(a, b Span) int { return int(a.From - b.From) })
	var from, to time.Duration
	for _, s := range spans {
		if s.From > to+3*time.Second {
			from = s.From
		}
		to = max(to, s.To)
		if to-from > hold-1500*time.Millisecond {
			return 0
		}
	}
	return 0.99
}

// traceSlot traces who decided on a slot.
func (w *world) traceSlot(law, k int64) {
	for _, x := range w.sends {
		if x.law == law && x.k == k {
			m := w.nodes[x.node]
			w.trace("judge", "law %d slot %d: %s/%s at %v, late %v", law, k, m.Name, m.Incarnation, time.Duration(x.at), x.late)
		}
	}
}

// traceOrdinal traces who sent an ordinal.
func (w *world) traceOrdinal(q int64) {
	for _, x := range w.sends {
		if x.ordinal == q {
			m := w.nodes[x.node]
			w.trace("judge", "ordinal %d: law %d slot %d: %s/%s at %v, late %v, again %v", q, x.law, x.k, m.Name, m.Incarnation, time.Duration(x.at), x.late, x.again)
		}
	}
}
