package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/loadctl/loadctl/internal/server/seen"
)

// A Unique counts the different values of one thing in requests, and which of them came more than once. ParseUnique
// makes one. All methods are safe for concurrent use.
type Unique struct {
	text    string
	value   func(r *http.Request, body []byte) (string, bool)
	set     *seen.Set
	without atomic.Int64
}

// UniqueForms lists what ParseUnique reads.
const UniqueForms = "path; query NAME; header NAME; or json PATH, such as json user.id"

// modifier finds a modifier in a path of gjson. Some take quadratic time, or recurse as deep as the body.
var modifier = regexp.MustCompile(`(^|[^\\])@`)

// token matches the name of a header (RFC 9110, 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// ParseUnique reads what is to be compared: one of UniqueForms. An error is one line that says what to do.
func ParseUnique(text string) (*Unique, error) {
	kind, name, _ := strings.Cut(strings.TrimSpace(text), " ")
	name = strings.TrimSpace(name)
	u := &Unique{text: strings.TrimSpace(kind + " " + name), set: seen.New(seen.Most)}
	err := errors.New("it is not complete or not right")
	switch {
	case kind == "path" && name == "":
		u.value = func(r *http.Request, _ []byte) (string, bool) { return r.URL.EscapedPath(), true }
	case kind == "query" && name != "":
		u.value = func(r *http.Request, _ []byte) (string, bool) {
			values, ok := r.URL.Query()[name]
			return strings.Join(values, "\n"), ok
		}
	case kind == "header" && token.MatchString(name):
		u.value = headerValue(name)
	case kind == "json" && (strings.ContainsAny(name, "[]") || strings.HasPrefix(name, "$")):
		err = errors.New("a path is written without $ and brackets, as in items.0.id")
	case kind == "json" && name != "" && !modifier.MatchString(name):
		u.value = jsonValue(name)
	}
	if u.value == nil {
		return nil, fmt.Errorf("%.60q: %w; write one of %s", text, err, UniqueForms)
	}
	return u, nil
}

func headerValue(name string) func(*http.Request, []byte) (string, bool) {
	if strings.EqualFold(name, "Host") { // net/http keeps it apart
		return func(r *http.Request, _ []byte) (string, bool) { return r.Host, true }
	}
	return func(r *http.Request, _ []byte) (string, bool) {
		values := r.Header.Values(name)
		return strings.Join(values, "\n"), len(values) > 0
	}
}

func jsonValue(path string) func(*http.Request, []byte) (string, bool) {
	return func(_ *http.Request, body []byte) (string, bool) {
		if !json.Valid(body) { // it refuses what is nested deeper than 10,000
			return "", false
		}
		v := gjson.GetBytes(body, path)
		return v.String(), v.Exists()
	}
}

// Count looks at a request that has arrived.
func (u *Unique) Count(r *http.Request, body []byte) {
	value, ok := u.value(r, body)
	if !ok {
		u.without.Add(1)
		return
	}
	u.set.Add(value)
}

// A UniqueCount is what a Unique has counted.
type UniqueCount struct {
	Of         string `json:"of"`
	Values     int64  `json:"values"`      // different ones
	Twice      int64  `json:"twice"`       // those of them that came more than once
	Without    int64  `json:"without"`     // requests that have no such value
	NotCounted int64  `json:"not_counted"` // requests with a new value after seen.Most values
}

// Counted returns what was counted so far.
func (u *Unique) Counted() UniqueCount {
	return UniqueCount{u.text, u.set.Values(), u.set.Twice(), u.without.Load(), u.set.Missed()}
}
