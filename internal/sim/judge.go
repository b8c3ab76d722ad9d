package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
)

// Windows are the lengths of the windows in which sends are counted.
func Windows() []time.Duration {
	return []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second}
}

// Result is what came of a simulation.
type Result struct {
	Kind        string
	Of          []string
	Seed        uint64
	Workers     int
	Excess      []float64       // for each of Windows: most sends in one above the integral of the rate and 1
	Over        []float64       // the same above the bound
	At          []time.Duration // where that was
	Duplicates  int             // slots sent twice
	Errors      []string        // of the audit
	Asked       float64         // the integral
	Sent        int
	PermitSent  int
	Overrun     int           // fired after their generation's end
	OverrunOver float64       // of one change, above what is allowed
	Raised      float64       // sent above the bound where everybody had heard of the last change of the rate
	Sluggish    time.Duration // after H, how long a command was not in force
	Early       int           // fired on a permit whose successor, which begins later, was in a reply that did not arrive
	EarlyBy     time.Duration // by how much at most
	EarlyOver   time.Duration // above what is allowed
	Audit       report.Audit
	Faulty      []float64 // sent of asked in each second that a fault touches
	Healthy     []float64 // and in each that none does
	Share       float64   // sent of asked in all healthy seconds
	Floor       float64   // how much of what was asked for is promised for each second
	Least       float64   // how much is for all healthy seconds
	Hash        uint64    // of all sends
}

// judge looks at everything after the end.
func (w *world) judge() Result {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.server.closeEpoch()
	s := newSchedule(w.epoch, w.server.epochs)
	r := Result{Kind: w.plan.Kind, Of: w.plan.Of, Seed: w.plan.Seed, Workers: len(w.members), Share: 1, Floor: w.plan.Floor, Least: w.plan.Least, Asked: s.before(math.MaxInt64)}
	var sends []send
	for _, m := range w.members {
		m.mu.Lock()
		sends = append(sends, m.sends...)
		m.mu.Unlock()
	}
	r.Sent = len(sends)
	slices.SortFunc(sends, func(a, b send) int {
		if d := a.at - b.at; d != 0 {
			return int(d)
		}
		return int(a.member - b.member)
	})
	r.fingerprint(sends)
	r.duplicates(sends)
	times := w.times(s, sends, &r)
	if w.plan.Trace != nil {
		for _, x := range times {
			w.plan.Trace(time.Duration(x.at), w.members[x.member].name, fmt.Sprintf("due phi %d stream %d early %v overrun %v", x.phi, x.stream, x.early, x.over))
		}
	}
	w.windows(s, times, &r)
	w.early(times, &r)
	w.overruns(s, times, &r)
	w.obeyed(s, times, &r)
	w.seconds(s, times, &r)
	w.audit(&r)
	return r
}

func (r *Result) fingerprint(sends []send) {
	h := fnv.New64a()
	for _, x := range sends {
		_ = binary.Write(h, binary.LittleEndian, []int64{x.at, x.due, x.gen, x.slot, int64(x.member)}) // a hash does not fail
	}
	r.Hash = h.Sum64()
}

func (r *Result) duplicates(sends []send) {
	seen := make(map[[2]int64]bool, len(sends))
	for _, x := range sends {
		key := [2]int64{x.gen, x.slot}
		if x.phi > 0 {
			r.PermitSent++
		} else if seen[key] {
			r.Duplicates++
		}
		seen[key] = x.phi == 0
	}
}

// A moment is a send as the bound sees it.
type moment struct {
	at     int64 // when it was due, true ns; where the Redis clock was stepped, when it was sent
	member int32
	phi    int64
	stream int32 // of its permit: another number after each gap
	over   bool  // its generation had ended
	early  int64 // as in send
	leeway int64 // as in send
}

// times are the sends in order of time.
func (w *world) times(s *schedule, sends []send, r *Result) []moment {
	out := make([]moment, len(sends))
	for i, x := range sends {
		due := x.due - w.epoch - x.skew
		if g, known := s.gens[x.gen]; known && x.phi == 0 {
			due = x.due - w.epoch - g.skew
		}
		m := moment{at: due, member: x.member, phi: x.phi, over: x.phi == 0 && s.overrun(x, due) || x.ending && w.unheard(x.member, due), early: x.early, leeway: x.leeway}
		if len(w.plan.Steps) > 0 {
			m.at = x.at
		}
		out[i] = m
	}
	slices.SortFunc(out, func(a, b moment) int {
		if d := a.at - b.at; d != 0 {
			return int(d)
		}
		return int(a.member - b.member)
	})
	number(out)
	return out
}

// seconds compares what was sent in each second with what was asked for in it.
func (w *world) seconds(s *schedule, times []moment, r *Result) {
	if len(s.pieces) == 0 {
		return
	}
	var sent, asked float64
	next := 0
	for from := s.pieces[0].from; from+int64(time.Second) <= s.pieces[len(s.pieces)-1].to; from += int64(time.Second) {
		to := from + int64(time.Second)
		for next < len(times) && times[next].at < from {
			next++
		}
		n := 0
		for ; next < len(times) && times[next].at < to; next++ {
			n++
		}
		want := s.between(from, to)
		if want < 20 {
			continue
		}
		if slices.ContainsFunc(w.plan.Faults, func(f Span) bool { return int64(f.From) < to && int64(f.To) > from }) {
			r.Faulty = append(r.Faulty, float64(n)/want)
			continue
		}
		r.Healthy = append(r.Healthy, float64(n)/want)
		sent, asked = sent+float64(n), asked+want
	}
	if asked > 0 {
		r.Share = sent / asked
	}
}

// audit adds everything up as a report does, and compares it with what was really sent.
func (w *world) audit(r *Result) {
	b := w.server.budget
	in := report.Input{Budget: report.Budget{Issued: b.Issued, Skipped: b.Skipped}}
	wrong := func(format string, a ...any) { r.Errors = append(r.Errors, fmt.Sprintf(format, a...)) }
	for _, m := range w.members {
		known := b.Members[m.name]
		if known == nil || known.Incarnation != m.incarnation {
			known = b.Members[m.name+"/"+m.incarnation]
		}
		if known == nil {
			if m.told != (report.Counts{}) {
				wrong("%s/%s: the server does not know it", m.name, m.incarnation)
			}
			continue
		}
		total := report.NewSnapshot(m.name, m.incarnation)
		total.Counts = m.told
		total.Counts.Completed = m.told.Sent
		in.Workers = append(in.Workers, report.WorkerInput{ID: m.name, Leased: known.Leased, Beyond: known.Beyond, Gone: true, Total: total})
		accounted := m.told.Sent - m.told.PermitSent + m.told.LateDropped + m.told.Yielded + m.told.Recalled
		switch fired := int64(len(m.sends)); {
		case m.dead == 0 && fired != m.told.Sent:
			wrong("%s/%s: fired %d, told %d", m.name, m.incarnation, fired, m.told.Sent)
		case accounted > known.Leased:
			wrong("%s/%s: leased %d, accounted for %d", m.name, m.incarnation, known.Leased, accounted)
		case m.dead == 0 && m.err == nil:
			wrong("%s/%s: ended without a reason", m.name, m.incarnation)
		}
	}
	r.Audit = report.Build(in).Audit
	if err := r.Audit.Check(); err != nil {
		wrong("%v", err)
	}
	want := float64(w.server.past)
	for _, g := range b.Laws {
		ends := g.Ends
		if ends >= pacer.Endless {
			ends = b.Ended
		}
		want += float64(min(g.Cut, g.Before(ends)))
	}
	if d := float64(r.Audit.Asked) - want; d < -2 || d > 2 {
		wrong("asked %d, the integral of the rate is %.1f", r.Audit.Asked, want)
	}
}
