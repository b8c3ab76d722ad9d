package page

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Markup builds HTML. html/template could do this too, but it calls methods by name: then the linker keeps every method
// of every type, and loadworker grows by 9 MB.
type Markup struct{ bytes.Buffer }

// Raw adds trusted HTML.
func (m *Markup) Raw(text string) { m.WriteString(text) }

// Put adds trusted HTML with untrusted texts in it. Each text becomes part of a line and is never interpreted as HTML.
// Texts may stand between tags, and in attributes with double quotes.
func (m *Markup) Put(format string, texts ...string) {
	safe := make([]any, len(texts))
	for i, text := range texts {
		safe[i] = html.EscapeString(printable.Line(text))
	}
	fmt.Fprintf(m, format, safe...)
}

// Head begins a page with this title, up to its body; policy is from [Policy].
func (m *Markup) Head(title, policy, style string) {
	m.Put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
`, policy, title)
	m.Raw("<style>" + style + "</style>\n</head>\n<body>\n")
}

// Section begins a section with a title.
func (m *Markup) Section(id, class, title string) {
	m.Put(`<section id="%s" class="%s" aria-labelledby="%s-title" tabindex="-1"><h2 id="%s-title">%s</h2>`+"\n", id, class, id, id, title)
}

// A Column is the head of a column.
type Column struct {
	name   string
	number bool
	wide   bool // it spans two columns
}

// Columns returns column heads. A name that begins with # is a column of numbers, with ## one of shares.
func Columns(names ...string) []Column {
	var all []Column
	for _, name := range names {
		all = append(all, Column{name: strings.TrimLeft(name, "#"), number: strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "##"), wide: strings.HasPrefix(name, "##")})
	}
	return all
}

// Table begins a table that may be wider than the page, so the keyboard can scroll it; columns are its head. End it
// with EndTable.
func (m *Markup) Table(class, name string, columns ...Column) {
	m.Put(`<div class="scroll" role="region" aria-label="%s" tabindex="0"><table class="%s"><caption class="unseen">%s</caption>`+"\n", name, class, name)
	if len(columns) > 0 {
		m.Raw("<thead><tr>")
	}
	for _, c := range columns {
		attributes := ""
		if c.number {
			attributes = ` class="n"`
		}
		if c.wide {
			attributes += ` colspan="2"`
		}
		m.Put(`<th scope="col"`+attributes+`>%s</th>`, c.name)
	}
	if len(columns) > 0 {
		m.Raw("</tr></thead>\n")
	}
	m.Raw("<tbody>\n")
}

// EndTable ends a table.
func (m *Markup) EndTable() { m.Raw("</tbody></table></div>\n") }
