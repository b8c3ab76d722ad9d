package draft

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/targets"
)

// Text returns the file as YAML.
func (f *File) Text() []byte {
	f.common()
	top := comment(append(slices.Clone(f.Notes),
		"Bodies and queries may have secrets, and values that must differ in each request: look for them.",
		"loadctl workload check FILE says what this file would send. The rate is for --qps, or:",
		"rate: 10 flows/s",
	))
	all := mapping()
	add(all, "base", text(f.base))
	if len(f.Data()) > 0 {
		from, data := mapping(), mapping()
		add(from, "csv", text(secretsName+".csv"))
		add(data, secretsName, from)
		fold(data, 2)
		add(all, "data", data, f.Secrets.notes()...)
	}
	if len(f.headers) > 0 {
		common := headers(f.headers)
		fold(common, 2)
		add(all, "header", common)
	}
	if f.Cookies {
		add(all, "cookies", plain("true"), "each flow gets cookies of its own from the answers, and sends them")
	}
	weights, flows := mapping(), mapping()
	for _, one := range f.Flows {
		add(weights, one.Name, plain(fmt.Sprint(max(1, one.Weight))))
		steps := list()
		for _, s := range one.Steps {
			step := mapping()
			add(step, s.Name, f.settings(s))
			fold(step, 6)
			step.HeadComment = comment(s.comments())
			steps.Content = append(steps.Content, step)
		}
		add(flows, one.Name, steps)
	}
	if f.Mixed {
		add(all, "mix", weights)
	}
	add(all, "flows", flows)
	return []byte(top + "\n" + written(all) + "\n")
}

// settings returns what a step sends, and when.
func (f *File) settings(s Step) *yaml.Node {
	all := mapping()
	if s.After == nil && s.timed() {
		add(all, "at", plain(s.At.String()))
	}
	where := f.short(s.URL)
	method := cmp.Or(s.Method, http.MethodGet)
	switch method {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
		add(all, strings.ToLower(method), text(where))
	default:
		add(all, "method", text(method))
		add(all, "url", text(where))
	}
	key, body, implied := s.body()
	left := slices.DeleteFunc(slices.Clone(s.Headers), func(h targets.Header) bool {
		return strings.EqualFold(h.Name, "Content-Type") && strings.EqualFold(h.Value, implied)
	})
	if len(left) > 0 {
		add(all, "header", headers(left))
	}
	if key != "" {
		add(all, key, body)
	}
	if len(s.Takes) > 0 {
		takes := mapping()
		for _, t := range s.Takes {
			add(takes, t.Name, text(t.From))
		}
		add(all, "take", takes)
	}
	return all
}

// timed reports whether a step has a time of its own, also one of 0: without any it follows the answer before it.
func (s Step) timed() bool { return s.At > 0 || s.Together }

// body returns the body with its key, and the Content-Type that the key gives it.
func (s Step) body() (key string, v *yaml.Node, implied string) {
	typed := ""
	for _, h := range s.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			typed = strings.ToLower(h.Value)
		}
	}
	switch {
	case s.BodyFile != "":
		return "body_file", text(s.BodyFile), ""
	case len(s.Body) == 0:
		return "", nil, ""
	case strings.HasPrefix(typed, JSONType):
		if v, ok := jsonValue(s.Body); ok {
			return "json", v, JSONType
		}
	case strings.HasPrefix(typed, FormType):
		if v, ok := formValue(string(s.Body)); ok {
			return "form", v, FormType
		}
	}
	return "body", lines(string(s.Body)), ""
}

// headers returns a map of headers. Those of one name are a list.
func headers(all []targets.Header) *yaml.Node {
	m := mapping()
	for i, h := range all {
		if slices.ContainsFunc(all[:i], func(o targets.Header) bool { return strings.EqualFold(o.Name, h.Name) }) {
			continue
		}
		same := list()
		for _, o := range all {
			if strings.EqualFold(o.Name, h.Name) {
				same.Content = append(same.Content, text(o.Value))
			}
		}
		if len(same.Content) == 1 {
			same = same.Content[0]
		}
		add(m, h.Name, same)
	}
	return m
}

// comments returns the notes of a step, with what was left out.
func (s Step) comments() []string {
	all := slices.Clone(s.Notes)
	if len(s.Replaced) > 0 {
		all = append(all, "left out, as the client of a run decides on them: "+strings.Join(s.Replaced, ", "))
	}
	if len(s.Secrets) > 0 {
		all = append(all, "left out, as secrets: "+strings.Join(s.Secrets, ", "))
	}
	return all
}

// common moves to the top what all steps have: headers, and the names of those that were left out.
func (f *File) common() {
	var all []*Step
	for i := range f.Flows {
		for j := range f.Flows[i].Steps {
			all = append(all, &f.Flows[i].Steps[j])
		}
	}
	if len(all) < 2 {
		return
	}
	for _, h := range slices.Clone(all[0].Headers) {
		if slices.ContainsFunc(all, func(s *Step) bool { return !s.hasOnly(h) }) {
			continue
		}
		f.headers = append(f.headers, h)
		for _, s := range all {
			s.Headers = slices.DeleteFunc(s.Headers, func(o targets.Header) bool { return o == h })
		}
	}
	if names := everywhere(all, func(s *Step) *[]string { return &s.Replaced }); len(names) > 0 {
		f.Notes = append(f.Notes, "Left out of all requests, as the client of a run decides on them: "+strings.Join(names, ", "))
	}
	if names := everywhere(all, func(s *Step) *[]string { return &s.Secrets }); len(names) > 0 {
		f.Notes = append(f.Notes, "Left out of all requests, as secrets: "+strings.Join(names, ", "))
	}
}

// everywhere takes the names that all steps have out of their lists.
func everywhere(all []*Step, list func(*Step) *[]string) (names []string) {
	for _, what := range slices.Clone(*list(all[0])) {
		if slices.ContainsFunc(all, func(s *Step) bool { return !slices.Contains(*list(s), what) }) {
			continue
		}
		names = append(names, what)
		for _, s := range all {
			*list(s) = slices.DeleteFunc(*list(s), func(o string) bool { return o == what })
		}
	}
	return names
}

// hasOnly reports whether a step has a header, and no other one of its name. A Content-Type belongs to its body.
func (s *Step) hasOnly(h targets.Header) bool {
	n := 0
	for _, o := range s.Headers {
		if strings.EqualFold(o.Name, h.Name) {
			n++
		}
	}
	return n == 1 && slices.Contains(s.Headers, h) && !strings.EqualFold(h.Name, "Content-Type")
}
