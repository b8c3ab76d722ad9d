package importer

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/check"
	"github.com/loadctl/loadctl/targets/template"
)

// takes are the tokens of a recording that an answer gave, and that later requests carry. The step of the answer takes
// them. What a request carried before is none: the client knew it.
type takes struct {
	sent  map[string]bool    // tokens of requests so far
	known map[string]*source // tokens of answers so far
	steps map[int][]targets.Take
	names []string
}

// A source is where an answer has a token.
type source struct {
	answer      answer
	step        int    // that got the answer
	name        string // of the field, header or cookie
	from        string // as a take says it
	placeholder string // "" = no request has carried it
}

func newTakes() *takes {
	return &takes{sent: map[string]bool{}, known: map[string]*source{}, steps: map[int][]targets.Take{}}
}

// Names implements draft.Tokens.
func (t *takes) Names() []string { return t.names }

// Placeholder implements draft.Tokens.
func (t *takes) Placeholder(value string) (string, bool) {
	if !isToken(value) {
		return "", false
	}
	t.sent[value] = true
	s := t.known[value]
	switch {
	case s == nil:
		return "", false
	case s.placeholder == "":
		if len(t.names) == targets.MaxTakes || !s.answer.gives(value, s.from) {
			delete(t.known, value)
			return "", false
		}
		name := t.unique(s.name)
		t.names = append(t.names, name)
		t.steps[s.step] = append(t.steps[s.step], targets.Take{Name: name, From: s.from})
		s.placeholder = "${" + name + "}"
	}
	return s.placeholder, true
}

// unique returns a name for a take.
func (t *takes) unique(name string) string {
	free := func(name string) bool { return !template.IsName(name) && !slices.Contains(t.names, name) }
	return draft.Variable(name, free)
}

// learn finds the tokens in the answer that a step got.
func (t *takes) learn(step int, e entry) {
	a := e.answer()
	add := func(value, name, from string) {
		if isToken(value) && !t.sent[value] && t.known[value] == nil {
			t.known[value] = &source{answer: a, step: step, name: name, from: from}
		}
	}
	draft.EachString(a.content, func(p draft.JSONPath, _, _ int, value string) {
		if isToken(value) { // the path of others is not needed
			add(value, p.Name(), "json "+p.Take())
		}
	})
	for _, h := range e.Response.Headers {
		if !strings.EqualFold(h.Name, setCookie) {
			add(h.Value, h.Name, "header "+h.Name)
		}
	}
	for _, line := range a.Field(setCookie) {
		if c, err := http.ParseSetCookie(line); err == nil {
			add(c.Value, c.Name, "cookie "+c.Name)
		}
	}
	if strings.Contains(e.Response.Content.Type, "html") {
		for _, f := range hidden(a.content) {
			add(f.value, f.name, "regex /"+f.pattern+"/")
		}
	}
}

const setCookie = "Set-Cookie"

// An answer is one of a recording, as takes read it.
type answer struct {
	headers []field
	content []byte
}

// answer returns the answer of an entry, as much of it as a run keeps.
func (e entry) answer() answer {
	content := []byte(e.Response.Content.Text)
	if e.Response.Content.Encoding == "base64" {
		content, _ = base64.StdEncoding.DecodeString(e.Response.Content.Text) // what is wrong has no tokens
	}
	return answer{e.Response.Headers, content[:min(len(content), check.Most)]}
}

// Status implements check.Answer. No take reads it.
func (a answer) Status() int { return 0 }

// Content implements check.Answer.
func (a answer) Content() []byte { return a.content }

// Length implements check.Answer.
func (a answer) Length() int64 { return int64(len(a.content)) }

// Field implements check.Answer. Browsers write several cookies in lines of one header.
func (a answer) Field(name string) (values []string) {
	for _, h := range a.headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, strings.Split(h.Value, "\n")...)
		}
	}
	return values
}

// gives reports whether a take of the answer has this value.
func (a answer) gives(value, from string) bool {
	take, err := check.ParseTake(from)
	if err != nil {
		return false
	}
	got, ok := take.From(a)
	return ok && got == value
}

// The bounds of tokens. A take is not longer.
const (
	leastToken = 8
	mostToken  = 16 << 10
)

var (
	tokenText = regexp.MustCompile(`^[A-Za-z0-9._~+:-][A-Za-z0-9._~+/=:-]*$`)
	dated     = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T|$)`)
)

// isToken reports whether a value is likely to be one that only a server can know: 8 characters or more, without spaces,
// with letters and digits, that are no date and no URL.
func isToken(value string) bool {
	const letters, digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return len(value) >= leastToken && len(value) <= mostToken && strings.ContainsAny(value, letters) && strings.ContainsAny(value, digits) &&
		tokenText.MatchString(value) && !dated.MatchString(value) && !strings.Contains(value, "://")
}

// A hiddenField is a value that a page has for its own requests, and a pattern that finds it.
type hiddenField struct{ name, value, pattern string }

var (
	fieldTag  = regexp.MustCompile(`(?i)<(?:input|meta)\s[^>]*>`)
	fieldName = regexp.MustCompile(`(?i)\sname="([^"]*)"`)
	fieldText = regexp.MustCompile(`(?i)\s(?:value|content)="([^"]*)"`)
)

// hidden returns the fields of forms, and of the head, in HTML.
func hidden(page []byte) (all []hiddenField) {
	for _, tag := range fieldTag.FindAllString(string(page), -1) {
		name, text := fieldName.FindStringSubmatchIndex(tag), fieldText.FindStringSubmatchIndex(tag)
		if name == nil || text == nil {
			continue
		}
		// The pattern goes from the beginning of the first of both to the end of the second one.
		before, after := tag[min(name[0], text[0])+1:text[2]], tag[text[3]:max(name[1], text[1])]
		all = append(all, hiddenField{tag[name[2]:name[3]], tag[text[2]:text[3]], regexp.QuoteMeta(before) + `([^"]*)` + regexp.QuoteMeta(after)})
	}
	return all
}
