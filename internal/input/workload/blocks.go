package workload

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/formula"
	"github.com/loadctl/loadctl/targets/program"
)

// blocks reads the entries of a flow: steps, and what decides about them.
type blocks struct {
	*steps
	flow  *Flow
	due   time.Duration                            // of the steps so far
	loops int                                      // around
	nodes map[*program.Block]map[string]*yaml.Node // where the keys of a block have their values; "" = the block
}

// blockKeys are the keys with which an entry of a flow begins that is no step. No step has such a name.
func blockKeys() []string {
	return []string{"if", "while", "repeat", "for_each", "set", "fail", "pause"}
}

// list reads entries that follow each other.
func (b *blocks) list(n *yaml.Node, depth int) (all []*program.Block, err error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, b.fail(n, "is no list of steps, or an empty one; write steps: [{list: {get: /items}}]")
	}
	if depth > program.MaxDepth {
		return nil, b.fail(n, "blocks are nested deeper than %d; write the flow flatter", program.MaxDepth)
	}
	for _, item := range n.Content {
		named, err := b.entries(item, "a list of steps, such as - list: {get: /items}")
		if err != nil {
			return nil, err
		}
		var block *program.Block
		if slices.Contains(blockKeys(), named[0].key.Value) {
			block, err = b.block(item, named[0], depth)
		} else {
			block, err = b.named(named)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, block)
	}
	return all, nil
}

// named reads a step, with the conditions and loops that stand in it.
func (b *blocks) named(list []entry) (*program.Block, error) {
	e := list[0]
	switch {
	case len(list) > 1 && slices.Contains(append(blockKeys(), "steps"), list[1].key.Value):
		return nil, b.fail(list[1].key, "stands beside the name of a step; indent it below the name, as in - list: {get: /items, if: CONDITION}")
	case len(list) > 1:
		return nil, b.fail(list[1].key, "a step has one name; indent its settings below the name, as in - list: {get: /items}")
	case len(b.flow.Steps) == targets.MaxSteps:
		return nil, b.fail(e.key, "flow %.70q has more than %d steps; make two flows of it", b.flow.Name, targets.MaxSteps)
	}
	values := map[string]*yaml.Node{}
	if e.value.Kind == yaml.MappingNode { // else step says what is wrong
		for i := 0; i < len(e.value.Content); i += 2 {
			values[e.value.Content[i].Value] = e.value.Content[i+1]
		}
	}
	loop, err := b.one(e.key, values, "while", "repeat", "for_each")
	if err != nil {
		return nil, err
	}
	if at := values["at"]; at != nil && (loop != "" || b.loops > 0) {
		return nil, b.fail(at, "a step in a loop has no time after the begin of its flow; write after: 500ms")
	}
	step, err := b.step(e, len(b.flow.Steps) == 0, &b.due)
	if err != nil {
		return nil, err
	}
	block := &program.Block{Step: len(b.flow.Steps)}
	b.nodes[block] = map[string]*yaml.Node{"": e.key}
	b.flow.Steps, b.flow.Places = append(b.flow.Steps, step), append(b.flow.Places, b.place(e.key))
	for _, key := range []string{loop, "if"} {
		if values[key] == nil {
			continue
		}
		around := &program.Block{Then: []*program.Block{block}}
		if err := b.decide(around, key, e.key, values[key]); err != nil {
			return nil, err
		}
		block = around
	}
	return block, nil
}

// one returns which one of some keys is given; "" if none is.
func (b *blocks) one(at *yaml.Node, values map[string]*yaml.Node, keys ...string) (given string, err error) {
	for _, key := range keys {
		if values[key] == nil {
			continue
		}
		if given != "" {
			return "", b.fail(values[key], "there is %s already; put one of them around the other: - %[1]s: … and steps: [{%s: …}]", given, key)
		}
		given = key
	}
	return given, nil
}

// block reads an entry that is no step.
func (b *blocks) block(n *yaml.Node, first entry, depth int) (*program.Block, error) {
	key := first.key.Value
	known := []string{key}
	switch key {
	case "if":
		known = append(known, "steps", "else")
	case "while", "repeat", "for_each":
		known = append(known, "steps")
	}
	values, err := b.settings(n, "- if: CONDITION and steps: [STEP, …]", known...)
	if err != nil {
		return nil, err
	}
	block := &program.Block{}
	if err := b.decide(block, key, first.key, first.value); err != nil {
		return nil, err
	}
	if len(known) == 1 {
		return block, nil
	}
	if values["steps"] == nil {
		return nil, b.fail(first.key, "has no steps; write steps: [STEP, …] beside %s", key)
	}
	loop := 0
	if key != "if" {
		loop = 1
	}
	b.loops += loop
	if block.Then, err = b.list(values["steps"], depth+1); err != nil {
		return nil, err
	}
	b.loops -= loop
	if values["else"] != nil {
		block.Else, err = b.list(values["else"], depth+1)
	}
	return block, err
}

// eachForm matches NAME in ${LIST}.
var eachForm = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_-]*)\s+in\s+\$\{([^}]+)\}\s*$`)

// decide sets what a key of a block says.
func (b *blocks) decide(block *program.Block, key string, at, n *yaml.Node) error {
	b.nodes[block] = map[string]*yaml.Node{"": at, key: n}
	if key == "set" {
		return b.set(block, n)
	}
	example := map[string]string{"if": `if: ${state} == "done"`, "while": "while: ${loop} < 20", "repeat": "repeat: 3", "for_each": "for_each: id in ${ids}",
		"fail": "fail: out of stock", "pause": "pause: 500ms"}[key]
	text, err := b.text(n, example)
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(text) == "":
		return b.fail(n, "%s is empty; write %s", key, example)
	}
	switch key {
	case "if":
		block.If = text
	case "while":
		block.While = text
	case "fail":
		block.Fail = text
	case "pause":
		block.Pause = text
	case "repeat":
		if block.Repeat, err = strconv.Atoi(text); err != nil || block.Repeat < 1 || block.Repeat > program.MaxSends {
			return b.fail(n, "repeat takes a whole number from 1 to %d; write one, such as repeat: 3", program.MaxSends)
		}
	case "for_each":
		m := eachForm.FindStringSubmatch(text)
		if m == nil {
			return b.fail(n, "is not NAME in ${LIST}; write for_each: id in ${ids}, after a step with take: {ids: json items.#.id}")
		}
		if err := targets.CheckValueName(m[1]); err != nil {
			return b.fail(n, "%w", err)
		}
		block.ForEach = &program.Each{Name: m[1], List: m[2]}
	}
	return nil
}

// set reads the values that a block sets.
func (b *blocks) set(block *program.Block, n *yaml.Node) error {
	const example = "set: {n: 1}"
	list, err := b.entries(n, example)
	if err != nil {
		return err
	}
	for i, e := range list {
		text, err := b.text(e.value, example)
		if err != nil {
			return err
		}
		if err := targets.CheckValueName(e.key.Value); err != nil {
			return b.fail(e.key, "%w", err)
		}
		block.Set = append(block.Set, program.Set{Name: e.key.Value, To: text})
		b.nodes[block]["set"+strconv.Itoa(i)] = e.value
	}
	return nil
}

// compile checks the blocks of the flow. A flow whose steps follow each other needs none.
func (b *blocks) compile() error {
	f := b.flow
	if !slices.ContainsFunc(f.Body, func(block *program.Block) bool { return !block.Sends() }) {
		f.Body = nil
		return nil
	}
	p, err := f.Program()
	if wrong, ok := errors.AsType[*program.Error](err); ok {
		return b.blame(wrong)
	}
	if err != nil {
		return err
	}
	if len(p.Names) > targets.MaxTakes {
		return b.fail(b.nodes[f.Body[0]][""], "the flow has %d values by take, set and for_each, at most %d; use fewer names", len(p.Names), targets.MaxTakes)
	}
	f.Least, f.Most, f.Columns = p.Least, p.Most, b.columns()
	return nil
}

// blame returns an error at its place of the file.
func (b *blocks) blame(e *program.Error) error {
	nodes, key, offset := b.nodes[e.Block], e.Key, e.Offset
	if key == "set" {
		key += strconv.Itoa(e.Index)
	}
	if key == "for_each" {
		offset = strings.Index(nodes[key].Value, "${")
	}
	if key == "" {
		return b.fail(nodes[""], "%w", e.Err)
	}
	line, column := b.position(nodes[key], offset)
	return b.at(line, column, "%w", e.Err)
}

// columns returns where the expressions of the flow use columns of data files first.
func (b *blocks) columns() map[string]string {
	all := map[string]string{}
	for _, nodes := range b.nodes {
		for key, n := range nodes {
			if key != "if" && key != "while" && (len(key) < 4 || key[:3] != "set") {
				continue
			}
			for _, v := range formula.Variables(n.Value) {
				if strings.Contains(v.Name, ".") {
					line, column := b.position(n, v.Offset)
					all[v.Name] = fmt.Sprintf("%s:%d:%d", b.path, line, column)
				}
			}
		}
	}
	return all
}
