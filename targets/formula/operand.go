package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// operand is a part of an expression. One of its functions is set, that of its kind.
type operand struct {
	kind     Kind
	constant bool
	literal  string // of a constant text
	text     func(*Values) string
	number   func(*Values) float64
	truth    func(*Values) bool
}

// written returns the operand as a text.
func (o operand) written() func(*Values) string {
	switch o.kind {
	case Number:
		return func(v *Values) string { return strconv.FormatFloat(v.finite(o.number(v)), 'f', -1, 64) }
	case Truth:
		return func(v *Values) string { return strconv.FormatBool(o.truth(v)) }
	}
	return o.text
}

// read returns the operand as a number; a text is read as one.
func (o operand) read() func(*Values) float64 {
	if o.kind == Number {
		return o.number
	}
	return func(v *Values) float64 { return v.number(o.text(v)) }
}

func ofText(constant bool, f func(*Values) string) operand {
	return operand{kind: Text, constant: constant, text: f}
}

func ofNumber(constant bool, f func(*Values) float64) operand {
	return operand{kind: Number, constant: constant, number: f}
}

func ofTruth(constant bool, f func(*Values) bool) operand {
	return operand{kind: Truth, constant: constant, truth: f}
}

// arithmetic returns what an operator computes; nil if it is none of numbers.
func arithmetic(operator string) func(v *Values, a, b float64) float64 {
	switch operator {
	case "+":
		return func(v *Values, a, b float64) float64 { return v.finite(a + b) }
	case "-":
		return func(v *Values, a, b float64) float64 { return v.finite(a - b) }
	case "*":
		return func(v *Values, a, b float64) float64 { return v.finite(a * b) }
	case "/":
		return func(v *Values, a, b float64) float64 { return v.finite(a / v.divisor(b)) }
	case "%":
		return func(v *Values, a, b float64) float64 { return v.finite(math.Mod(a, v.divisor(b))) }
	}
	return nil
}

// divisor notes a division by zero.
func (v *Values) divisor(n float64) float64 {
	if n == 0 {
		v.fail(ErrDivision)
		return 1
	}
	return n
}

// order returns how an operator compares two numbers; nil if it does not.
func order(operator string) func(a, b float64) bool {
	switch operator {
	case "<":
		return func(a, b float64) bool { return a < b }
	case "<=":
		return func(a, b float64) bool { return a <= b }
	case ">":
		return func(a, b float64) bool { return a > b }
	case ">=":
		return func(a, b float64) bool { return a >= b }
	}
	return nil
}

// part returns what an operator looks for in a text; nil if it does not.
func part(operator string) func(a, b string) bool {
	switch operator {
	case "contains":
		return strings.Contains
	case "startsWith":
		return strings.HasPrefix
	case "endsWith":
		return strings.HasSuffix
	}
	return nil
}

// equal compares two operands: as numbers if one is a number, else as texts.
func equal(a, b operand) operand { return oneOf(a, []operand{b}) }

// not turns a condition round.
func not(a operand) operand {
	return ofTruth(a.constant, func(v *Values) bool { return !a.truth(v) })
}

// oneOf returns whether a value equals one of the items, in their order. It computes the value once: in nested lists it would
// double with each item.
func oneOf(a operand, items []operand) operand {
	constant := a.constant && !slices.ContainsFunc(items, func(o operand) bool { return !o.constant })
	if a.kind == Number {
		var numbers []func(*Values) float64
		for _, o := range items {
			numbers = append(numbers, o.read())
		}
		return ofTruth(constant, func(v *Values) bool {
			x := a.number(v)
			return slices.ContainsFunc(numbers, func(y func(*Values) float64) bool { return v.err == nil && x == y(v) })
		})
	}
	var equals []func(*Values, string) bool
	for _, o := range items {
		if o.kind == Number {
			equals = append(equals, func(v *Values, x string) bool { return v.number(x) == o.number(v) })
			continue
		}
		y := o.written()
		equals = append(equals, func(v *Values, x string) bool { return x == y(v) })
	}
	x := a.written()
	return ofTruth(constant, func(v *Values) bool {
		text := x(v)
		return slices.ContainsFunc(equals, func(equal func(*Values, string) bool) bool { return v.err == nil && equal(v, text) })
	})
}
