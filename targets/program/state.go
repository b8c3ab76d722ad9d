package program

import (
	"errors"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/targets/formula"
)

// mask is a set of steps.
type mask [2]uint64

// steps returns those from one to before another one.
func steps(from, to int) (m mask) {
	for i := from; i < to; i++ {
		m.add(i)
	}
	return m
}

func (m *mask) add(i int)      { m[i>>6] |= 1 << (i & 63) }
func (m *mask) has(i int) bool { return m[i>>6]>>(i&63)&1 == 1 }
func (m *mask) join(o mask)    { m[0], m[1] = m[0]|o[0], m[1]|o[1] }

// State is how far a flow has come. The zero value has not begun. One goroutine uses it at a time.
type State struct {
	at       int // of the next instruction
	sends    int
	loops    [MaxDepth]loop
	depth    int  // loops around
	seen     mask // the steps that it came to
	bypassed mask // the steps that some branch left out
}

// loop is a loop around.
type loop struct {
	count int
	items []string // of for_each
}

// Memory keeps the values of a flow.
type Memory interface {
	Taken() []string          // by index
	Keep(i int, value string) // under an index
}

// A Turn is what a flow does next.
type Turn struct {
	Step  int           // −1 = the flow has come to its end
	Again bool          // it came to this step before
	Pause time.Duration // before the step
}

// The reasons why a flow fails, besides those of fail and of formulas.
var (
	ErrSends = errors.New("more than 1000 steps")
	ErrTurns = errors.New("more than 1000 turns without a step")
	ErrValue = errors.New("value of more than 16 KiB")
	ErrList  = errors.New("not a list")
	ErrItems = errors.New("more than 1000 items")
)

// Begin goes to the first step of a flow, which is sent at its slot.
func (p *Program) Begin(s *State) {
	*s = State{}
	_, _ = p.Next(s, nil, nil) // Compile has seen that it needs no value
}

// Next goes on to the next step, after the answer to the last one. v has all variables but Taken and Loop. An error says
// why the flow has failed.
func (p *Program) Next(s *State, m Memory, v *formula.Values) (Turn, error) {
	turn := Turn{Step: -1}
	for range MaxTurns {
		if s.at == len(p.code) {
			return turn, nil
		}
		i := &p.code[s.at]
		s.at++
		switch i.op {
		case send:
			if s.sends++; s.sends > MaxSends {
				return turn, ErrSends
			}
			turn.Step, turn.Again = i.step, s.seen.has(i.step)
			s.seen.add(i.step)
			return turn, nil
		case wait:
			turn.Pause = min(turn.Pause+i.pause.Draw(), MaxPause)
		case fail:
			return turn, i.reason
		default:
			if err := s.run(i, m, v); err != nil {
				return turn, err
			}
		}
	}
	return turn, ErrTurns
}

// run runs an instruction that computes or jumps.
func (s *State) run(i *instruction, m Memory, v *formula.Values) (err error) {
	holds := true
	if i.when != nil {
		v.Taken, v.Loop = m.Taken(), 0
		if s.depth > 0 {
			v.Loop = s.loops[s.depth-1].count
		}
		if i.op == set {
			return s.set(i, m, v)
		}
		if holds, err = i.when.Truth(v); err != nil {
			return err
		}
	}
	switch i.op {
	case unless:
		if holds {
			s.bypassed.join(i.otherwise)
			return nil
		}
		s.bypassed.join(i.bypassed)
		s.at = i.to
	case jump:
		s.at = i.to
	case enter:
		l := &s.loops[s.depth]
		l.count, l.items = 0, l.items[:0]
		s.depth++
		if i.list >= 0 {
			l.items, err = items(l.items, m.Taken()[i.list])
		}
	case test:
		s.test(i, m, holds)
	case again:
		s.loops[s.depth-1].count++
		s.at = i.to
	}
	return err
}

// test begins a turn of a loop, or leaves it.
func (s *State) test(i *instruction, m Memory, holds bool) {
	l := &s.loops[s.depth-1]
	switch {
	case i.name >= 0:
		if holds = l.count < len(l.items); holds {
			m.Keep(i.name, l.items[l.count])
		}
	case i.count > 0:
		holds = l.count < i.count
	}
	if !holds {
		s.depth--
		s.bypassed.join(i.bypassed)
		s.at = i.to
	}
}

// set computes a value and keeps it.
func (s *State) set(i *instruction, m Memory, v *formula.Values) error {
	text, err := i.when.Value(v)
	switch {
	case err != nil:
		return err
	case len(text) > MaxValue:
		return ErrValue
	}
	m.Keep(i.name, text)
	return nil
}

// items appends the items of an array of JSON to a list: texts as they are, others as they are written.
func items(list []string, text string) ([]string, error) {
	array := gjson.Parse(text)
	if !gjson.Valid(text) || !array.IsArray() {
		return list, ErrList
	}
	array.ForEach(func(_, item gjson.Result) bool {
		list = append(list, item.String())
		return len(list) <= MaxItems
	})
	if len(list) > MaxItems {
		return list, ErrItems
	}
	return list, nil
}

// Fate is what became of a step in a flow.
type Fate int

// What becomes of a step.
const (
	Missed   Fate = iota // the flow did not come to it
	Bypassed             // a condition left it out
	Reached              // the flow came to it
)

// Fate returns what became of a step.
func (s *State) Fate(step int) Fate {
	switch {
	case s.seen.has(step):
		return Reached
	case s.bypassed.has(step):
		return Bypassed
	}
	return Missed
}
