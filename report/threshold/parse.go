package threshold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets/status"
)

// A Threshold is a condition that a run has to meet, as [Parse] reads it.
type Threshold struct {
	Text      string        // as given
	Metric    string        // as thresholdMetrics names them, such as latency
	Code      string        // of status: a code such as 503 or 5xx; "" = any
	Query     string        // of query: its name
	Step      string        // of a workload; "" = all requests
	Aggregate string        // count, rate, avg, min, max, value or p; med is p of 0.5
	Quantile  float64       // of p, 0…1
	Op        string        // <, <=, >, >=, == or !=
	Limit     float64       // of a time in ns, of a share 0…1, else a number or a number per second
	Over      time.Duration // every window of this length has to meet the condition; 0 = the run as a whole
	Abort     int64         // the run is stopped after this many failed windows in a row; 0 = never
	Reduce    Reduce        // the rate is lowered after failed windows
}

// A Kind is the kind of value that a threshold measures. It decides which units the limit may have.
type Kind string

// The kinds of values, as the JSON report names them.
const (
	TimeKind  Kind = "ns"
	ShareKind Kind = "share"
	CountKind Kind = "requests"
	EventKind Kind = "events"
	RateKind  Kind = "requests/s"
	PaceKind  Kind = "events/s"
	ValueKind Kind = "value" // of a query: a number in a unit of its own
)

// A thresholdMetric is a metric that thresholds can use.
type thresholdMetric struct {
	name       string
	alias      string // its name in k6, or another one of the field
	overTime   bool   // the series has it, so that it can be judged window by window
	aggregates []string
}

// thresholdMetrics lists them all.
func thresholdMetrics() []thresholdMetric {
	times, shares := []string{"avg", "min", "max", "med", "p"}, []string{"rate", "count"}
	return []thresholdMetric{
		{"latency", "", true, times},
		{"service", "http_req_duration", false, times},
		{"lag", "", false, times},
		{"first_byte", "", false, times},
		{"dns", "", false, times},
		{"connect", "", false, times},
		{"tls", "", false, times},
		{"errors", "http_req_failed", true, shares},
		{"checks", "", true, shares},
		{"rate", "http_reqs", true, []string{"rate", "count", "avg"}},
		{"dropped", "", false, shares},
		{"status", "", false, shares},
		{"first_event", "ttft", true, times},
		{"first_event_service", "", true, times},
		{"event_gap", "itl", true, times},
		{"stream", "", true, times},
		{"per_token", "tpot", true, times},
		{"events", "", true, []string{"rate", "count"}},
		{"goodput", "", true, shares},
		{"query", "", true, []string{"value"}},
	}
}

// metric returns the metric of the threshold.
func (t Threshold) metric() thresholdMetric {
	all := thresholdMetrics()
	return all[slices.IndexFunc(all, func(m thresholdMetric) bool { return m.name == t.Metric })]
}

// Kind returns the kind of the value and of the limit.
func (t Threshold) Kind() Kind {
	switch {
	case t.Metric == "query":
		return ValueKind
	case t.Metric == "events" && t.Aggregate == "count":
		return EventKind
	case t.Metric == "events":
		return PaceKind
	case t.Aggregate == "count":
		return CountKind
	case t.Metric == "rate":
		return RateKind
	case slices.Contains(t.metric().aggregates, "p"):
		return TimeKind
	default:
		return ShareKind
	}
}

// OverTime reports whether the series has the metric of the threshold. Only then can parts of a run be judged.
func (t Threshold) OverTime() bool { return t.Step == "" && t.metric().overTime }

// IsTime reports whether the limit is a time, in ns.
func (t Threshold) IsTime() bool { return t.Kind() == TimeKind }

// Same reports whether both thresholds are the same condition, in any spelling.
func (t Threshold) Same(o Threshold) bool { return t.Key() == o.Key() }

// Key is equal for thresholds that are the same condition.
func (t Threshold) Key() Threshold {
	t.Text = ""
	return t
}

// maxThreshold bounds the length of a threshold, in bytes.
const maxThreshold = 200

// Parse reads a condition:
//
//	METRIC[{TAG=VALUE}]:AGGREGATE OP LIMIT [over DURATION [abort after N | GUARD]]
//
// where GUARD lowers the rate of a run:
//
//	reduce (to | by) SHARE after N [down to RATE] [restore after DURATION]
//
// such as latency:p(99)<250ms, errors:rate<1% over 10s, status{code=5xx}:count==0 or query{cpu}:value<0.8 over 30s. After the colon any threshold of
// k6 is valid: a time without a unit is in ms, a share may be a number. An error names the column, counted in
// characters from 1.
func Parse(text string) (Threshold, error) {
	t := Threshold{Text: text}
	s := &thresholdScanner{text: text}
	if len(text) > maxThreshold {
		return t, s.fail(0, "it is longer than %d bytes; give one condition", maxThreshold)
	}
	for _, read := range []func(*Threshold) error{s.metric, s.tags, s.aggregate, s.operator, s.limit, s.over, s.abort, s.reduce, s.floor, s.restore} {
		s.space()
		if err := read(&t); err != nil {
			return t, err
		}
	}
	if s.space(); s.rest() != "" {
		may := `after the limit there may be "over 30s", and then "abort after 3" or "reduce by 20% after 3"`
		if t.Guards() {
			may = `after that there may be "down to 100/s", and then "restore after 60s"`
		}
		return t, s.fail(s.at, "%.20q does not belong there; %s", s.rest(), may)
	}
	return t, nil
}

// A thresholdScanner reads a threshold from left to right.
type thresholdScanner struct {
	text string
	at   int // bytes read so far
}

func (s *thresholdScanner) rest() string { return s.text[s.at:] }

// fail returns an error about the text at a byte.
func (s *thresholdScanner) fail(at int, format string, args ...any) error {
	column := 1 + utf8.RuneCountInString(s.text[:at])
	return fmt.Errorf("threshold %.80q, column %d: %s", s.text, column, fmt.Sprintf(format, args...))
}

func (s *thresholdScanner) space() { s.take(func(c rune) bool { return c == ' ' || c == '\t' }) }

// take reads characters while fit accepts them.
func (s *thresholdScanner) take(fit func(rune) bool) string {
	rest := s.rest()
	n := strings.IndexFunc(rest, func(c rune) bool { return !fit(c) })
	if n < 0 {
		n = len(rest)
	}
	s.at += n
	return rest[:n]
}

// accept reads the first of these texts that matches; "" = none.
func (s *thresholdScanner) accept(any ...string) string {
	for _, a := range any {
		if strings.HasPrefix(s.rest(), a) {
			s.at += len(a)
			return a
		}
	}
	return ""
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c rune) bool  { return c >= '0' && c <= '9' }

// metric reads the name of the metric.
func (s *thresholdScanner) metric(t *Threshold) error {
	at := s.at
	name := s.take(isLetter)
	var names []string
	for _, m := range thresholdMetrics() {
		if name == m.name || name != "" && name == m.alias {
			t.Metric = m.name
			return nil
		}
		names = append(names, m.name)
	}
	return s.fail(at, "name a metric, as in latency:p(99)<250ms; there are %s", strings.Join(names, ", "))
}

// tags reads the tags of the metric: the code of status, the step of others.
func (s *thresholdScanner) tags(t *Threshold) error {
	if t.Metric == "query" {
		return s.query(t)
	}
	if s.accept("{") == "" {
		return s.colon()
	}
	for more := true; more; more = s.accept(",") != "" {
		s.space()
		at := s.at
		name := s.take(func(c rune) bool { return isLetter(c) || isDigit(c) || c == '-' || c == '.' })
		s.space()
		if name == "" || s.accept("=", ":") == "" {
			return s.fail(s.at, "write a tag as {NAME=VALUE}")
		}
		s.space()
		valueAt := s.at
		value := strings.TrimRight(s.take(func(c rune) bool { return c != ',' && c != '}' }), " \t")
		switch {
		case value == "":
			return s.fail(valueAt, "tag %s has no value; write {%s=VALUE}", name, name)
		case name == "step":
			if err := s.step(t, at, value); err != nil {
				return err
			}
			continue
		case t.Metric != "status" || name != "code":
			return s.fail(at, "there is no tag %s; there are latency{step=NAME} and status{code=503}; leave {%s=…} out", name, name)
		case t.Code != "":
			return s.fail(at, "only one code is allowed; give a threshold for each")
		case !isCode(value):
			return s.fail(valueAt, "%.20q is not a status; write 503 or 5xx, or a status of gRPC such as UNAVAILABLE", value)
		}
		t.Code = value
	}
	if s.accept("}") == "" {
		return s.fail(s.at, "the closing brace is missing; write {NAME=VALUE}")
	}
	s.space()
	return s.colon()
}

// step reads the name of a step.
func (s *thresholdScanner) step(t *Threshold, at int, name string) error {
	switch {
	case t.Step != "":
		return s.fail(at, "only one step is allowed; give a threshold for each")
	case !slices.Contains(stepMetrics(), t.Metric):
		return s.fail(at, "steps have %s; leave {step=…} out", strings.Join(stepMetrics(), ", "))
	}
	t.Step = name
	return nil
}

// stepMetrics lists the metrics that are known of each step.
func stepMetrics() []string {
	return []string{"latency", "first_byte", "errors", "checks", "rate", "first_event", "first_event_service", "event_gap", "stream", "per_token", "events", "goodput"}
}

// isCode reports whether s is a status such as 503 or UNAVAILABLE, or a class of them such as 5xx.
func isCode(s string) bool {
	if _, known := status.Named(s); known {
		return true
	}
	return len(s) == 3 && isDigit(rune(s[0])) && (s[1:] == "xx" || isDigit(rune(s[1])) && isDigit(rune(s[2])))
}

func (s *thresholdScanner) colon() error {
	if s.accept(":") == "" {
		return s.fail(s.at, "a colon has to follow the metric, as in latency:p(99)<250ms")
	}
	return nil
}

// aggregate reads how requests are condensed into one value.
func (s *thresholdScanner) aggregate(t *Threshold) error {
	at := s.at
	name := s.take(isLetter)
	allowed := t.metric().aggregates
	if !slices.Contains(allowed, name) {
		return s.fail(at, "%s has %s", t.Metric, strings.ReplaceAll(strings.Join(allowed, ", "), ", p", ", p(0) to p(100)"))
	}
	t.Aggregate = name
	switch name {
	case "med":
		t.Aggregate, t.Quantile = "p", 0.5
	case "p":
		at = s.at
		if s.accept("(") == "" {
			return s.fail(at, "write the percentile in parentheses, as in p(99.9)")
		}
		s.space()
		at = s.at
		percent, ok := s.number()
		if !ok || percent > 100 {
			return s.fail(at, "a percentile is a number from 0 to 100, as in p(99.9)")
		}
		s.space()
		if s.accept(")") == "" {
			return s.fail(s.at, "the closing parenthesis is missing; write p(99.9)")
		}
		t.Quantile = percent / 100
	}
	return nil
}

// number reads digits with an optional decimal point.
func (s *thresholdScanner) number() (float64, bool) {
	text := s.take(func(c rune) bool { return isDigit(c) || c == '.' })
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !strings.HasPrefix(text, ".") && !strings.HasSuffix(text, ".")
}

// operator reads the comparison.
func (s *thresholdScanner) operator(t *Threshold) error {
	at := s.at
	t.Op = s.accept("<=", ">=", "===", "==", "!=", "<", ">")
	switch {
	case t.Op == "":
		return s.fail(at, "compare with <, <=, >, >=, == or !=")
	case t.Op == "!=" && t.Metric == "query":
		return s.fail(at, "compare the values of a query with <, <=, >, >= or ==")
	case t.Op == "===":
		t.Op = "=="
	}
	return nil
}

// limit reads the limit.
func (s *thresholdScanner) limit(t *Threshold) error {
	at, sign := s.at, 1.
	if t.Kind() == ValueKind && s.accept("-") != "" {
		sign = -1
	}
	v, ok := s.number()
	if !ok {
		return s.fail(at, "give a limit: a number%s, such as %s", t.Kind().unsigned(), t.Kind().example())
	}
	unitAt := s.at
	unit := s.unit()
	factor, known := t.Kind().units()[unit]
	if !known {
		return s.fail(unitAt, "%.20q is not a valid unit here; write the limit as in %s", unit, t.Kind().example())
	}
	t.Limit = sign * inUnit(v, factor)
	switch {
	case t.Limit == 0 && t.Op == "<" && t.Kind() != ValueKind:
		return s.fail(at, "nothing is less than 0; write ==0, or a higher limit")
	case t.Kind() == ShareKind && t.Limit > 1:
		return s.fail(at, "a share is at most 1, or 100%%%s", percentHint(unit, v))
	case t.Kind() == TimeKind && t.Limit > record.HighestNS:
		return s.fail(at, "times are measured up to 1h; give a lower limit")
	}
	return nil
}

// inUnit returns v units of a factor. It divides by the reciprocal of one below 1: 95 × 0.01 is above 0.95, and 95 ÷ 100 is
// not.
func inUnit(v, factor float64) float64 {
	if factor < 1 {
		return v / math.Round(1/factor)
	}
	return v * factor
}

// percentHint helps users who left out the percent sign.
func percentHint(unit string, v float64) string {
	if unit == "%" || v > 100 {
		return ""
	}
	return fmt.Sprintf("; for %v percent write %v%%", v, v)
}

// unit reads the letters after a number without a space.
func (s *thresholdScanner) unit() string {
	return s.take(func(c rune) bool { return isLetter(c) || c == 'µ' || c == 'μ' || c == '%' || c == '/' })
}

// units returns the units of a limit and their factors.
func (k Kind) units() map[string]float64 {
	const ms, s = 1e6, 1e9
	switch k {
	case TimeKind:
		return map[string]float64{"": ms, "ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": ms, "s": s, "m": 60 * s, "h": 3600 * s}
	case ShareKind:
		return map[string]float64{"": 1, "%": 0.01}
	case RateKind, PaceKind:
		return map[string]float64{"": 1, "k": 1e3, "M": 1e6, "/s": 1, "k/s": 1e3, "M/s": 1e6, "/m": 1. / 60, "/h": 1. / 3600}
	case ValueKind:
		return map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
	default:
		return map[string]float64{"": 1, "k": 1e3, "M": 1e6}
	}
}

// example returns examples of limits.
func (k Kind) example() string {
	switch k {
	case TimeKind:
		return "250ms, 1.5s, or 250, which is in ms"
	case ShareKind:
		return "1% or 0.01"
	case RateKind, PaceKind:
		return "950, 950/s or 2.5k"
	case ValueKind:
		return "0.8, -5 or 2.5G"
	default:
		return "100 or 1.5k"
	}
}

// over reads the length of the windows, if given.
func (s *thresholdScanner) over(t *Threshold) error {
	at := s.at
	if s.accept("over ") == "" {
		if t.Metric == "query" {
			return s.fail(at, "the values of a query are judged in windows; say how long they are, such as over 30s")
		}
		return nil
	}
	s.space()
	if t.Step != "" {
		return s.fail(at, "a step is known for the whole run only; leave out 'over', or the step")
	}
	if !t.OverTime() {
		var kept []string
		for _, m := range thresholdMetrics() {
			if m.overTime {
				kept = append(kept, m.name)
			}
		}
		return s.fail(at, "%s is known for the whole run only; leave out 'over', or use one of %s", t.Metric, strings.Join(kept, ", "))
	}
	at = s.at
	length, err := time.ParseDuration(s.take(func(c rune) bool { return isDigit(c) || isLetter(c) || c == '.' }))
	if err != nil || length < time.Second || length%time.Second != 0 || length > maxOver {
		return s.fail(at, "give whole seconds from 1s to %s, such as over 30s", "24h")
	}
	if t.Metric == "query" && length < leastQueryOver {
		return s.fail(at, "a query is asked every 5 s; give windows of at least %v, such as over 30s", leastQueryOver)
	}
	t.Over = length
	return nil
}

// maxOver bounds the length of windows.
const maxOver = 24 * time.Hour

// abort reads after how many failed windows the run is stopped.
func (s *thresholdScanner) abort(t *Threshold) error {
	at := s.at
	if s.accept("abort") == "" {
		return nil
	}
	if s.space(); s.accept("after") == "" {
		return s.fail(s.at, "write abort after 3, the number of windows in a row")
	}
	if t.Step != "" {
		return s.fail(at, "a step is known for the whole run only; leave out 'abort', or the step")
	}
	if t.Over == 0 {
		return s.fail(at, "abort counts windows; say how long they are, such as over 5s abort after 3")
	}
	s.space()
	at = s.at
	n, err := strconv.ParseInt(s.take(isDigit), 10, 64)
	if err != nil || n < 1 || n > maxAbort {
		return s.fail(at, "give the number of windows in a row, 1 to %d", maxAbort)
	}
	if t.Over > maxAbortOver {
		return s.fail(at, "windows that abort a run are at most %v long; give a shorter over", maxAbortOver)
	}
	t.Abort = n
	return nil
}

// Bounds of the data that is checked each second while a run may be aborted.
const (
	maxAbort     = 300
	maxAbortOver = 5 * time.Minute
)
