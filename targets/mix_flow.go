package targets

import "github.com/loadctl/loadctl/targets/program"

// A place in a flow is what Mix knows of a step.
type place struct {
	at, after int64         // ns
	waits     bool          // after counts, and not at
	pause     program.Pause // that is drawn, instead of after
	rest      int           // steps of the flow after this one
	index     int           // in the flow
	most      int64         // requests of the flow
	course    *Course       // nil = the steps of the flow follow each other
}

// newPlaces returns the places of all steps, those of the first flow first.
func newPlaces(flows []Flow) (all []place) {
	for _, f := range flows {
		for i, step := range f.Steps {
			p := place{at: int64(step.At), rest: len(f.Steps) - 1 - i, index: i, most: f.requests()}
			if step.After != nil {
				p.after, p.waits = int64(*step.After), true
			}
			if step.Pause != "" {
				p.pause, _ = program.ParsePause(step.Pause) // the flow is valid
			}
			all = append(all, p)
		}
	}
	return all
}

// Walks reports whether a flow may have several requests.
func (m *Mix) Walks() bool { return m.walks }

// SlotEach reports whether each request has a slot, also the later steps of flows. Then not every slot begins a flow, and
// the number that decides which flow begins is not that of the slot.
func (m *Mix) SlotEach() bool { return m.each }

// Steps returns the number of steps of all flows.
func (m *Mix) Steps() int { return len(m.places) }

// Index returns the index of a step in its flow.
func (m *Mix) Index(step int) int { return m.places[step].index }

// Course returns in which order the flow of a step sends its steps; nil = one after the other.
func (m *Mix) Course(step int) *Course { return m.places[step].course }

// Rest returns how many steps of its flow come after a step. They have the next indexes.
func (m *Mix) Rest(step int) int { return m.places[step].rest }

// Due returns when a step is due that is not the first of its flow: start is when the flow's slot was due, and answered
// when the answer before it ended, both ns of the same clock.
func (m *Mix) Due(step int, start, answered int64) int64 {
	switch p := &m.places[step]; {
	case !m.FromAnswer(step):
		return start + p.at
	case p.pause.Mean > 0:
		return answered + int64(p.pause.Draw())
	default:
		return answered + p.after
	}
}

// FromAnswer reports whether a step is due some time after the answer before it. The first one is, if a loop comes to it again.
func (m *Mix) FromAnswer(step int) bool { return m.places[step].waits || m.places[step].index == 0 }

// Ahead returns the steps of the first n requests, if each flow sends its steps one after the other: connections that
// are opened ahead go to their hosts.
func (m *Mix) Ahead(n int) []int {
	all := make([]int, 0, n)
	for slot := uint64(0); len(all) < n; slot++ {
		first := m.Step(slot)
		for step := first; step <= first+m.Rest(first) && len(all) < n; step++ {
			all = append(all, step)
		}
	}
	return all
}

// mostWalked is the number of slots whose requests are counted one by one, if flows come at random. It takes some ms.
const mostWalked = 1 << 20

// MeanSteps returns the mean number of requests of a slot, as Spec.MeanSteps counts them.
func (m *Mix) MeanSteps() float64 {
	if m.each {
		return 1
	}
	return float64(m.inCycle(int64(len(m.cycle)))) / float64(len(m.cycle))
}

// length returns the number of requests of a flow, at most.
func (m *Mix) length(flow uint16) int64 { return m.places[m.first[flow]].most }

// Requests returns how many requests the first n slots send at most. At random, slots after the first mostWalked
// count with the mean.
func (m *Mix) Requests(n int64) (requests int64) {
	switch {
	case m.each:
		return n
	case m.random == nil:
		return m.inCycle(n)
	}
	walked := min(n, mostWalked)
	for number := range uint64(walked) {
		requests += m.length(m.Flow(number))
	}
	return requests + m.inCycle(n-walked)
}

// inCycle returns how many requests n slots have whose flows come in the cycle.
func (m *Mix) inCycle(n int64) (requests int64) {
	whole, rest := n/int64(len(m.cycle)), n%int64(len(m.cycle))
	for i, flow := range m.cycle {
		steps := m.length(flow)
		if requests += whole * steps; int64(i) < rest {
			requests += steps
		}
	}
	return requests
}

// Slots returns how many whole flows send at most so many requests, as Requests counts.
func (m *Mix) Slots(requests int64) (n int64) {
	if m.each {
		return requests
	}
	if m.random != nil {
		for ; n < mostWalked; n++ {
			if requests -= m.length(m.Flow(uint64(n))); requests < 0 {
				return n
			}
		}
	}
	w := int64(len(m.cycle))
	each := m.inCycle(w)
	n += requests / each * w
	requests %= each
	for _, flow := range m.cycle {
		if requests -= m.length(flow); requests < 0 {
			break
		}
		n++
	}
	return n
}

// Cycle returns the number of places in the cycle: W.
func (m *Mix) Cycle() uint64 { return uint64(len(m.cycle)) }
