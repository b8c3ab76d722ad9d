package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// mostValue is the longest value that is taken, in bytes.
const mostValue = 16 << 10

// A Take reads a value out of an answer. Any number of goroutines may use it.
type Take struct {
	read func(a Answer) (string, bool)
	kind takeKind
}

// takeKind is a word that a take may begin with.
type takeKind struct {
	name   string
	usage  string
	body   bool // it reads the body
	fields bool // it reads headers
	parse  func(rest string) (func(a Answer) (string, bool), error)
}

// takeKinds is the one place where takes are registered. It is a function, because a variable could be changed.
func takeKinds() []takeKind {
	return []takeKind{
		{name: "json", usage: "json PATH, such as json user.id, without @", body: true, parse: takeJSON},
		{name: "header", usage: "header NAME", fields: true, parse: takeHeader},
		{name: "cookie", usage: "cookie NAME", fields: true, parse: takeCookie},
		{name: "regex", usage: "regex /REGEX/, of which the first group is taken, or all if it has none", body: true, parse: takeRegex},
	}
}

// takeHelp lists the takes in a line.
func takeHelp() string {
	var all []string
	for _, k := range takeKinds() {
		all = append(all, k.usage)
	}
	return strings.Join(all, "; ")
}

// ParseTake reads what to take. An error is one line that says what to do.
func ParseTake(text string) (Take, error) {
	text = strings.TrimSpace(text)
	if len(text) > mostText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Take{}, fmt.Errorf("use at most %d printable characters", mostText)
	}
	name, rest, _ := strings.Cut(text, " ")
	all := takeKinds()
	i := slices.IndexFunc(all, func(k takeKind) bool { return k.name == name })
	if i < 0 {
		return Take{}, fmt.Errorf("%q takes nothing; write %s", name, takeHelp())
	}
	read, err := all[i].parse(strings.TrimSpace(rest))
	if err != nil {
		return Take{}, fmt.Errorf("%w; write %s", err, all[i].usage)
	}
	return Take{read, all[i]}, nil
}

// Content returns how many bytes of a body must be kept for the take; 0 = none.
func (t Take) Content() int {
	if t.kind.body {
		return Most
	}
	return 0
}

// Fields reports whether headers must be kept for the take.
func (t Take) Fields() bool { return t.kind.fields }

// From returns the value in an answer. It reports false if there is none, or if it has more than 16 KiB.
func (t Take) From(a Answer) (string, bool) {
	value, found := t.read(a)
	return value, found && len(value) <= mostValue
}

// takeJSON reads a value of a JSON body, as its text or, of an object or array, as it is written.
func takeJSON(path string) (func(a Answer) (string, bool), error) {
	if path == "" || modifier.MatchString(path) {
		return nil, errForm
	}
	if path[0] == '$' || index.MatchString(path) {
		return nil, errors.New("a path is written without $ and brackets, as in items.0.id")
	}
	return func(a Answer) (string, bool) {
		if !json.Valid(a.Content()) { // it refuses what is nested deeper than 10,000
			return "", false
		}
		r := gjson.GetBytes(a.Content(), path)
		return strings.Clone(r.String()), r.Exists() && r.Type != gjson.Null // the content is overwritten later
	}, nil
}

// takeHeader reads the first header of a name.
func takeHeader(name string) (func(a Answer) (string, bool), error) {
	if !token.MatchString(name) {
		return nil, errForm
	}
	return func(a Answer) (string, bool) {
		values := a.Field(name)
		if len(values) == 0 {
			return "", false
		}
		return strings.Clone(values[0]), true
	}, nil
}

// takeCookie reads the cookie of a name that the answer sets last.
func takeCookie(name string) (func(a Answer) (string, bool), error) {
	if !token.MatchString(name) {
		return nil, errForm
	}
	return func(a Answer) (value string, found bool) {
		for _, line := range a.Field("Set-Cookie") {
			if c, err := http.ParseSetCookie(line); err == nil && c.Name == name {
				value, found = strings.Clone(c.Value), true
			}
		}
		return value, found
	}, nil
}

// takeRegex reads the first match in the body: its first group, or all of it.
func takeRegex(text string) (func(a Answer) (string, bool), error) {
	if len(text) < 3 || text[0] != '/' || text[len(text)-1] != '/' {
		return nil, errForm
	}
	pattern, err := regexp.Compile(text[1 : len(text)-1])
	if err != nil {
		return nil, err
	}
	group := min(1, pattern.NumSubexp())
	return func(a Answer) (string, bool) {
		m := pattern.FindSubmatch(a.Content())
		if m == nil || m[group] == nil {
			return "", false
		}
		return string(m[group]), true
	}, nil
}
