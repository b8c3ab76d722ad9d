// Package formula computes expressions over what a flow knows:
//
//	f, err := formula.Parse(`${state} == "running" && ${loop} < 20`, formula.Scope{Taken: []string{"state"}, Loop: true})
//	if err != nil { … }
//	again, err := f.Truth(&formula.Values{Taken: []string{"running"}, Loop: 3})
//
// The syntax is that of github.com/expr-lang/expr, of which it has operators and literals alone. There are no functions, no
// loops and no assignments: an expression ends, allocates no more than a text, and changes nothing.
//
// What is taken from an answer, and a cell of a data file, is a text. The operator says how it is read:
//
//	< > <= >= + - * / %    both sides are numbers
//	== != in               numbers if one side is a number, else texts
//	contains startsWith endsWith    both sides are read as texts
//	&& || ! ?:             the sides are conditions
//
// A number is a float64. A text is read as one if it is a number of JSON.
package formula

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds the text of an expression.
const MaxBytes = 1000

// Kind is what an expression gives.
type Kind int

// The kinds of values.
const (
	Text Kind = iota
	Number
	Truth // true or false
)

// String returns the name of the kind, as errors have it.
func (k Kind) String() string { return [...]string{"a text", "a number", "true or false"}[k] }

// Scope says which variables an expression may have.
type Scope struct {
	Taken   []string                       // by index in Values.Taken; Unsure before a name = it may have no value there
	Columns func(name string) (int, error) // index of SOURCE.COLUMN for Values.Cell
	Loop    bool                           // the expression stands in a loop
}

// Unsure stands before the name of a value that is not taken on every way to a place.
const Unsure = "?"

// Values are the variables of one evaluation.
type Values struct {
	Taken   []string
	Cell    func(column int) string
	Status  int    // of the answer before, 0 = it has none
	Ordinal uint64 // of the slot that started the flow
	Loop    int    // how many times the innermost loop came to its end
	Elapsed int64  // since the slot was due, ns

	err error // the first problem of the evaluation
}

// The problems of an evaluation.
var (
	ErrNumber   = errors.New("not a number")        // a text is compared with a number, or computed with
	ErrDivision = errors.New("division by zero")    // by / or %
	ErrRange    = errors.New("number out of range") // more than 1.8·10³⁰⁸
)

// An Error is a problem of an expression at a place of its text.
type Error struct {
	Offset int // in characters
	Err    error
}

// Error returns the problem, without its place.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the problem.
func (e *Error) Unwrap() error { return e.Err }

// A Formula is a parsed expression. It never changes, so any number of goroutines may use it.
type Formula struct {
	operand
	most int
}

// Kind returns what the formula gives.
func (f *Formula) Kind() Kind { return f.kind }

// Constant reports whether the formula has no variables.
func (f *Formula) Constant() bool { return f.constant }

// MostLoops returns how often the formula is true at most, as the condition of a loop: N if it has the form
// ${loop} < N && …; −1 if it has not.
func (f *Formula) MostLoops() int { return f.most }

// Truth computes a condition. The formula's Kind must be Truth.
func (f *Formula) Truth(v *Values) (bool, error) {
	v.err = nil
	is := f.truth(v)
	return is, v.err
}

// Value computes a value of any Kind, as a text: a number without an exponent, or true or false.
func (f *Formula) Value(v *Values) (string, error) {
	v.err = nil
	text := f.written()(v)
	return text, v.err
}

// fail notes the first problem.
func (v *Values) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// number reads a text as a number.
func (v *Values) number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !plain(text) {
		v.fail(ErrNumber)
	}
	return n
}

// plain reports whether a text that strconv reads is a number of JSON.
func plain(text string) bool {
	digit := func(i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }
	begin := len(text) - len(strings.TrimPrefix(text, "-"))
	if !digit(begin) || text[begin] == '0' && digit(begin+1) || strings.ContainsAny(text, "_xX") {
		return false
	}
	dot := strings.IndexByte(text, '.')
	return dot < 0 || digit(dot+1)
}

// finite notes a number that is none.
func (v *Values) finite(n float64) float64 {
	if math.IsInf(n, 0) || math.IsNaN(n) {
		v.fail(ErrRange)
	}
	return n
}

// Variables returns the variables of an expression, in their order. It need not be valid.
func Variables(text string) []Variable {
	_, found, _ := hide(text)
	return found
}

// A Variable is ${NAME} in an expression.
type Variable struct {
	Offset int // in characters
	Name   string
}

// hide replaces each ${NAME} by an identifier that is as long, so that places stay.
func hide(text string) (hidden string, found []Variable, err error) {
	var b strings.Builder
	quote := rune(0) // of the text literal that is open
	offset := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch named := strings.HasPrefix(text[i:], "${"); {
		case named && quote != 0:
			return "", nil, &Error{offset, errors.New("a text in quotes has no placeholders; write ${NAME} without quotes")}
		case named:
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return "", nil, &Error{offset, errors.New("${ without }; write ${NAME}")}
			}
			name := text[i+2 : i+end]
			found = append(found, Variable{offset, name})
			width := utf8.RuneCountInString(text[i : i+end+1])
			if name == "" || len(found) > 99 {
				return "", nil, &Error{offset, errors.New("is no name of a value; write ${NAME}, at most 99 of them")}
			}
			fmt.Fprintf(&b, "%-*s", width, "_"+strconv.Itoa(len(found)-1))
			i, offset = i+end+1, offset+width
			continue
		case quote != 0 && r == '\\' && quote != '`' && i+n < len(text):
			b.WriteString(text[i : i+n])
			i, offset = i+n, offset+1
			_, n = utf8.DecodeRuneInString(text[i:])
		case quote == r:
			quote = 0
		case quote == 0 && strings.ContainsRune("\"'`", r):
			quote = r
		}
		b.WriteString(text[i : i+n])
		i, offset = i+n, offset+1
	}
	return b.String(), found, nil
}
