package formula

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// maxNodes bounds the parts of an expression.
const maxNodes = 200

// Parse reads an expression. An error is an *Error: one line that says what is wrong, and what to do.
func Parse(text string, s Scope) (*Formula, error) {
	if len(text) > MaxBytes {
		return nil, &Error{MaxBytes, fmt.Errorf("an expression has at most %d bytes; set a part of it before", MaxBytes)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{0, errors.New("the expression is empty; write one, such as ${NAME} == \"TEXT\"")}
	}
	hidden, found, err := hide(text)
	if err != nil {
		return nil, err
	}
	config := conf.CreateNew()
	clear(config.Builtins)
	config.MaxNodes, config.DisableIfOperator = maxNodes, true
	tree, err := parser.ParseWithConfig(hidden, config)
	if err != nil {
		return nil, syntax(err, text, found)
	}
	r := reader{s, found}
	whole, err := r.operand(tree.Node)
	if err != nil {
		return nil, err
	}
	f := &Formula{operand: whole, most: r.mostLoops(tree.Node)}
	if f.constant { // its problems show at once
		if _, err := f.Value(new(Values)); err != nil {
			return nil, at(tree.Node, "%w in an expression without variables; write the value", err)
		}
	}
	return f, nil
}

// wrongNumber matches what the parser says of a number that is none.
var wrongNumber = regexp.MustCompile(`^invalid .* literal: .* parsing "(.*)"`)

// syntax returns an error of the parser.
func syntax(err error, text string, found []Variable) error {
	e, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &Error{0, errors.New("is no expression; use operators, numbers, texts in quotes and ${NAME}")}
	}
	message := e.Message
	if m := wrongNumber.FindStringSubmatch(message); m != nil { // the parser is behind it already
		before, _, _ := strings.Cut(text, m[1])
		return &Error{len([]rune(before)), fmt.Errorf("%.40s is no number, or too large; write one of up to 1e308", m[1])}
	}
	for i, v := range slices.Backward(found) {
		message = strings.ReplaceAll(message, fmt.Sprintf(`Identifier("_%d")`, i), "${"+v.Name+"}")
	}
	message = regexp.MustCompile(`(Identifier|Operator|Bracket|Number|String)\((".*?")\)`).ReplaceAllString(message, "$2")
	switch {
	case strings.Contains(message, "EOF"), strings.Contains(message, "unexpected end"):
		message = "the expression ends too early; write what follows"
	case strings.Contains(message, `"="`):
		message = `"=" compares nothing; write ==`
	case strings.Contains(message, "nodes"):
		message = fmt.Sprintf("an expression has at most %d parts; set a part of it before", maxNodes)
	case strings.Contains(message, "not terminated"):
		message = "the text has no end; write a quote behind it"
	case strings.Contains(message, "unclosed comment"):
		message = "the comment has no end; write */ behind it"
	case strings.HasPrefix(message, "unexpected token "):
		message = strings.TrimPrefix(message, "unexpected token ") + " cannot stand here; write an operator between two values, and a value on each side"
	default:
		message += "; use operators, numbers, texts in quotes and ${NAME}"
	}
	return &Error{min(e.From, len([]rune(text))), errors.New(message)}
}

// at returns an error at a part of the expression.
func at(n ast.Node, format string, args ...any) error {
	return &Error{n.Location().From, fmt.Errorf(format, args...)}
}

// reader makes operands of the parts of an expression.
type reader struct {
	Scope
	found []Variable
}

// operand reads a part.
func (r reader) operand(n ast.Node) (operand, error) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return constantNumber(float64(n.Value)), nil
	case *ast.FloatNode:
		return constantNumber(n.Value), nil
	case *ast.StringNode:
		o := ofText(true, func(*Values) string { return n.Value })
		o.literal = n.Value
		return o, nil
	case *ast.BoolNode:
		return ofTruth(true, func(*Values) bool { return n.Value }), nil
	case *ast.IdentifierNode:
		return r.variable(n)
	case *ast.UnaryNode:
		return r.unary(n)
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.ConditionalNode:
		return r.choice(n)
	case *ast.ArrayNode:
		return operand{}, at(n, `a list stands behind in alone; write ${NAME} in ["a", "b"]`)
	case *ast.CallNode, *ast.BuiltinNode:
		return operand{}, at(n, "there are no functions; use operators, or take another part of the answer")
	case *ast.MemberNode, *ast.ChainNode, *ast.SliceNode:
		return operand{}, at(n, "a value has no parts; take the part under a name of its own")
	}
	return operand{}, at(n, "this does not belong into an expression; use operators, numbers, texts in quotes and ${NAME}")
}

func constantNumber(value float64) operand {
	return ofNumber(true, func(*Values) float64 { return value })
}

// variable reads ${NAME}.
func (r reader) variable(n *ast.IdentifierNode) (operand, error) {
	i := slices.IndexFunc(r.found, func(v Variable) bool { return v.Offset == n.Location().From })
	if i < 0 {
		return operand{}, at(n, `%.40q is no value; write "%[1]s" for a text, or ${%.40[1]s} for what has this name`, n.Value)
	}
	name := r.found[i].Name
	if slices.Contains(r.Taken, Unsure+name) {
		return operand{}, at(n, "${%.40s} is not taken and not set on every way to here; set it before the first step that may leave it out", name)
	}
	if taken := slices.Index(r.Taken, name); taken >= 0 {
		return ofText(false, func(v *Values) string { return v.Taken[taken] }), nil
	}
	switch {
	case name == "status":
		return ofNumber(false, func(v *Values) float64 { return float64(v.Status) }), nil
	case name == "ordinal":
		return ofNumber(false, func(v *Values) float64 { return float64(v.Ordinal) }), nil
	case name == "elapsed":
		return ofNumber(false, func(v *Values) float64 { return float64(v.Elapsed) / 1e6 }), nil
	case name == "loop" && r.Loop:
		return ofNumber(false, func(v *Values) float64 { return float64(v.Loop) }), nil
	case name == "loop":
		return operand{}, at(n, "${loop} counts a loop, and there is none around; leave it out")
	case strings.Contains(name, ".") && r.Columns != nil:
		column, err := r.Columns(name)
		if err != nil {
			return operand{}, at(n, "${%.40s}: %w", name, err)
		}
		return ofText(false, func(v *Values) string { return v.Cell(column) }), nil
	}
	return operand{}, at(n, "${%.40s}: there is no such value here; take or set it before, or use one of %s", name, r.known())
}

// known lists the variables.
func (r reader) known() string {
	var all []string
	for _, name := range r.Taken {
		if !strings.HasPrefix(name, Unsure) {
			all = append(all, "${"+name+"}")
		}
	}
	if r.Loop {
		all = append(all, "${loop}")
	}
	return strings.Join(append(all, "${status} ${ordinal} ${elapsed} and ${FILE.COLUMN}"), " ")
}

// unary reads an operator with one side.
func (r reader) unary(n *ast.UnaryNode) (operand, error) {
	a, err := r.operand(n.Node)
	switch {
	case err != nil:
		return a, err
	case n.Operator == "!" || n.Operator == "not":
		return not(a), condition(n.Node, a)
	}
	if err := numeric(n.Node, a); err != nil {
		return a, err
	}
	x := a.read()
	if n.Operator == "+" {
		return ofNumber(a.constant, x), nil
	}
	return ofNumber(a.constant, func(v *Values) float64 { return -x(v) }), nil
}

// binary reads an operator with two sides.
func (r reader) binary(n *ast.BinaryNode) (operand, error) {
	if chained(n) {
		return operand{}, at(n, "comparisons do not follow each other; write A < B && B < C")
	}
	a, err := r.operand(n.Left)
	if err != nil {
		return a, err
	}
	if n.Operator == "in" {
		return r.in(n, a)
	}
	b, err := r.operand(n.Right)
	if err != nil {
		return b, err
	}
	constant := a.constant && b.constant
	if compute, compare := arithmetic(n.Operator), order(n.Operator); compute != nil || compare != nil {
		if err := errors.Join(numeric(n.Left, a), numeric(n.Right, b)); err != nil {
			return a, first(err)
		}
		x, y := a.read(), b.read()
		if compute != nil {
			return ofNumber(constant, func(v *Values) float64 { return compute(v, x(v), y(v)) }), nil
		}
		return ofTruth(constant, func(v *Values) bool { return compare(x(v), y(v)) }), nil
	}
	if look := part(n.Operator); look != nil {
		x, y := a.written(), b.written()
		return ofTruth(constant, func(v *Values) bool { return look(x(v), y(v)) }), nil
	}
	switch n.Operator {
	case "==":
		return equal(a, b), comparable(n.Left, n.Right, a, b)
	case "!=":
		return not(equal(a, b)), comparable(n.Left, n.Right, a, b)
	case "&&", "and", "||", "or":
		if err := errors.Join(condition(n.Left, a), condition(n.Right, b)); err != nil {
			return a, first(err)
		}
		if n.Operator == "||" || n.Operator == "or" {
			return ofTruth(constant, func(v *Values) bool { return a.truth(v) || v.err == nil && b.truth(v) }), nil
		}
		return ofTruth(constant, func(v *Values) bool { return a.truth(v) && v.err == nil && b.truth(v) }), nil
	}
	return a, at(n, "there is no operator %.20q; use one of == != < <= > >= + - * / %% && || ! in contains startsWith endsWith ?:", n.Operator)
}

// chained reports whether the parser has made A < B && B < C of A < B < C. Both sides share the node B, so nested chains would
// double with each level.
func chained(n *ast.BinaryNode) bool {
	x, ok := n.Left.(*ast.BinaryNode)
	y, also := n.Right.(*ast.BinaryNode)
	if ok && x.Operator == "&&" { // a longer chain
		x, ok = x.Right.(*ast.BinaryNode)
	}
	return n.Operator == "&&" && ok && also && x.Right == y.Left
}

// in reads whether a value is one of a list.
func (r reader) in(n *ast.BinaryNode, a operand) (operand, error) {
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return a, at(n.Right, `behind in stands a list; write ${NAME} in ["a", "b"]`)
	}
	var all []operand
	for _, item := range list.Nodes {
		b, err := r.operand(item)
		if err == nil {
			err = comparable(n.Left, item, a, b)
		}
		if err != nil {
			return a, err
		}
		all = append(all, b)
	}
	return oneOf(a, all), nil
}

// choice reads CONDITION ? A : B.
func (r reader) choice(n *ast.ConditionalNode) (operand, error) {
	c, err := r.operand(n.Cond)
	if err != nil {
		return c, err
	}
	a, err := r.operand(n.Exp1)
	if err != nil {
		return a, err
	}
	b, err := r.operand(n.Exp2)
	switch {
	case err != nil:
		return b, err
	case c.kind != Truth:
		return c, condition(n.Cond, c)
	case a.kind != b.kind:
		return a, at(n.Exp2, "this is %v, and the other side of ?: is %v; make both the same", b.kind, a.kind)
	}
	constant := a.constant && b.constant && c.constant
	switch a.kind {
	case Number:
		return ofNumber(constant, func(v *Values) float64 {
			if c.truth(v) {
				return a.number(v)
			}
			return b.number(v)
		}), nil
	case Truth:
		return ofTruth(constant, func(v *Values) bool {
			if c.truth(v) { // computed once: nested choices would double otherwise
				return a.truth(v)
			}
			return b.truth(v)
		}), nil
	}
	return ofText(constant, func(v *Values) string {
		if c.truth(v) {
			return a.text(v)
		}
		return b.text(v)
	}), nil
}

// numeric checks that a part can be read as a number.
func numeric(n ast.Node, o operand) error {
	if o.kind == Truth {
		return at(n, "this is true or false, and a number is needed here; compare numbers")
	}
	if o.kind == Text && o.constant {
		if v := new(Values); o.text(v) == "" || v.failed(o) {
			return at(n, "the text %.40q is no number, and one is needed here; write the number, or compare texts with ==", o.literal)
		}
	}
	return nil
}

// failed reports whether a constant text is no number.
func (v *Values) failed(o operand) bool {
	v.number(o.text(v))
	return v.err != nil
}

// condition checks that a part is true or false.
func condition(n ast.Node, o operand) error {
	if o.kind == Truth {
		return nil
	}
	return at(n, "this is %v, and a condition is needed here; compare it, as in ${NAME} == \"true\"", o.kind)
}

// comparable checks that two parts can be equal.
func comparable(left, right ast.Node, a, b operand) error {
	if a.kind == Number || b.kind == Number {
		return first(errors.Join(numeric(left, a), numeric(right, b)))
	}
	return nil
}

// first returns the first of joined errors.
func first(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()[0]
	}
	return err
}

// mostLoops returns the bound that a condition of a loop sets to it; −1 = there is none.
func (r reader) mostLoops(n ast.Node) int {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return -1
	}
	more := 0
	switch b.Operator {
	case "&&", "and":
		x, y := r.mostLoops(b.Left), r.mostLoops(b.Right)
		if x < 0 || y >= 0 && y < x {
			return y
		}
		return x
	case "<=":
		more = 1
	case "<":
	default:
		return -1
	}
	name, isName := b.Left.(*ast.IdentifierNode)
	limit, isNumber := b.Right.(*ast.IntegerNode)
	if !isName || !isNumber || !slices.Contains(r.found, Variable{name.Location().From, "loop"}) {
		return -1
	}
	return max(0, min(limit.Value, math.MaxInt32)+more)
}
