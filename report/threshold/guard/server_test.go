package guard_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
	"github.com/loadctl/loadctl/report/threshold/guard"
)

// A server answers one request after the other, each in the same time (M/D/1). It refuses requests when its line is full. A
// request that waits for too long has failed for its client, and is served anyway.
type server struct {
	capacity float64 // requests/s
	line     float64 // s, the wait behind a full line
	timeout  float64 // s
	free     float64 // when it has served all that came, s
}

// answer returns when a request that comes at a time ends for its client, and whether it failed.
func (s *server) answer(at float64) (end float64, failed bool) {
	wait := max(0, s.free-at)
	if wait > s.line {
		return at, true
	}
	s.free = max(s.free, at) + 1/s.capacity
	if s.free-at > s.timeout {
		return at + s.timeout, true
	}
	return s.free, false
}

// A play is a run with guards at a server, in virtual time.
type play struct {
	seed     uint64
	guards   []string
	asked    float64 // requests/s
	server   server
	doubles  float64       // when the capacity doubles, s; 0 = never
	reaction time.Duration // that guards know of
	lost     float64       // share of orders that are lost
	replaced float64       // judges replaced per second
	length   int64         // s
	broken   string        // a rule that is left out; "" = none
}

// A change is a factor from a time on.
type change struct {
	at     float64
	factor int64
	second int64 // that decided it
}

// A result is what became of a play.
type result struct {
	changes []change
	points  []record.Point
}

// A world is a play that goes on.
type world struct {
	play
	r      *rand.Rand
	all    []threshold.Threshold
	result result
	judges []*guard.Guards
	judged int64
}

// run plays.
func (p play) run() result {
	w := &world{play: p, r: rand.New(rand.NewPCG(p.seed, 46)), result: result{changes: []change{{0, guard.One, 0}}}}
	for _, text := range p.guards {
		t, err := threshold.Parse(text)
		if err != nil {
			panic(err)
		}
		w.all = append(w.all, t)
	}
	for second := range p.length + 20 {
		w.result.points = append(w.result.points, *record.NewPoint(second, 1))
	}
	for now := range p.length {
		if p.doubles > 0 && now == int64(p.doubles) {
			w.server.capacity *= 2
		}
		w.look(now)
		w.send(float64(now), float64(now+1))
	}
	w.result.points = w.result.points[:p.length]
	return w.result
}

// send sends what is due in [from, to), at random times.
func (w *world) send(from, to float64) {
	at := from
	for {
		rate := w.asked * float64(w.factor(at)) / guard.One
		next := at + w.r.ExpFloat64()/rate
		if change := w.result.changes[len(w.result.changes)-1].at; at < change && next >= change {
			at = change // the gaps have no memory
			continue
		}
		if at = next; at >= to {
			return
		}
		end, failed := w.server.answer(at)
		w.result.points[int64(at)].Sent++
		p := &w.result.points[min(int64(end), int64(len(w.result.points)-1))]
		p.Latency.Record(int64((end - at) * 1e9))
		if failed {
			p.Failed++
		} else {
			p.Completed++
		}
	}
}

// factor returns the factor in force at a time.
func (w *world) factor(at float64) int64 {
	changes := w.result.changes
	i := len(changes) - 1
	for changes[i].at > at {
		i--
	}
	return changes[i].factor
}

// asks returns what is asked for in [from, to), in µs.
func (w *world) asks(from, to int64) int64 {
	sum, end := 0.0, float64(to)/1e6
	for _, c := range slices.Backward(w.result.changes) {
		if begin := max(c.at, float64(from)/1e6); begin < end {
			sum += (end - begin) * w.asked * float64(c.factor) / guard.One
			end = begin
		}
	}
	return int64(math.Round(sum))
}

// look is the judge's: it judges seconds that all workers have published, and orders a step.
func (w *world) look(now int64) {
	reaction := w.reaction
	if w.broken == "reaction" {
		reaction = 0
	}
	if w.judges == nil || w.r.Float64() < w.replaced {
		w.judged, w.judges = max(0, now-8), nil
		if w.broken == "all hold" { // each guard knows of no other
			for _, t := range w.all {
				w.judges = append(w.judges, guard.New([]threshold.Threshold{t}, reaction))
			}
		} else {
			w.judges = append(w.judges, guard.New(w.all, reaction))
		}
	}
	last := w.result.changes[len(w.result.changes)-1]
	state := guard.State{Factor: last.factor, Since: time.Duration(last.at * 1e9), Peak: w.asked}
	if w.broken == "settled" {
		state.Since = 0
	}
	for end := now - 1 - w.r.Int64N(3); w.judged < end; {
		w.judged++
		for _, judge := range w.judges {
			step, ok := judge.Next(state, w.verdicts(judge.Conditions()))
			if !ok {
				continue
			}
			if w.r.Float64() >= w.lost {
				w.result.changes = append(w.result.changes, change{float64(now) + 0.05, step.To, step.Second})
				if w.broken == "memory" {
					w.judges = nil
				}
			}
			return
		}
	}
}

// verdicts judges the windows that end with the second that is judged, and those before that a new judge needs.
func (w *world) verdicts(all []threshold.Threshold) (verdicts [][]threshold.Verdict) {
	for _, t := range all {
		from := max(0, w.judged-t.Span(1))
		s := threshold.Stretch{End: w.judged, Width: 1, Points: w.result.points[from:w.judged], Asked: w.asks}
		verdicts = append(verdicts, t.Verdicts(s, t.Reduce.After))
	}
	return verdicts
}
