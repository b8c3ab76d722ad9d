package record

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A Value is what a query about the other side answered in one point of a run.
type Value struct {
	N      int64   `json:"n"`                // answers
	Missed int64   `json:"missed,omitempty"` // times that it was asked and gave no answer
	Min    float64 `json:"min"`              // of the answers; 0 without any
	Avg    float64 `json:"avg"`
	Max    float64 `json:"max"`
}

// MostValue is the largest answer, of either sign. Means of such values are finite.
const MostValue = 1e300

// Answer returns the Value of one answer.
func Answer(v float64) Value { return Value{N: 1, Min: v, Avg: v, Max: v} }

// Add adds what the same query answered in another point.
func (v *Value) Add(o Value) {
	v.Missed += o.Missed
	switch {
	case o.N == 0:
		return
	case v.N == 0:
		v.N, v.Min, v.Avg, v.Max = o.N, o.Min, o.Avg, o.Max
		return
	}
	v.N += o.N
	v.Min, v.Max = min(v.Min, o.Min), max(v.Max, o.Max)
	v.Avg = min(max(v.Avg+(o.Avg-v.Avg)*(float64(o.N)/float64(v.N)), v.Min), v.Max)
}

// A ValuePoint is what all queries of a run answered in one point, by the name of the query.
type ValuePoint struct {
	Index, Width int64 // as those of a Point
	Of           map[string]Value
}

// Start returns the second of the run at which the point begins.
func (p ValuePoint) Start() int64 { return p.Index * p.Width }

// ValuePointAt returns the empty point of answers that come in a second of a run.
func ValuePointAt(second int64) ValuePoint {
	width := WidthAt(second)
	return ValuePoint{Index: second / width, Width: width, Of: map[string]Value{}}
}

// Name returns the name under which the point is stored.
func (p ValuePoint) Name() string { return fmt.Sprintf("%d:%d", p.Width, p.Index) }

// Text returns the answers as they are stored.
func (p ValuePoint) Text() (string, error) {
	text, err := json.Marshal(p.Of)
	return string(text), err
}

// Add adds what was asked in the same point.
func (p ValuePoint) Add(of map[string]Value) {
	for name, v := range of {
		sum := p.Of[name]
		sum.Add(v)
		p.Of[name] = sum
	}
}

// ParseValuePoint reads a stored point.
func ParseValuePoint(name, text string) (p ValuePoint, err error) {
	width, index, _ := strings.Cut(name, ":")
	p.Width, err = strconv.ParseInt(width, 10, 64)
	if err == nil {
		p.Index, err = strconv.ParseInt(index, 10, 64)
	}
	if err != nil || p.Width < 1 || p.Width > MaxWidth || p.Width&(p.Width-1) != 0 || p.Index < 0 || p.Index >= MaxPoints || p.Name() != name {
		return p, fmt.Errorf("%.40q is not the name of a point", name)
	}
	if err := json.Unmarshal([]byte(text), &p.Of); err != nil {
		return p, fmt.Errorf("point %s of values: %w", name, err)
	}
	if len(p.Of) > MaxQueries {
		return p, fmt.Errorf("point %s of values: %d queries, more than %d", name, len(p.Of), MaxQueries)
	}
	for query, v := range p.Of {
		if !QueryName(query) || !v.Whole() {
			return p, fmt.Errorf("point %s of values: %.60q has %+v", name, query, v)
		}
	}
	return p, nil
}

// Whole reports whether the numbers of a value fit together.
func (v Value) Whole() bool {
	if v.N == 0 {
		return v == Value{Missed: v.Missed} && v.Missed >= 0 && v.Missed <= MaxCount
	}
	return v.N > 0 && v.N <= MaxCount && v.Missed >= 0 && v.Missed <= MaxCount && v.Min <= v.Avg && v.Avg <= v.Max && math.Abs(v.Min) <= MostValue && math.Abs(v.Max) <= MostValue
}

// MaxQueries is the highest number of queries of a run.
const MaxQueries = 20

// QueryName reports whether a query may have this name: 1 to 40 letters, digits, dashes and underscores, beginning with a
// letter.
func QueryName(name string) bool { return queryName.MatchString(name) }

var queryName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`)
