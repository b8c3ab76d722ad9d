// Package check decides whether an answer is good, beyond its status: by its body, headers, size and time.
//
//	checks, err := check.Parse([]string{`body has "ok"`, "time < 200ms"})
//	if err != nil { … }
//	class := checks.Failed(&response, took) // "" if the answer is good
//
// Guarantees: a check reads at most Most bytes of an answer, and takes time linear in them, whatever a server sends.
// Not here: which answers are complete, and how they are read (package http1).
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Most is how many bytes of a body checks read, from its beginning.
const Most = 1 << 20

// Bounds of a list of checks. Each is a class of errors, of which a report has 65 at most.
const (
	mostChecks = 16
	mostText   = 200 // bytes
)

// An Answer is what a check can look at, such as an http1.Response.
type Answer interface {
	Status() int
	Content() []byte            // the body, from its beginning, as far as it was kept
	Length() int64              // bytes of the whole body
	Field(name string) []string // the values of all headers with this name, whatever its case
}

// A test decides whether an answer that took so long passes.
type test func(a Answer, took time.Duration) bool

// A Check is one condition.
type Check struct {
	text  string
	class string
	test  test
	kind  kind
}

// List are the checks of a target, in order. The zero value has none.
type List []Check

// kind is a word that a check may begin with.
type kind struct {
	name   string
	usage  string
	body   bool // it reads the body
	fields bool // it reads headers
	parse  func(rest string) (test, error)
}

// kinds is the one place where checks are registered. It is a function, because a variable could be changed.
func kinds() []kind {
	return []kind{
		{name: "status", usage: "status 200,201 or status 200-299 (gRPC: status OK,NOT_FOUND)", parse: status},
		{name: "body", usage: `body has "TEXT" or body matches /REGEX/`, body: true, parse: body},
		{name: "json", usage: "json PATH = VALUE, such as json user.id = 7, in a path without @", body: true, parse: jsonValue},
		{name: "header", usage: "header NAME = VALUE", fields: true, parse: header},
		{name: "size", usage: "size < 10kB or size > 0B", parse: size},
		{name: "time", usage: "time < 200ms", parse: duration},
	}
}

// Help lists the checks in a line.
func Help() string {
	var all []string
	for _, k := range kinds() {
		all = append(all, k.usage)
	}
	return strings.Join(all, "; ")
}

// Parse reads checks. An error is one line that says what to do.
func Parse(texts []string) (List, error) {
	if len(texts) > mostChecks {
		return nil, fmt.Errorf("at most %d checks; leave some out", mostChecks)
	}
	var l List
	for i, text := range texts {
		text = strings.TrimSpace(text)
		c, err := parse(text)
		c.class = class(i, text)
		if err == nil && slices.ContainsFunc(l, func(o Check) bool { return o.text == text }) {
			err = errors.New("is given twice; leave one out")
		}
		if err != nil {
			return nil, fmt.Errorf("%.100q: %w", text, err)
		}
		l = append(l, c)
	}
	return l, nil
}

func parse(text string) (Check, error) {
	if len(text) > mostText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Check{}, fmt.Errorf("use at most %d printable characters", mostText)
	}
	if strings.Contains(text, "${") {
		return Check{}, errors.New("a check has no placeholders; write what all answers have in common")
	}
	name, rest, _ := strings.Cut(text, " ")
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return Check{}, fmt.Errorf("there is no such check; write %s", Help())
	}
	t, err := all[i].parse(strings.TrimSpace(rest))
	if err != nil {
		return Check{}, fmt.Errorf("%w; write %s", err, all[i].usage)
	}
	return Check{text: text, test: t, kind: all[i]}, nil
}

// class returns the class of errors of the i-th check: a name of at most 64 bytes, that no other check has.
func class(i int, text string) string {
	const most = 64 - len("check ")
	if len(text) <= most {
		return "check " + text
	}
	end := fmt.Sprintf("… (%d)", i+1)
	return "check " + strings.ToValidUTF8(text[:most-len(end)], "") + end
}

// Content returns how many bytes of a body must be kept for the checks; 0 = none.
func (l List) Content() int {
	if slices.ContainsFunc(l, func(c Check) bool { return c.kind.body }) {
		return Most
	}
	return 0
}

// Fields reports whether headers must be kept for the checks.
func (l List) Fields() bool {
	return slices.ContainsFunc(l, func(c Check) bool { return c.kind.fields })
}

// Body reports whether a check looks at the body, which an answer to HEAD does not have.
func (l List) Body() bool {
	return l.Content() > 0 || slices.ContainsFunc(l, func(c Check) bool { return c.kind.name == "size" })
}

// Statuses reports whether a check says which statuses are good.
func (l List) Statuses() bool {
	return slices.ContainsFunc(l, func(c Check) bool { return c.kind.name == "status" })
}

// Allow reports whether a status from first to last passes all checks of statuses.
func (l List) Allow(first, last int) bool {
	for s := first; s <= last; s++ {
		if !slices.ContainsFunc(l, func(c Check) bool { return c.kind.name == "status" && !c.test(bare(s), 0) }) {
			return true
		}
	}
	return false
}

// bare is an answer that has only a status.
type bare int

func (b bare) Status() int         { return int(b) }
func (bare) Content() []byte       { return nil }
func (bare) Length() int64         { return 0 }
func (bare) Field(string) []string { return nil }

// Failed returns the class of the first check that an answer does not pass, "check" and its text, at most 64 bytes; ""
// if it passes all.
// took is the time from the start of the request to the end of the answer. Any number of goroutines may call it.
func (l List) Failed(a Answer, took time.Duration) string {
	for i := range l {
		if !l[i].test(a, took) {
			return l[i].class
		}
	}
	return ""
}
