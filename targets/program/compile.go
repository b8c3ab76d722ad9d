package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loadctl/loadctl/targets/formula"
)

// A Program is a compiled flow. It never changes, so any number of goroutines may use it.
type Program struct {
	code []instruction

	Known   [][]string      // of each step: the names that may be taken before it, by their index; see formula.Unsure
	Names   []string        // of all values, by their index
	Columns []string        // of data files that expressions use, by their index in formula.Values.Cell
	Least   int64           // steps that a flow sends, if none fails
	Most    int64           // the same
	Paused  time.Duration   // by pauses that stand between steps, at most
	Times   []int64         // of each step: how often a flow sends it at most
	Looped  []bool          // of each step: it stands in a loop
	Dead    map[*Block]bool // blocks that no flow reaches
}

// An Error is a problem of a block.
type Error struct {
	Block  *Block
	Key    string // of the block that it is about: if, while, repeat, for_each, set, fail or pause; "" = the block
	Index  int    // in Set
	Offset int    // in characters of the text
	Err    error
}

// Error returns the problem with its place.
func (e *Error) Error() string {
	if e.Key == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s, character %d: %v", e.Key, e.Offset+1, e.Err)
}

// Unwrap returns the problem.
func (e *Error) Unwrap() error { return e.Err }

// op is what an instruction does.
type op uint8

const (
	send   op = iota // sends step
	unless           // goes on at to unless when holds
	jump             // goes on at to
	enter            // begins a loop; with name, over the items of that list
	test             // ends the loop unless when holds, or there is another item or repetition
	again            // goes on with the loop at to
	set              // computes when for name
	fail             // ends the flow
	wait             // adds a pause
)

type instruction struct {
	op         op
	to         int
	step       int
	when       *formula.Formula
	name, list int // index of a value; −1 = none
	count      int
	pause      Pause
	reason     error
	bypassed   mask // the steps that are left out if it does not hold
	otherwise  mask // and if it does
}

// compiler makes a program of blocks.
type compiler struct {
	Program
	takes   [][]string // by step
	taken   []string   // so far, by index
	step    int        // the next one
	loops   int        // around
	depth   int
	blocks  int
	skipped bool // no flow comes here
}

// ways are the steps that blocks send.
type ways struct {
	least, most int64
	ends        bool // each way ends in fail
}

// Compile makes a Program of the blocks of a flow. takes are the names that each step takes; the blocks send the steps in
// their order, each in one place. An error is an *Error: one line that says what to do.
func Compile(blocks []*Block, takes [][]string) (*Program, error) {
	c := &compiler{takes: takes}
	c.Times, c.Looped, c.Dead = make([]int64, len(takes)), make([]bool, len(takes)), map[*Block]bool{}
	if len(takes) > MaxSteps {
		return nil, &Error{Err: fmt.Errorf("give a flow 1 to %d steps", MaxSteps)}
	}
	if err := begins(blocks); err != nil {
		return nil, err
	}
	w, err := c.list(blocks, 1)
	if err == nil && c.step != len(takes) {
		err = &Error{Err: errors.New("the blocks of a flow send each of its steps in one place, in their order")}
	}
	if err != nil {
		return nil, err
	}
	c.Names = bare(c.taken)
	c.Least, c.Most = min(w.least, MaxSends), min(w.most, MaxSends)
	return &c.Program, nil
}

// errNull is the error of an entry of a list that is null.
var errNull = &Error{Err: errors.New("an entry of the flow is null; leave it out")}

// begins checks that a flow begins with a step: its slot is the permission for that request.
func begins(blocks []*Block) error {
	if len(blocks) == 0 {
		return &Error{Err: errors.New("there are no steps; write one, such as - list: {get: /items}")}
	}
	switch b := blocks[0]; {
	case b == nil:
		return errNull
	case b.Sends():
		return nil
	case b.Repeat > 0:
		return begins(b.Then)
	default:
		return &Error{Block: b, Err: errors.New("a flow begins with a request, without a condition; put a step above")}
	}
}

// list compiles blocks that follow each other. times is how often a flow comes there at most.
func (c *compiler) list(blocks []*Block, times int64) (sum ways, err error) {
	skipped := c.skipped
	for _, b := range blocks {
		if b == nil {
			return sum, errNull
		}
		if c.blocks++; c.blocks > MaxBlocks {
			return sum, &Error{Block: b, Err: fmt.Errorf("the flow has more than %d entries; make two flows of it", MaxBlocks)}
		}
		if c.skipped {
			c.Dead[b] = true
		}
		w, err := c.block(b, times)
		if err != nil {
			return sum, err
		}
		if !c.skipped {
			sum.least, sum.most, sum.ends = sum.least+w.least, min(sum.most+w.most, MaxSends), w.ends
		}
		c.skipped = c.skipped || w.ends
	}
	c.skipped = skipped
	return sum, nil
}

// add appends an instruction, and returns its place.
func (c *compiler) add(i instruction) int {
	c.code = append(c.code, i)
	return len(c.code) - 1
}

// block compiles one block.
func (c *compiler) block(b *Block, times int64) (w ways, err error) {
	switch {
	case b.Sends():
		return c.send(b, times)
	case b.If != "" || b.Loops():
		if c.depth++; c.depth > MaxDepth {
			return w, &Error{Block: b, Err: fmt.Errorf("blocks are nested deeper than %d; write the flow flatter", MaxDepth)}
		}
		if len(b.Then) == 0 {
			return w, &Error{Block: b, Err: errors.New("has no steps; write steps: [STEP, …] below it")}
		}
		if b.If != "" {
			w, err = c.branch(b, times)
		} else {
			w, err = c.loop(b, times)
		}
		c.depth--
		return w, err
	case len(b.Set) > 0:
		return w, c.set(b)
	case b.Fail != "":
		if len(b.Fail) > MaxReason || strings.ContainsFunc(b.Fail, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return w, &Error{Block: b, Key: "fail", Err: fmt.Errorf("the reason has 1 to %d printable bytes; write a shorter one", MaxReason)}
		}
		c.add(instruction{op: fail, reason: errors.New(b.Fail)})
		return ways{ends: true}, nil
	}
	p, err := ParsePause(b.Pause)
	if err != nil {
		return w, &Error{Block: b, Key: "pause", Err: err}
	}
	c.add(instruction{op: wait, pause: p})
	c.Paused += p.Most * time.Duration(times)
	return w, nil
}

// send compiles the sending of a step.
func (c *compiler) send(b *Block, times int64) (w ways, err error) {
	if b.Step != c.step || c.step >= len(c.takes) {
		return w, &Error{Block: b, Err: errors.New("the blocks of a flow send each of its steps in one place, in their order")}
	}
	c.Known = append(c.Known, slices.Clone(c.taken))
	c.Looped[c.step] = c.loops > 0
	if !c.skipped {
		c.Times[c.step] = min(times, MaxSends)
	}
	c.add(instruction{op: send, step: c.step})
	for _, name := range c.takes[c.step] {
		c.keep(name)
	}
	c.step++
	return ways{least: 1, most: 1}, nil
}

// keep notes that a name has a value from here on, and returns its index.
func (c *compiler) keep(name string) int {
	i := slices.IndexFunc(c.taken, func(known string) bool { return strings.TrimPrefix(known, formula.Unsure) == name })
	if i < 0 {
		i = len(c.taken)
		c.taken = append(c.taken, "")
	}
	c.taken[i] = name
	return i
}

// formula parses an expression of a block.
func (c *compiler) formula(b *Block, key string, index int, text string) (*formula.Formula, error) {
	column := func(name string) (int, error) {
		if i := slices.Index(c.Columns, name); i >= 0 {
			return i, nil
		}
		c.Columns = append(c.Columns, name)
		return len(c.Columns) - 1, nil
	}
	f, err := formula.Parse(text, formula.Scope{Taken: c.taken, Columns: column, Loop: c.loops > 0})
	if err == nil {
		return f, nil
	}
	e := &Error{Block: b, Key: key, Index: index, Err: err}
	if at, ok := errors.AsType[*formula.Error](err); ok {
		e.Offset, e.Err = at.Offset, at.Err
	}
	return nil, e
}

// condition parses an expression that is true or false.
func (c *compiler) condition(b *Block, key, text string) (*formula.Formula, error) {
	f, err := c.formula(b, key, 0, text)
	if err == nil && f.Kind() != formula.Truth {
		err = &Error{Block: b, Key: key, Err: fmt.Errorf("this is %v, and a condition is needed here; compare it, as in ${NAME} == \"true\"", f.Kind())}
	}
	return f, err
}

// set compiles the setting of values.
func (c *compiler) set(b *Block) error {
	for i, s := range b.Set {
		f, err := c.formula(b, "set", i, s.To)
		if err != nil {
			return err
		}
		c.add(instruction{op: set, when: f, name: c.keep(s.Name)})
	}
	return nil
}

// constant returns what a condition without variables gives.
func constant(f *formula.Formula) (is, known bool) {
	if f == nil || !f.Constant() {
		return false, false
	}
	is, _ = f.Truth(new(formula.Values)) // Parse has computed it
	return is, true
}

// branch compiles an if with its else.
func (c *compiler) branch(b *Block, times int64) (w ways, err error) {
	f, err := c.condition(b, "if", b.If)
	if err != nil {
		return w, err
	}
	is, known := constant(f)
	before, from := c.taken, c.step
	at := c.add(instruction{op: unless, when: f})
	part := func(blocks []*Block, dead bool) (ways, error) {
		was := c.skipped
		c.skipped = was || dead
		w, err := c.list(blocks, times)
		c.skipped = was
		return w, err
	}
	c.taken = slices.Clone(before)
	then, err := part(b.Then, known && !is)
	if err != nil {
		return w, err
	}
	after, between := c.taken, c.step
	c.taken = sureOf(after, before)
	end := -1
	if len(b.Else) > 0 {
		end = c.add(instruction{op: jump})
	}
	c.code[at].to = len(c.code)
	other, err := part(b.Else, known && is)
	if err != nil {
		return w, err
	}
	if end >= 0 {
		c.code[end].to = len(c.code)
	}
	c.code[at].bypassed, c.code[at].otherwise = steps(from, between), steps(between, c.step)
	switch {
	case then.ends && other.ends:
		w = ways{max(then.least, other.least), max(then.most, other.most), true}
	case known && is || other.ends:
		w, c.taken = ways{then.least, max(then.most, other.most), then.ends}, sureOf(bare(c.taken), after)
	case known || then.ends:
		w = ways{other.least, max(then.most, other.most), other.ends}
	default:
		w, c.taken = ways{min(then.least, other.least), max(then.most, other.most), false}, sureOf(c.taken, after)
	}
	return w, nil
}

// sureOf returns names, of which only those are sure that are sure in others too.
func sureOf(names, others []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if (i >= len(others) || strings.HasPrefix(others[i], formula.Unsure)) && !strings.HasPrefix(name, formula.Unsure) {
			names[i] = formula.Unsure + name
		}
	}
	return names
}

// bare returns names without marks.
func bare(names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, formula.Unsure)
	}
	return names
}

// loop compiles a loop.
func (c *compiler) loop(b *Block, times int64) (w ways, err error) {
	begin := instruction{op: enter, list: -1}
	check := instruction{op: test, name: -1, count: b.Repeat}
	most := int64(b.Repeat)
	if b.Repeat < 0 || b.Repeat > MaxSends {
		return w, &Error{Block: b, Key: "repeat", Err: fmt.Errorf("a loop repeats its steps 1 to %d times; write such a number", MaxSends)}
	}
	if b.ForEach != nil {
		most = MaxItems
		if begin.list = slices.Index(c.taken, b.ForEach.List); begin.list < 0 {
			return w, &Error{Block: b, Key: "for_each", Err: fmt.Errorf("${%.40s} is not taken and not set on every way to here; take a list before, such as ids: json items.#.id", b.ForEach.List)}
		}
	}
	before, from := slices.Clone(c.taken), c.step
	c.loops++
	if b.While != "" {
		if check.when, err = c.condition(b, "while", b.While); err != nil {
			return w, err
		}
		if most = MaxSends; check.when.MostLoops() >= 0 {
			most = min(most, int64(check.when.MostLoops()))
		}
	}
	c.add(begin)
	if b.ForEach != nil {
		check.name = c.keep(b.ForEach.Name)
	}
	top := c.add(check)
	is, known := constant(check.when)
	was := c.skipped
	c.skipped = was || known && !is || most == 0
	body, err := c.list(b.Then, min(times*most, MaxSends))
	c.skipped = was
	if err != nil {
		return w, err
	}
	c.add(instruction{op: again, to: top})
	c.code[top].to, c.code[top].bypassed = len(c.code), steps(from, c.step)
	c.loops--
	w = ways{most: min(body.most*most, MaxSends)}
	if b.Repeat > 0 {
		w.least, w.ends = min(body.least*most, MaxSends), body.ends
		return w, nil
	}
	c.taken = sureOf(c.taken, before)
	w.ends = known && is // it ends by a bound alone
	return w, nil
}
