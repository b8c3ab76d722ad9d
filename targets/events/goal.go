package events

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// MaxGoals is how many goals an answer may have.
const MaxGoals = 8

// A Goal is what one answer has to meet to count as good: see ParseGoal.
type Goal struct {
	Text   string
	Metric string  // first_event, first_event_service, event_gap, per_token, stream, first_byte, latency or service
	Share  float64 // of event_gap: the part of the gaps that has to be short enough, 1 = all. 0 = their mean
	Limit  int64   // ns; the time must be below
	index  int     // in Events.Within
}

// Times are those of a request, ns of one clock.
type Times struct{ Due, Sent, First, Done int64 }

// ParseGoal reads METRIC[:AGGREGATE]<TIME, such as first_event<500ms or event_gap:p(95)<80ms. event_gap alone has one value for
// each gap, so it needs an aggregate: p(N), max or avg. ttft, itl and tpot are other names of first_event, event_gap and
// per_token.
func ParseGoal(text string) (Goal, error) {
	g := Goal{Text: text}
	m := goalPattern().FindStringSubmatch(text)
	if m == nil {
		return g, fmt.Errorf("goal %.80q: write METRIC<TIME, such as first_event<500ms or event_gap:p(95)<80ms; there are first_event (ttft), first_event_service, "+
			"stream, per_token (tpot), latency, service, first_byte, and of event_gap (itl) p(N), max and avg", text)
	}
	g.Metric = m[1]
	if other, ok := map[string]string{"ttft": "first_event", "itl": "event_gap", "tpot": "per_token"}[g.Metric]; ok {
		g.Metric = other
	}
	limit, err := time.ParseDuration(m[4])
	if err != nil || limit <= 0 {
		return g, fmt.Errorf("goal %.80q: the limit is a time above 0 with its unit, such as 500ms", text)
	}
	g.Limit = int64(limit)
	if err := g.aggregate(m[2], m[3]); err != nil {
		return g, fmt.Errorf("goal %.80q: %w", text, err)
	}
	return g, nil
}

func goalPattern() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(first_event_service|first_event|event_gap|per_token|stream|first_byte|latency|service|ttft|itl|tpot)` +
		`\s*(?::\s*(p\(([0-9.]+)\)|max|avg))?\s*<\s*([^\s=]\S*)\s*$`)
}

// aggregate sets what is made of the gaps.
func (g *Goal) aggregate(name, p string) error {
	if g.Metric != "event_gap" {
		if name != "" {
			return errors.New("an answer has one such time; leave the aggregate out")
		}
		return nil
	}
	switch name {
	case "":
		return errors.New("an answer has many gaps; write event_gap:p(95), event_gap:max or event_gap:avg")
	case "max":
		g.Share = 1
	case "avg":
	default:
		percent, err := strconv.ParseFloat(p, 64)
		if err != nil || percent <= 0 || percent > 100 {
			return errors.New("a percentile is above 0 and at most 100")
		}
		g.Share = percent / 100
	}
	return nil
}

// OfEvents reports whether the goal is about events.
func (g *Goal) OfEvents() bool {
	return !slices.Contains([]string{"latency", "service", "first_byte"}, g.Metric)
}

// Met reports whether an answer meets the goal. e may be nil: the answer had no events. A goal about something that the answer
// does not have is not met, but for gaps: an answer of one event has none that is too long.
func (g *Goal) Met(t Times, e *Events) bool {
	var took int64
	switch g.Metric {
	case "latency":
		took = t.Done - t.Due
	case "service":
		took = t.Done - t.Sent
	case "first_byte":
		if t.First == 0 {
			return false
		}
		took = t.First - t.Sent
	default:
		if e == nil || e.Count == 0 {
			return false
		}
		return g.metByEvents(t, e)
	}
	return took < g.Limit
}

func (g *Goal) metByEvents(t Times, e *Events) bool {
	switch g.Metric {
	case "first_event":
		return e.First-t.Due < g.Limit
	case "first_event_service":
		return e.First-t.Sent < g.Limit
	case "stream":
		return e.Last-t.Due < g.Limit
	case "per_token":
		ns, ok := e.PerToken()
		return !ok || ns < g.Limit
	}
	n := e.Gaps()
	if n == 0 {
		return true
	}
	if g.Share == 0 {
		return (e.Last-e.First)/n < g.Limit
	}
	return e.Within[g.index] >= int64(math.Ceil(g.Share*float64(n)-1e-9))
}
