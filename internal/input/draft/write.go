package draft

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// Text returns the file as YAML.
func (f *File) Text() []byte {
	f.common()
	p := &printer{}
	p.comment(0, f.Notes)
	p.comment(0, []string{
		"Bodies and queries may have secrets, and values that must differ in each request: look for them.",
		"loadctl workload check FILE says what this file would send. The rate is for --qps, or:",
		"rate: 10 flows/s",
	})
	all := []pair{{key: "base", value: text(f.base)}}
	if len(f.Data()) > 0 {
		from := value{pairs: []pair{{key: "csv", value: text(secretsName + ".csv")}}}
		all = append(all, pair{key: "data", value: opened(value{pairs: []pair{{key: secretsName, value: from}}}), notes: f.Secrets.notes()})
	}
	if len(f.headers) > 0 {
		all = append(all, pair{key: "header", value: opened(headers(f.headers))})
	}
	if f.Cookies {
		note := "each flow gets cookies of its own from the answers, and sends them"
		all = append(all, pair{key: "cookies", value: value{text: "true", plain: true}, notes: []string{note}})
	}
	if f.Mixed {
		all = append(all, pair{key: "mix", value: f.mix()})
	}
	flows := value{open: true}
	for _, one := range f.Flows {
		steps := value{list: []value{}, open: true}
		for _, s := range one.Steps {
			steps.list = append(steps.list, value{pairs: []pair{{key: s.Name, value: f.settings(s), notes: s.comments()}}})
		}
		flows.pairs = append(flows.pairs, pair{key: one.Name, value: steps})
	}
	p.pairs(0, false, append(all, pair{key: "flows", value: flows}))
	return p.Bytes()
}

// opened returns a map that is written in lines.
func opened(v value) value {
	v.open = true
	return v
}

// mix returns the weights.
func (f *File) mix() value {
	v := value{open: true}
	for _, one := range f.Flows {
		v.pairs = append(v.pairs, pair{key: one.Name, value: value{text: fmt.Sprint(max(1, one.Weight)), plain: true}})
	}
	return v
}

// settings returns what a step sends, and when.
func (f *File) settings(s Step) value {
	var all []pair
	add := func(key string, v value) { all = append(all, pair{key: key, value: v}) }
	if s.After == nil && s.timed() {
		add("at", value{text: s.At.String(), plain: true})
	}
	where := f.short(s.URL)
	method := cmp.Or(s.Method, http.MethodGet)
	switch method {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
		add(strings.ToLower(method), text(where))
	default:
		add("method", text(method))
		add("url", text(where))
	}
	key, body, implied := s.body()
	left := slices.DeleteFunc(slices.Clone(s.Headers), func(h targets.Header) bool {
		return strings.EqualFold(h.Name, "Content-Type") && strings.EqualFold(h.Value, implied)
	})
	if len(left) > 0 {
		add("header", headers(left))
	}
	if key != "" {
		add(key, body)
	}
	if len(s.Takes) > 0 {
		add("take", taken(s.Takes))
	}
	return value{pairs: all}
}

// taken returns a map of takes.
func taken(all []targets.Take) (v value) {
	for _, t := range all {
		v.pairs = append(v.pairs, pair{key: t.Name, value: text(t.From)})
	}
	return v
}

// timed reports whether a step has a time of its own, also one of 0: without any it follows the answer before it.
func (s Step) timed() bool { return s.At > 0 || s.Together }

// body returns the body with its key, and the Content-Type that the key gives it.
func (s Step) body() (key string, v value, implied string) {
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
		return "", v, ""
	case strings.HasPrefix(typed, JSONType):
		if v, ok := jsonValue(s.Body); ok {
			return "json", v, JSONType
		}
	case strings.HasPrefix(typed, FormType):
		if v, ok := formValue(string(s.Body)); ok {
			return "form", v, FormType
		}
	}
	return "body", value{text: string(s.Body), lines: true}, ""
}

// headers returns a map of headers. Those of one name are a list.
func headers(list []targets.Header) value {
	var all []pair
	for _, h := range list {
		i := slices.IndexFunc(all, func(p pair) bool { return strings.EqualFold(p.key, h.Name) })
		switch {
		case i < 0:
			all = append(all, pair{key: h.Name, value: text(h.Value)})
		case all[i].value.list == nil:
			all[i].value = value{list: []value{all[i].value, text(h.Value)}}
		default:
			all[i].value.list = append(all[i].value.list, text(h.Value))
		}
	}
	return value{pairs: all}
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
