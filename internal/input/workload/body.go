package workload

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// json appends a value as compact JSON. Keys keep their order, and numbers the way they are written, if JSON has it.
func (d *document) json(b []byte, n *yaml.Node) (_ []byte, err error) {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, n.Content[i].Value), ':')
			if b, err = d.json(b, n.Content[i+1]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = d.json(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	default:
		return d.scalar(b, n)
	}
}

// scalar appends a number, true, false, null or a text. A date is a text.
func (d *document) scalar(b []byte, n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!null":
		return append(b, "null"...), nil
	case "!!int", "!!float", "!!bool":
		if json.Valid([]byte(n.Value)) {
			return append(b, n.Value...), nil
		}
		var value any // such as 0x10 or True
		if err := n.Decode(&value); err != nil {
			return nil, d.fail(n, "is no number that JSON has; put a text in quotes")
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, d.fail(n, "JSON has no infinity and no NaN; put a text in quotes")
		}
		return append(b, text...), nil
	default:
		return quote(b, n.Value), nil
	}
}

// quote appends a JSON string. It leaves < and & as they are, as people write them.
func quote(b []byte, text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text always has a JSON form
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// form returns a map as the body of an HTML form. A value may be a list.
func (d *document) form(n *yaml.Node) ([]byte, error) {
	const example = "form: {NAME: VALUE}"
	list, err := d.entries(n, example)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, e := range list {
		values, err := d.texts(e.value, example)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			pairs = append(pairs, formText(e.key.Value)+"="+formText(v.Value))
		}
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// formText escapes a text for a form. Placeholders stay: what fills them is escaped for each request. $${ is the text
// ${, which no longer looks like a placeholder once it is escaped.
func formText(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if escaped := strings.HasSuffix(before, "$"); found && escaped {
			b.WriteString(url.QueryEscape(before[:len(before)-1] + "${"))
			text = after
			continue
		}
		b.WriteString(url.QueryEscape(before))
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return b.String() + "${" + name // an error that the check of the step reports
		}
		b.WriteString("${" + name + "}")
		text = rest
	}
}
