package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of what aliases make of a file. A file without them stays below the first one, unless it is of commas.
const (
	mostValues = 1_000_000
	mostDepth  = 100
)

// A document is one YAML file. Its aliases are replaced by what they stand for.
type document struct {
	reader
	content []byte // as the YAML parser got it
	root    *yaml.Node
	values  int // so far, with those that aliases repeat
}

// read reads the file, and checks all that does not depend on what its keys mean.
func (d *document) read(content []byte) error {
	if len(content) > MostBytes {
		return d.at(1, 1, "is larger than %d MiB; put the part that differs into a data file: see docs/workloads.md#data-files", MostBytes>>20)
	}
	if i := strange(content); i >= 0 {
		line, column := place(content, i)
		return d.at(line, column, "is no UTF-8 text, or a control character; save the file as UTF-8, and write \\x1b in double quotes")
	}
	if json.Valid(content) {
		content = yamlOf(content)
	}
	d.content = content
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return d.at(1, 1, "is empty; write flows: see docs/workloads.md#flows")
	case err != nil:
		return d.syntax(content, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return d.fail(&second, "a second document begins here; make a file of each")
	case !errors.Is(err, io.EOF):
		return d.syntax(content, err)
	}
	d.root = first.Content[0]
	return d.expand(d.root, 0)
}

// at returns an error at a place of the file.
func (d *document) at(line, column int, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", d.path, line, column, fmt.Errorf(format, args...))
}

// fail returns an error at a value.
func (d *document) fail(n *yaml.Node, format string, args ...any) error {
	return d.at(n.Line, n.Column, format, args...)
}

// place returns the line and the column of a byte.
func place(content []byte, i int) (line, column int) {
	begin := bytes.LastIndexByte(content[:i], '\n') + 1
	return 1 + bytes.Count(content[:i], []byte("\n")), 1 + utf8.RuneCount(content[begin:i])
}

// strange returns the first byte that is no UTF-8, or a control character that YAML does not have; −1 if there is none.
func strange(content []byte) int {
	for i := 0; i < len(content); {
		r, n := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return i
		}
		i += n
	}
	return -1
}

// yamlOf returns JSON without the two escapes that the YAML parser does not know: of a slash, and of half a character.
func yamlOf(content []byte) []byte {
	return escapes.ReplaceAllFunc(content, func(text []byte) []byte {
		switch {
		case string(text) == `\/`:
			return text[1:]
		case text[1] != 'u':
			return text // such as \\, whose second half begins no escape
		}
		var whole string
		_ = json.Unmarshal(slices.Concat([]byte{'"'}, text, []byte{'"'}), &whole) // it is valid; half a character alone gives U+FFFD
		return []byte(whole)
	})
}

// escapes matches the escapes of JSON that yamlOf has to look at.
var escapes = regexp.MustCompile(`(?i)(?:\\ud[89a-f][0-9a-f]{2})+|\\[^u]`)

// syntax returns an error of the YAML parser. Its text names the line, unless that is the first one.
func (d *document) syntax(content []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(text); m != nil {
		i := max(0, bytes.Index(content, []byte("*"+m[1])))
		line, column := place(content, i)
		return d.at(line, column, "there is no anchor %.40q before this alias; write &NAME in front of a value above", m[1])
	}
	column := 1
	lines := bytes.SplitN(content, []byte("\n"), line+1)
	if line <= len(lines) {
		column += len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " \t"))
	}
	return d.at(line, column, "is no YAML: %.100s; put texts with special characters in quotes", text)
}

// expand replaces aliases below n, and refuses what a workload has no use for. It visits a value as often as aliases
// repeat it: so it also bounds what comes after it.
func (d *document) expand(n *yaml.Node, depth int) error {
	d.values++
	d.size += len(n.Value)
	switch {
	case depth > mostDepth:
		return d.fail(n, "is nested deeper than %d; write it flatter, and use no alias inside of its own anchor", mostDepth)
	case d.values > mostValues:
		return d.fail(n, "here the file has more than %d values, with those that aliases repeat; make it smaller", mostValues)
	case d.size > MostBytes:
		return d.fail(n, "here the file has more than %d MiB, with what aliases repeat; make it smaller", MostBytes>>20)
	case n.Style&yaml.TaggedStyle != 0:
		return d.fail(n, "has a tag, such as !!str; leave the tag out, and put a text in quotes")
	}
	for i, child := range n.Content {
		if child.Kind == yaml.AliasNode {
			child = child.Alias
			n.Content[i] = child
		}
		if err := d.expand(child, depth+1); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		return d.checkKeys(n)
	}
	return nil
}

// checkKeys checks that the keys of a map are texts, each once.
func (d *document) checkKeys(n *yaml.Node) error {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			return d.fail(key, "a key is a text; write NAME: VALUE, and put a text that begins with { or [ in quotes")
		case key.Tag == "!!merge":
			return d.fail(key, "maps are not merged; leave << out, and write the settings here")
		case twice:
			return d.fail(key, "there is a key %.40q in line %d already; leave one out", key.Value, line)
		}
		seen[key.Value] = key.Line
	}
	return nil
}

// An entry is a key of a map with its value.
type entry struct{ key, value *yaml.Node }

// entries returns those of a map, in the order of the file. example says what to write instead of anything else.
func (d *document) entries(n *yaml.Node, example string) (all []entry, err error) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil, d.fail(n, "is no map, or an empty one; write %s", example)
	}
	for i := 0; i < len(n.Content); i += 2 {
		all = append(all, entry{n.Content[i], n.Content[i+1]})
	}
	return all, nil
}

// settings returns the values of a map whose keys are known.
func (d *document) settings(n *yaml.Node, example string, known ...string) (map[string]*yaml.Node, error) {
	all, err := d.entries(n, example)
	if err != nil {
		return nil, err
	}
	values := map[string]*yaml.Node{}
	for _, e := range all {
		if !slices.Contains(known, e.key.Value) {
			return nil, d.fail(e.key, "there is no key %.40q; %suse one of %s", e.key.Value, meant(e.key.Value, known), strings.Join(known, ", "))
		}
		values[e.key.Value] = e.value
	}
	return values, nil
}

// text returns a value that is a text, a number or true or false, as it was written. nil is "".
func (d *document) text(n *yaml.Node, example string) (string, error) {
	if n == nil {
		return "", nil
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", d.fail(n, "is no text; write %s", example)
	}
	return n.Value, nil
}

// texts returns a list of texts, or one text. nil is none.
func (d *document) texts(n *yaml.Node, example string) (all []*yaml.Node, err error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Kind == yaml.SequenceNode:
		all = n.Content
	default:
		all = []*yaml.Node{n}
	}
	for _, item := range all {
		if _, err := d.text(item, example); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// file returns the path of another file. Errors show it, so it fits into a line.
func (d *document) file(n *yaml.Node, example string) (string, error) {
	const longest = 1000
	path, err := d.text(n, example)
	switch {
	case err != nil:
		return "", err
	case path == "":
		return "", d.fail(n, "the name of the file is empty; write %s", example)
	case len(path) > longest || strings.ContainsFunc(path, unicode.IsControl):
		return "", d.fail(n, "the name of the file has control characters, or more than %d bytes; give the file another name", longest)
	}
	return path, nil
}
