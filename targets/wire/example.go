package wire

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
	"github.com/loadctl/loadctl/targets/trace"
)

// An Example is a request as it may be sent. It has no user and password of the URL, and of secret headers no
// more than a scheme and what fills their placeholders. Its body is whole.
type Example struct {
	Number     uint64 // of its slot
	Flow, Step string // "" without flows
	Method     string // "" if the target does not connect
	URL        string
	Headers    []targets.Header
	Body       []byte
}

// Examples returns the first n requests, flow by flow: the steps of one flow follow each other, whatever their times.
// Placeholders are filled from the tables, and ${now} from the time. What a step takes from an answer is not known yet,
// and a column whose name suggests a secret is not shown: both are <NAME>. The spec must be valid.
func Examples(s targets.Spec, n int, tables targets.Tables, now time.Time) (all []Example, err error) {
	mix := s.Mix()
	for number := uint64(0); len(all) < n; number++ {
		flow := targets.Flow{Steps: []targets.Step{{URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, Reply: s.Reply}}}
		first := 0 // index of its first step
		if mix != nil {
			flow, first = s.Flows[mix.Flow(number)], mix.Step(number)
		}
		known := flow.Known()
		for i, step := range flow.Steps[:min(len(flow.Steps), n-len(all))] {
			one := s.Single(step, mix, known[i])
			e, err := example(one, tables, number, first+i, now)
			if err != nil {
				return nil, fmt.Errorf("step %s: %w", step.Name, err)
			}
			e.Flow, e.Step = flow.Name, step.Name
			all = append(all, e)
		}
	}
	return all, nil
}

// example returns the request of one step.
func example(s targets.Spec, tables targets.Tables, number uint64, step int, now time.Time) (e Example, err error) {
	s = s.Masked()
	k, u, err := s.ParseURL()
	if err != nil {
		return e, err
	}
	m, err := newMessage(s, u, Endpoint{}, s.Parser(tables), nil)
	if err != nil {
		return e, err
	}
	r := template.Request{Number: number, Row: number, Time: now.UnixNano(), Worker: "worker", Step: step}
	for _, name := range s.Taken() {
		r.Taken = append(r.Taken, targets.StandIn(name))
	}
	filled := m.filled(r, nil)
	one := filled.filledSpec()
	if m.target.Varies() || strings.Contains(one.URL, "$${") {
		one.URL = filled.filledURL().String()
	}
	shown := standIns(s)
	e.Number, e.URL, e.Headers, e.Body = number, unescaped(targets.RedactURL(one.URL), shown), one.Headers, []byte(unescaped(string(one.Body), shown))
	for i, h := range s.Headers {
		if h.Secret() {
			e.Headers[i].Value = targets.Redacted
		}
	}
	if s.Trace && targets.HasHeaders(s.URL) {
		e.Headers = append(e.Headers, targets.Header{Name: trace.Header, Value: string(r.Trace.Append(nil, number, step, s.TraceSampled))})
	}
	if k.Port != "" && !k.Bare {
		e.Method = s.EffectiveMethod()
	}
	return e, nil
}

// standIns returns the names that stand-ins have: of what earlier steps take, and of columns that are not shown.
func standIns(s targets.Spec) []string {
	names := slices.Clone(s.Taken())
	for _, d := range s.Data {
		for _, column := range d.Columns {
			if targets.SecretName(column) {
				names = append(names, d.Name+"."+column)
			}
		}
	}
	return names
}

// unescaped returns a URL or a form in which the stand-ins can be read.
func unescaped(shown string, names []string) string {
	for _, name := range names {
		shown = strings.ReplaceAll(shown, url.PathEscape(targets.StandIn(name)), targets.StandIn(name))
	}
	return shown
}
