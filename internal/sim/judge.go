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

// windows finds the window of each length in which most was sent above what was asked for, and above the bound
//
//	∫R + 1 + one for each permit stream in it + R · (lateness + 2e), where the Redis clock was stepped, or another server has another one
//
// and one more where there is a permit stream: of n slots that give way to it at least n·f − 1 are yielded. A step comes
// with an e of at most half of H: nobody holds slots farther away.
// R being at least the sum of the permits in force, where the rate was changed, and one more for each change. What was fired after its generation's end, and
// on a permit whose successor was on its way, is left out of the latter: see overruns and early.
func (w *world) windows(s *schedule, all []moment, r *Result) {
	bound := s
	if len(w.plan.Commands) > 0 {
		bound = s.raised(streams(all))
	}
	counted := slices.DeleteFunc(slices.Clone(all), func(x moment) bool { return x.over || x.early > 0 })
	for _, length := range Windows() {
		excess, _ := s.worst(all, length, nil)
		over, at := bound.worst(counted, length, w.allowed)
		r.Excess, r.Over, r.At = append(r.Excess, excess), append(r.Over, over), append(r.At, time.Duration(at))
	}
}

// allowed is one for each change of the rate in [from, to], where it cuts a slot or the permits' streams in two, and what clock errors may
// add at a rate of most slots per ns.
func (w *world) allowed(from, to int64, most float64) (slots float64) {
	for _, o := range w.server.orders {
		if o.t0 <= to && o.t0 >= from-w.server.reach*1000 {
			slots++
		}
	}
	ns := 0.0
	for _, s := range w.plan.steps() {
		if s.By != 0 && int64(s.At) <= to && int64(s.At+time.Second) >= from {
			ns += float64(min(w.server.reach*1000, int64(s.By.Abs())))
		}
	}
	if len(w.plan.Steps) > 0 { // it is counted by when it was sent
		ns += float64(w.plan.Net.worst())
	}
	return slots + most*ns
}

// worst is by how much a window of this length exceeds the integral of the rate and 1, and where that ends. Where allowed is not nil, also
// that and what permit streams may add.
func (s *schedule) worst(times []moment, length time.Duration, allowed func(from, to int64, most float64) float64) (worst float64, where int64) {
	worst = math.Inf(-1)
	open := map[int64]int{} // sends in the window by stream
	first, most := 0, s.most()
	for i, x := range times {
		x.count(open, 1)
		for ; x.at-times[first].at >= int64(length); first++ {
			times[first].count(open, -1)
		}
		from := times[first].at
		asked := min(s.between(from, from+int64(length)), s.between(x.at-int64(length), x.at))
		over := float64(i-first+1) - asked - 1
		if allowed != nil {
			over -= float64(len(open)) + allowed(from, x.at, most)
			if len(open) > 0 {
				over--
			}
		}
		if over > worst {
			worst, where = over, x.at
		}
	}
	return worst, where
}

// count adds n to the number of sends in a window of the stream that x is of.
func (x moment) count(open map[int64]int, n int) {
	if x.phi == 0 {
		return
	}
	key := int64(x.member)<<32 | int64(x.stream)
	if open[key] += n; open[key] == 0 {
		delete(open, key)
	}
}

// early is by how much a permit was fired at most before the server had it begin, because the reply that said so had not arrived.
// Promised is
//
//	0.2·H + 2e
//
// by which the promise moves in one call; 0.4·H + two round trips + 10 ms + 2e where that was the reply of a hand-over.
func (w *world) early(times []moment, r *Result) {
	e := w.plan.Net.worst() / 1000
	for _, x := range times {
		if x.early > 0 {
			r.Early++
			r.EarlyBy = max(r.EarlyBy, time.Duration(x.early)*time.Microsecond)
			r.EarlyOver = max(r.EarlyOver, time.Duration(x.early-x.leeway-e)*time.Microsecond)
		}
	}
}

// overruns is how many slots were fired at most after a change that had ended their generation, above
//
//	R_old · (min(H, time until all had learned of it) + 2e) + 1
func (w *world) overruns(s *schedule, times []moment, r *Result) {
	orders := w.server.orders
	counts := make([]int, len(orders))
	for _, x := range times {
		if !x.over {
			continue
		}
		r.Overrun++
		for i := len(orders) - 1; i >= 0; i-- {
			if orders[i].t0 <= x.at {
				counts[i]++
				break
			}
		}
	}
	for i, o := range orders {
		rate := o.old / 1e9
		for _, before := range orders[:i] { // not learned of either
			if before.t0 > o.t0-w.server.reach*1000 {
				rate = max(rate, before.old/1e9)
			}
		}
		r.OverrunOver = max(r.OverrunOver, float64(counts[i])-1-rate*float64(min(w.server.reach*1000, w.learned(o)-o.t0)+w.plan.Net.worst()))
	}
}

// unheard tells whether a member had at a time not learned of a change that was in force: then leased slots have taken the place of a
// permit that ends.
func (w *world) unheard(member int32, at int64) bool {
	for _, o := range w.server.orders {
		if o.t0 <= at && w.members[member].learned(o) > at {
			return true
		}
	}
	return false
}

// learned is when the last member heard of an order, true ns.
func (w *world) learned(o order) (last int64) {
	last = o.t0
	for _, m := range w.members {
		if len(m.sends) > 0 {
			last = max(last, m.learned(o))
		}
	}
	return last
}

// number tells the streams of each member apart: one ends where a slot of it was not fired, and where the permit's rate changes.
func number(times []moment) {
	last := map[int32]moment{}
	for i, x := range times {
		if x.phi == 0 {
			continue
		}
		y, known := last[x.member]
		times[i].stream = y.stream
		if !known || x.phi != y.phi || float64(x.at-y.at) > 1.5e15/float64(y.phi) {
			times[i].stream++
		}
		last[x.member] = times[i]
	}
}

// streams is by how much the sum of the permits in force changes, and when.
func streams(times []moment) map[int64]float64 {
	last := map[int32]moment{}
	steps := map[int64]float64{0: 0}
	rate := func(x moment) float64 { return float64(x.phi) / 1e15 }
	end := func(x moment) { steps[x.at+int64(1/rate(x))] -= rate(x) }
	for _, x := range times {
		if x.phi == 0 {
			continue
		}
		if y, known := last[x.member]; !known || y.stream != x.stream || y.phi != x.phi {
			if known {
				end(y)
			}
			steps[x.at] += rate(x)
		}
		last[x.member] = x
	}
	for _, x := range last {
		end(x)
	}
	return steps
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
	want := 0.0
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
