package targets

import "github.com/loadctl/loadctl/targets/program"

// A Call says which request a Target performs. The zero value is the first request of a run of one request.
type Call struct {
	Number  uint64   // ordinal of the slot that started the flow; it fills placeholders, but for Row
	Step    int      // index of the step in the workload, as Mix.Step gives it; 0 without flows
	Session *Session // what the flow has taken so far, and its cookies; nil = nothing, and nothing is kept
}

// A Session is what a flow keeps from step to step. One request uses it at a time.
type Session struct {
	Start  int64 // when the flow's slot was due; for its owner alone
	Turn   int64 // when the next step had been due if all answers had come at once; the same
	values []string
	jar    *Jar           // nil = no request had to do with cookies
	State  *program.State // how far a flow with a Course has come

	row     uint64
	numbers bool // row counts, and not the number of the call
}

// Row returns the number by which the request gets the rows of data files.
func (c Call) Row() uint64 {
	if c.Session != nil && c.Session.numbers {
		return c.Session.row
	}
	return c.Number
}

// SetRow makes Row return n for the calls of the flow, instead of their number.
func (s *Session) SetRow(n uint64) { s.row, s.numbers = n, true }

// Reset forgets what was taken, and the cookies.
func (s *Session) Reset() {
	clear(s.values)
	*s = Session{values: s.values[:0], State: s.State}
}

// Keep keeps a value under an index.
func (s *Session) Keep(i int, value string) {
	for len(s.values) <= i {
		s.values = append(s.values, "")
	}
	s.values[i] = value
}

// Taken returns the values; nil for a nil Session.
func (s *Session) Taken() []string {
	if s == nil {
		return nil
	}
	return s.values
}
