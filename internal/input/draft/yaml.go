package draft

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// widest is how long a line may be whose value fits into one.
const widest = 110

// unquoted matches texts that mean themselves in YAML without quotes, anywhere.
var unquoted = regexp.MustCompile(`^[A-Za-z/](?:[A-Za-z0-9_./*+=%&;@~()$!-]|://|:[0-9]| [A-Za-z0-9_/*+=%;(-])*$`)

// text returns a text that is quoted if it has to be.
func text(s string) *yaml.Node {
	s = strings.ToValidUTF8(s, "\uFFFD") // a document has no other bytes; what must keep them is in files of its own
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return n
	}
	if unquoted.MatchString(s) {
		n.Style = 0
	} else if strings.Contains(s, `"`) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || !unicode.IsPrint(r) }) {
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

// lines returns a text that is written in lines of its own, if it can be, and is easier to read so.
func lines(s string) *yaml.Node {
	n := text(s)
	body := strings.TrimSuffix(s, "\n")
	if strings.Contains(body, "\n") && !strings.HasSuffix(body, "\n") && !strings.ContainsAny(s[:1], " \n") && !strings.Contains(s, " \n") &&
		!strings.HasSuffix(s, " ") && !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// plain returns a value that is written as it is.
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// list returns a list.
func list(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// add adds a key to a map, with comments above it.
func add(m *yaml.Node, key string, v *yaml.Node, notes ...string) {
	k := text(key)
	k.HeadComment = comment(notes)
	m.Content = append(m.Content, k, v)
}

// comment returns notes as a comment.
func comment(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(strings.TrimRight("# "+n, " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// mapping returns an empty map.
func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// fold puts those values of a map into one line that fit there. The keys stand behind indent spaces.
func fold(m *yaml.Node, indent int) {
	for i := 0; i < len(m.Content); i += 2 {
		key, v := m.Content[i], m.Content[i+1]
		line := *v
		line.Style = yaml.FlowStyle
		switch {
		case v.Kind == yaml.ScalarNode:
		case !hasLines(v) && indent+len(written(key))+len(": ")+len(written(&line)) <= widest:
			v.Style = yaml.FlowStyle
		case v.Kind == yaml.MappingNode:
			fold(v, indent+2)
		default:
			for _, item := range v.Content {
				if item.Kind == yaml.MappingNode {
					fold(item, indent+4)
				} else {
					item.Style |= yaml.FlowStyle
				}
			}
		}
	}
}

// hasLines reports whether a text in a value has lines of its own.
func hasLines(v *yaml.Node) bool {
	for _, part := range v.Content {
		if part.Style == yaml.LiteralStyle || hasLines(part) {
			return true
		}
	}
	return false
}

// written returns a value as YAML, without the end of its last line.
func written(v *yaml.Node) string {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	_ = e.Encode(v) // a buffer takes everything
	var b strings.Builder
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
