package try

import (
	"bytes"
	"fmt"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// A Stream is the time course of an answer that came in pieces. Times are ns from when the request began.
type Stream struct {
	Events  int64   `json:"events"`
	First   int64   `json:"first_event_ns"`   // 0 = none came
	Last    int64   `json:"last_event_ns"`    // the same
	Gap     int64   `json:"mean_gap_ns"`      // between two events, 0 with fewer than two
	Longest int64   `json:"longest_gap_ns"`   // the same
	Tokens  *Tokens `json:"tokens,omitempty"` // of language models
}

// Tokens are those of a language model.
type Tokens struct {
	In    int64 `json:"in,omitempty"` // of the request; absent if the answer does not say
	Out   int64 `json:"out"`
	Usage bool  `json:"usage"` // the answer has a usage that says so; else each event is a token
}

// A Goal is one that an answer has to meet to count as good.
type Goal struct {
	Goal string `json:"goal"`
	Met  bool   `json:"met"`
}

// stream notes the time course of an answer, and which goals it meets.
func (r *Request) stream(result targets.Result, options events.Options) error {
	e := result.Events
	if e != nil {
		r.Stream = &Stream{Events: e.Count, Longest: e.Longest}
		if e.Count > 0 {
			r.Stream.First, r.Stream.Last = e.First-result.Sent, e.Last-result.Sent
		}
		if n := e.Gaps(); n > 0 {
			r.Stream.Gap = (e.Last - e.First) / n
		}
		if e.Preset {
			r.Stream.Tokens = &Tokens{In: e.In, Out: e.Tokens(), Usage: e.Usage}
		}
	}
	rules, err := events.Parse(options)
	if err != nil {
		return err
	}
	times := events.Times{Due: result.Sent, Sent: result.Sent, First: result.First, Done: result.Done} // nothing waits for its turn
	for _, g := range rules.Goals() {
		r.Goals = append(r.Goals, Goal{g.Text, r.OK && g.Met(times, e)})
	}
	return nil
}

// text writes the events of an answer, and its tokens.
func (s *Stream) text(b *bytes.Buffer) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, ours+"events   %d", s.Events)
	if s.Events > 0 {
		fmt.Fprintf(b, ", first after %s", units.Duration(s.First))
	}
	if s.Events > 1 {
		fmt.Fprintf(b, ", last after %s, gaps %s on average, %s at most", units.Duration(s.Last), units.Duration(s.Gap), units.Duration(s.Longest))
	}
	b.WriteString("\n")
	if t := s.Tokens; t != nil {
		in, of := "", "one for each event"
		if t.In > 0 {
			in = fmt.Sprintf("in %d, ", t.In)
		}
		if t.Usage {
			of = "by the usage of the answer"
		}
		fmt.Fprintf(b, ours+"tokens   %sout %d, %s\n", in, t.Out, of)
	}
}

// text writes a goal, and whether it was met.
func (g Goal) text(b *bytes.Buffer) {
	printable.Fprintf(b, ours+"goal     %s  %s\n", verdict(g.Met), g.Goal)
}
