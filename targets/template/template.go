// Package template fills placeholders in texts, so that each request differs from the others:
//
//	text, err := template.Parse("/items/${random 1 100}", template.Options{})
//	if err != nil { … }
//	path := text.Append(nil, template.Request{Number: 7, Time: time.Now().UnixNano()})
//
// The same Request fills a Text in the same way each time. Two Texts share the values of a Request only if they were
// parsed with different salts, see Options.
//
// Not here: where the text stands, and so how a value has to be escaped. No value of this package needs it; for those of
// data files there is Options.Escape.
package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets/trace"
)

// Request says for which request a Text is filled.
type Request struct {
	Number uint64    // of the request in its run
	Row    uint64    // the number by which it gets the rows of data files
	Time   int64     // when it is filled, right before it is sent: Unix time, ns; it goes into the random values
	Worker string    // the worker's id
	Seed   [2]uint64 // of the random values: each process has another
	Taken  []string  // what the flow has taken from answers, by index; see Options.Taken

	Trace trace.Source // of its trace and span ids
	Step  int          // index of its step in the workload; 0 without one
}

// Text is a text with placeholders. The zero value is empty. It never changes, so any number of goroutines may use it.
type Text struct {
	parts []part
}

// part is a literal, and the value after it; a nil value is none.
type part struct {
	literal string
	name    string // of the value
	value   value
}

// Literal returns a Text without placeholders, whatever s holds.
func Literal(s string) Text { return Text{[]part{{literal: s}}} }

// Live returns a Text that is what add appends whenever it is filled: a value of its own time, not of the request. Any
// number of goroutines may call add.
func Live(add func(b []byte) []byte) Text {
	return Text{[]part{{value: func(b []byte, _ Request) []byte { return add(b) }}, {}}}
}

// Filled returns a Text that is what add appends for a request. Any number of goroutines may call add.
func Filled(add func(b []byte, r Request) []byte) Text { return Text{[]part{{value: add}, {}}} }

// Options say what placeholders mean in a text. The zero value knows no data files.
type Options struct {
	// Salt distinguishes the texts of one request: texts with different salts have different random values.
	Salt uint64
	// Column returns the cells of a column of a data file, by Request.Row. The column is named
	// SOURCE.COLUMN. An error is one line that says what to do.
	Column func(name string) (func(number uint64) string, error)
	// Taken are the names of the values that earlier steps take, in the order of Request.Taken; see formula.Unsure.
	Taken []string
	// Escape is called once for each placeholder, in order, with the literal before it. It returns how a cell is
	// appended there. nil = as it is.
	Escape func(literal string) func(b []byte, cell string) []byte
}

// Parse reads a text in which ${NAME} and ${NAME ARGUMENTS} are placeholders, and $${ stands for ${. An error is one
// line that says what to do. It quotes the placeholder if that looks like one, and nothing else of the text.
func Parse(s string, o Options) (Text, error) {
	var t Text
	literal := ""
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			t.parts = append(t.parts, part{literal: literal + s})
			return t, nil
		}
		literal += before
		if strings.HasSuffix(before, "$") {
			literal, s = literal[:len(literal)-1]+"${", after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return Text{}, errors.New("${ without }: close the placeholder, or write $${ for the characters ${")
		}
		v, err := o.value(name, literal, o.Salt<<16+uint64(len(t.parts)))
		if err != nil {
			return Text{}, fmt.Errorf("%s: %w", quoted(name), err)
		}
		t.parts = append(t.parts, part{literal, strings.Fields(name)[0], v})
		literal, s = "", rest
	}
}

// quoted returns a placeholder for an error. One that does not look like a name may be part of a secret.
func quoted(name string) string {
	if len(name) > 40 || !regexp.MustCompile(`^[A-Za-z0-9_. -]+$`).MatchString(name) {
		return "a placeholder"
	}
	return "${" + name + "}"
}

// Literals returns what stands before, between and after the placeholders: one more than there are placeholders.
func (t Text) Literals() []string {
	all := make([]string, 0, len(t.parts))
	for _, p := range t.parts {
		all = append(all, p.literal)
	}
	return all
}

// Names returns the names of the placeholders, without their arguments.
func (t Text) Names() []string {
	var all []string
	for _, p := range t.parts {
		if p.value != nil {
			all = append(all, p.name)
		}
	}
	return all
}

// Placeholder returns the i-th placeholder alone, as a text.
func (t Text) Placeholder(i int) Text {
	return Text{[]part{{name: t.parts[i].name, value: t.parts[i].value}, {}}}
}

// WithLiterals returns the text with other literals, as many as Literals returns.
func (t Text) WithLiterals(literals []string) Text {
	parts := slices.Clone(t.parts)
	for i := range parts {
		parts[i].literal = literals[i]
	}
	return Text{parts}
}

// Varies reports whether the text has placeholders.
func (t Text) Varies() bool { return len(t.parts) > 1 }

// Append appends the text, filled for r, to b. It allocates nothing if b has room.
func (t Text) Append(b []byte, r Request) []byte {
	for i := range t.parts {
		p := &t.parts[i]
		b = append(b, p.literal...)
		if p.value != nil {
			b = p.value(b, r)
		}
	}
	return b
}

// Then returns t followed by u.
func (t Text) Then(u Text) Text {
	if len(t.parts) == 0 || len(u.parts) == 0 {
		return Text{append(slices.Clip(t.parts), u.parts...)}
	}
	last := len(t.parts) - 1 // it has no value
	joined := append(t.parts[:last:last], part{t.parts[last].literal + u.parts[0].literal, u.parts[0].name, u.parts[0].value})
	return Text{append(joined, u.parts[1:]...)}
}
