package targets

import (
	"github.com/loadctl/loadctl/targets/formula"
	"github.com/loadctl/loadctl/targets/program"
)

// A Course says in which order a flow sends its steps, by conditions and loops over what it knows. It never changes, so any
// number of goroutines may use it.
type Course struct {
	*program.Program
	cells []func(number uint64) string // of the columns that expressions use
}

// setCourses compiles the bodies of the flows.
func (m *Mix) setCourses(s Spec, tables Tables) {
	for i, f := range s.Flows {
		p, err := f.Program()
		if p == nil || err != nil { // the flows are valid
			continue
		}
		c := &Course{Program: p}
		one := s
		one.mix = m
		for _, name := range p.Columns {
			cell, err := one.column(tables, name, false)
			if err != nil {
				cell = func(uint64) string { return ExampleCell }
			}
			c.cells = append(c.cells, cell)
		}
		for step := m.first[i]; step <= m.first[i]+m.Rest(m.first[i]); step++ {
			m.places[step].course = c
		}
	}
}

// Start begins the flow of a session, with its first step.
func (c *Course) Start(s *Session) {
	if s.State == nil {
		s.State = new(program.State)
	}
	c.Begin(s.State)
}

// After returns what the flow sends after an answer that was as expected. Its Step is an index in the flow. If the flow fails,
// class is the class of that: "flow" and the reason.
func (c *Course) After(call Call, status int, answered int64) (turn program.Turn, class string) {
	v := formula.Values{Status: status, Ordinal: call.Number, Elapsed: answered - call.Session.Start,
		Cell: func(column int) string { return c.cells[column](call.Row()) }}
	turn, err := c.Next(call.Session.State, call.Session, &v)
	if err != nil {
		return turn, ClassFlow + " " + err.Error()
	}
	return turn, ""
}
