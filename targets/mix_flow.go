package targets

// A place in a flow is what Mix knows of a step.
type place struct {
	at, after int64 // ns
	waits     bool  // after counts, and not at
	rest      int   // steps of the flow after this one
}

// newPlaces returns the places of all steps, those of the first flow first.
func newPlaces(flows []Flow) (all []place) {
	for _, f := range flows {
		for i, step := range f.Steps {
			p := place{at: int64(step.At), rest: len(f.Steps) - 1 - i}
			if step.After != nil {
				p.after, p.waits = int64(*step.After), true
			}
			all = append(all, p)
		}
	}
	return all
}

// Walks reports whether a flow has several steps.
func (m *Mix) Walks() bool { return m.walks }

// Steps returns the number of steps of all flows.
func (m *Mix) Steps() int { return len(m.places) }

// Rest returns how many steps of its flow come after a step. They have the next indexes.
func (m *Mix) Rest(step int) int { return m.places[step].rest }

// Due returns when a step is due that is not the first of its flow: start is when the flow's slot was due, and answered
// when the answer before it ended, both ns of the same clock.
func (m *Mix) Due(step int, start, answered int64) int64 {
	if p := &m.places[step]; p.waits {
		return answered + p.after
	}
	return start + m.places[step].at
}

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

// MeanSteps returns the mean number of requests of a slot.
func (m *Mix) MeanSteps() float64 {
	return float64(m.Requests(int64(len(m.cycle)))) / float64(len(m.cycle))
}

// Requests returns how many requests the first n slots of the cycle send if no step fails.
func (m *Mix) Requests(n int64) (requests int64) {
	whole, rest := n/int64(len(m.cycle)), n%int64(len(m.cycle))
	for i, flow := range m.cycle {
		steps := int64(m.places[m.first[flow]].rest + 1)
		if requests += whole * steps; int64(i) < rest {
			requests += steps
		}
	}
	return requests
}

// Slots returns how many whole flows of the cycle send at most so many requests.
func (m *Mix) Slots(requests int64) int64 {
	w := int64(len(m.cycle))
	n := requests / m.Requests(w) * w
	for left := requests - m.Requests(n); ; n++ {
		if left -= int64(m.places[m.first[m.cycle[n%w]]].rest + 1); left < 0 {
			return n
		}
	}
}

// Cycle returns the number of places in the cycle: W.
func (m *Mix) Cycle() uint64 { return uint64(len(m.cycle)) }
