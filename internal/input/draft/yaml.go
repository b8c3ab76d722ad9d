package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// widest is how long a line may be whose value fits into one.
const widest = 110

// A value is a part of a YAML file: a text, a text that needs no quotes, a list or a map.
type value struct {
	text  string
	plain bool    // text is written as it is
	lines bool    // text is written in lines, if it can be
	list  []value // nil = no list
	pairs []pair  // nil = no map
	open  bool    // a map that is never written in one line
}

// A pair is a key of a map with its value. Notes are comments above it.
type pair struct {
	key   string
	value value
	notes []string
}

// text returns a text that is quoted if it has to be.
func text(s string) value { return value{text: s} }

// isText reports whether it is neither a list nor a map.
func (v value) isText() bool { return v.list == nil && v.pairs == nil }

// unquoted matches texts that mean themselves in YAML without quotes, anywhere.
var unquoted = regexp.MustCompile(`^[A-Za-z/](?:[A-Za-z0-9_./*+=%&;@~()$!-]|://|:[0-9]| [A-Za-z0-9_/*+=%;(-])*$`)

// quoted returns a text for one line of YAML.
func quoted(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if unquoted.MatchString(s) {
			return s
		}
	}
	if strings.Contains(s, `"`) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || !unicode.IsPrint(r) }) {
		return "'" + s + "'"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text always has a JSON form
	var b strings.Builder
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// escape returns a character as YAML has it in double quotes.
func escape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// flow returns the value in one line; false if a note or a text in lines keeps it from that.
func (v value) flow() (string, bool) {
	var parts []string
	switch {
	case v.plain:
		return v.text, true
	case v.isText():
		return quoted(v.text), !v.lines || !block(v.text)
	case v.open:
		return "", false
	}
	for _, item := range v.list {
		part, ok := item.flow()
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	if v.list != nil {
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	for _, p := range v.pairs {
		part, ok := p.value.flow()
		if !ok || len(p.notes) > 0 {
			return "", false
		}
		parts = append(parts, quoted(p.key)+": "+part)
	}
	return "{" + strings.Join(parts, ", ") + "}", true
}

// A printer writes YAML.
type printer struct{ bytes.Buffer }

// comment writes comments.
func (p *printer) comment(indent int, notes []string) {
	for _, n := range notes {
		p.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+"# "+n, " ") + "\n")
	}
}

// pairs writes a map in lines. In a list its first line begins with a dash.
func (p *printer) pairs(indent int, dash bool, all []pair) {
	for i, one := range all {
		begin := strings.Repeat(" ", indent)
		if dash && i == 0 {
			p.comment(indent-2, one.notes)
			begin = strings.Repeat(" ", indent-2) + "- "
		} else {
			p.comment(indent, one.notes)
		}
		p.pair(begin+quoted(one.key)+":", indent, one.value)
	}
}

// pair writes a value behind its key.
func (p *printer) pair(begin string, indent int, v value) {
	line, whole := v.flow()
	switch {
	case v.lines && block(v.text):
		p.block(begin, indent+2, v.text)
	case v.isText() || whole && len(begin)+1+len(line) <= widest:
		p.WriteString(begin + " " + line + "\n")
	case v.list != nil:
		p.WriteString(begin + "\n")
		p.items(indent+2, v.list)
	default:
		p.WriteString(begin + "\n")
		p.pairs(indent+2, false, v.pairs)
	}
}

// items writes a list in lines.
func (p *printer) items(indent int, all []value) {
	for _, item := range all {
		if len(item.pairs) > 0 {
			p.pairs(indent+2, true, item.pairs)
			continue
		}
		line, _ := item.flow() // only maps have notes
		p.WriteString(strings.Repeat(" ", indent) + "- " + line + "\n")
	}
}

// block reports whether a text can be written in lines of its own, and is easier to read so.
func block(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || strings.TrimLeft(s, " \n\t") != s {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return false
		}
	}
	return true
}

// block writes a text in lines of its own.
func (p *printer) block(begin string, indent int, s string) {
	if strings.HasSuffix(s, "\n") {
		p.WriteString(begin + " |\n")
	} else {
		p.WriteString(begin + " |-\n")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		p.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+line, " ") + "\n")
	}
}
