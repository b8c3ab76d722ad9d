package targets

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets/template"
)

// An Example is a request as it may be sent, without the secrets that Redacted hides. Its body is whole.
type Example struct {
	Number     uint64 // of its slot
	Flow, Step string // "" without flows
	Method     string // "" if the target does not connect
	URL        string
	Headers    []Header
	Body       []byte
}

// Examples returns the first n requests, flow by flow: the steps of one flow follow each other, whatever their times.
// Placeholders are filled from the tables, and ${now} from the time. What a step takes from an answer is not known yet:
// it is <NAME>. The spec must be valid.
func (s Spec) Examples(n int, tables Tables, now time.Time) (all []Example, err error) {
	mix := s.Mix()
	for number := uint64(0); len(all) < n; number++ {
		flow := Flow{Steps: []Step{{URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body}}}
		if mix != nil {
			flow = s.Flows[mix.cycle[number%uint64(len(mix.cycle))]]
		}
		stand := takes(flow)
		for _, step := range flow.Steps[:min(len(flow.Steps), n-len(all))] {
			e, err := s.single(stand.in(step), mix).example(tables, number, now)
			if err != nil {
				return nil, fmt.Errorf("step %s: %w", step.Name, err)
			}
			e.Flow, e.Step, e.URL = flow.Name, step.Name, stand.unescaped(e.URL)
			all = append(all, e)
		}
	}
	return all, nil
}

// example returns the request of one step.
func (s Spec) example(tables Tables, number uint64, now time.Time) (e Example, err error) {
	k, u, err := s.kind()
	if err != nil {
		return e, err
	}
	m, err := newMessage(s, u, endpoint{}, s.parser(tables))
	if err != nil {
		return e, err
	}
	filled := m.filled(template.Request{Number: number, Time: now.UnixNano(), Worker: "worker"})
	one := filled.filledSpec()
	if m.target.Varies() {
		one.URL = filled.filledURL().String()
	}
	e.Body = one.Body
	one = one.Redacted()
	e.Number, e.URL, e.Headers = number, one.URL, one.Headers
	if k.port != "" {
		e.Method = s.method()
	}
	return e, nil
}

// standIns are the names of what a flow takes from answers.
type standIns []string

func takes(f Flow) (names standIns) {
	for _, step := range f.Steps {
		for _, t := range step.Takes {
			names = append(names, t.Name)
		}
	}
	return names
}

// in replaces the placeholders of these names in a step.
func (names standIns) in(s Step) Step {
	if len(names) == 0 {
		return s
	}
	s.URL = names.text(s.URL)
	s.Headers = slices.Clone(s.Headers)
	for i, h := range s.Headers {
		s.Headers[i].Value = names.text(h.Value)
	}
	s.Body = []byte(names.text(string(s.Body)))
	return s
}

// text replaces the placeholders of these names. $${NAME} is no placeholder.
func (names standIns) text(text string) string {
	return regexp.MustCompile(`\$?\$\{[^}]*\}`).ReplaceAllStringFunc(text, func(place string) string {
		name := strings.TrimSpace(strings.Trim(place, "${}"))
		if strings.HasPrefix(place, "$$") || !slices.Contains(names, name) {
			return place
		}
		return "<" + name + ">"
	})
}

// unescaped returns a URL in which the stand-ins can be read.
func (names standIns) unescaped(shown string) string {
	for _, name := range names {
		shown = strings.ReplaceAll(shown, url.PathEscape("<"+name+">"), "<"+name+">")
	}
	return shown
}
