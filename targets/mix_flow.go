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

// MeanSteps returns the mean number of requests of a slot.
func (m *Mix) MeanSteps() float64 {
	var steps int
	for _, flow := range m.cycle {
		steps += m.places[m.first[flow]].rest + 1
	}
	return float64(steps) / float64(len(m.cycle))
}

// Cycle returns the number of places in the cycle: W.
func (m *Mix) Cycle() uint64 { return uint64(len(m.cycle)) }
