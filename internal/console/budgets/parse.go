package budgets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
)

// Entry is a budget of a file.
type Entry struct {
	Name          string // as endpoint.Parse returns it
	Rate          int64  // requests per 1,000,000 s; 0 = there is only a freeze
	Note, By      string
	Frozen        bool
	Why, FrozenBy string
}

// file is a Document as people may have changed it.
type file struct {
	Document
	Budgets []written `json:"budgets"`
}

type written struct {
	Budget
	Rate rateText `json:"rate"`
}

// rateText is a rate: a number, or a text such as "2.5k".
type rateText string

// UnmarshalJSON implements json.Unmarshaler.
func (r *rateText) UnmarshalJSON(text []byte) error {
	var s string
	if len(text) > 0 && text[0] == '"' && json.Unmarshal(text, &s) == nil {
		*r = rateText(s)
		return nil
	}
	*r = rateText(text)
	return nil
}

// Parse reads a Document as JSON. The entries are in the order in which they can be set: the narrowest names first. Its
// errors say what to write.
func Parse(text []byte) (entries []Entry, err error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, notADocument(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the document; give one document, as loadctl budget export writes it")
	}
	if f.Budgets == nil {
		return nil, errors.New("it has no list of budgets; write what loadctl budget export prints")
	}
	for i, w := range f.Budgets {
		e, err := w.entry()
		if err == nil && slices.ContainsFunc(entries, func(x Entry) bool { return x.Name == e.Name }) {
			err = fmt.Errorf("%s is there twice; leave one out", e.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("budget %d: %w", i+1, err)
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(width(a.Name), width(b.Name)) })
	return entries, nil
}

// width orders names: a narrower one counts before a wider one.
func width(name string) int {
	const longest = 300
	switch {
	case name == "*":
		return 2 * longest
	case name[0] == '*':
		return 2*longest - len(name)
	case name != endpoint.Bare(name):
		return 0
	}
	return 1
}

// entry checks a budget of a file.
func (w written) entry() (e Entry, err error) {
	e = Entry{Note: w.Note, By: w.By, Frozen: w.Frozen, Why: w.Why, FrozenBy: w.FrozenBy}
	if e.Name, err = endpoint.Parse(w.Name); err != nil {
		return e, err
	}
	if w.Rate != "" || !w.Frozen {
		if e.Rate, err = ledger.ParseRate(string(w.Rate)); err != nil {
			return e, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	for _, said := range []struct{ member, text string }{{"note", e.Note}, {"by", e.By}, {"why", e.Why}, {"frozen_by", e.FrozenBy}} {
		if err := CheckText(said.text); err != nil {
			return e, fmt.Errorf("%s: %s %.40q: %w", e.Name, said.member, said.text, err)
		}
	}
	return e, nil
}

// longest is the most characters of what people say about a budget.
const longest = 200

// CheckText refuses what people may not say about a budget: more than a line.
func CheckText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New("is no text in UTF-8")
	case utf8.RuneCountInString(text) > longest:
		return fmt.Errorf("at most %d characters", longest)
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("write one line, without control characters")
	}
	return nil
}

// notADocument says what is wrong with JSON.
func notADocument(err error) error {
	const write = "; write what loadctl budget export prints"
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := "it"
		if e.Field != "" {
			where = e.Field
		}
		return fmt.Errorf("%s is a JSON %s, which does not belong there%s", where, e.Value, write)
	}
	if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("there is no member %.60s%s", field, write)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty" + write)
	}
	return fmt.Errorf("not a JSON document: %w%s", err, write)
}
