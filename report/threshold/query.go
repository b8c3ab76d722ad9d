package threshold

import (
	"math"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// A query is about the other side: what a Prometheus says of the endpoint, such as its CPU. It is asked every 5 s. A window is
// judged by all answers in it, and each has to meet the limit. A window without any is undecided. It fails if the last answer is
// older than a run allows, and the query was asked since: who does not see the endpoint must not go on as if all were well.

// leastQueryOver is the shortest window of a query: an answer may take 4 s, and comes every 5 s.
const leastQueryOver = 10 * time.Second

// query reads the name of a query.
func (s *thresholdScanner) query(t *Threshold) error {
	at := s.at
	if s.accept("{") == "" {
		return s.fail(at, "name the query in braces, as in query{cpu}:value<0.8 over 30s; --query cpu=PROMQL says what it asks")
	}
	s.space()
	at = s.at
	name := s.take(func(c rune) bool { return isLetter(c) || isDigit(c) || c == '-' })
	if !record.QueryName(name) {
		return s.fail(at, "name one query, as in query{cpu}:value<0.8 over 30s: 1 to 40 letters, digits, dashes and underscores")
	}
	t.Query = name
	s.space()
	if s.accept("}") == "" {
		return s.fail(s.at, "the closing brace is missing; write query{%s}:value", name)
	}
	s.space()
	return s.colon()
}

// Answers are what the queries of a run answered.
type Answers struct {
	At    func(query string, second int64) record.Value // in the point that begins at a second of the run; nil = nothing
	Stale time.Duration                                 // without an answer for so long a window fails
}

// Fill sets what the threshold's query answered in each point. width is that of the points.
func (a Answers) Fill(t Threshold, points []Window, width int64) {
	if t.Query == "" || a.At == nil {
		return
	}
	back := (int64(a.Stale/time.Second) + width - 1) / width * width
	for i := range points {
		p := &points[i]
		p.Value = a.At(t.Query, p.At)
		p.Blind = a.blind(t.Query, p.At+width, back, width)
	}
}

// blind reports whether a query was asked in the seconds before end, and gave no answer.
func (a Answers) blind(query string, end, back, width int64) bool {
	if end < back {
		return false
	}
	var sum record.Value
	for at := end - back; at < end; at += width {
		if sum.Add(a.At(query, at)); sum.N > 0 {
			return false
		}
	}
	return sum.Missed > 0
}

// value returns the answer that is worst for the threshold.
func (w Window) value(t Threshold) Reading {
	switch v := w.Value; {
	case w.Blind:
		return Reading{none: true, blind: true}
	case v.N == 0:
		return Reading{none: true}
	case t.fromBelow() || t.Op == "==" && math.Abs(v.Min-t.Limit) > math.Abs(v.Max-t.Limit):
		return exactly(v.Min)
	default:
		return exactly(v.Max)
	}
}

// lack says why there is no value.
func (r Reading) lack() string {
	if r.blind {
		return "no answer to the query for longer than --query-stale"
	}
	return "nothing was measured"
}

// unsigned says that limits of this kind are not negative.
func (k Kind) unsigned() string {
	if k == ValueKind {
		return ""
	}
	return " that is not negative"
}
