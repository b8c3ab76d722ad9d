// Package table holds rows that text, Markdown and pages show alike.
//
//	rows := []table.Row{{Name: "login", Cells: []table.Cell{{Text: "1234", Page: "1,234"}}}}
//	table.Text(&b, 12, rows[0].Name, rows[0].Texts(1)...)
//	table.Markdown(&b, 80, rows, "step", "#sent") // the head says how many of the cells it shows
//	table.HTML(&m, 80, rows)                      // between m.Table and m.EndTable: all of them
package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/output/page"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// A Row is a name, which may come from others, and its cells.
type Row struct {
	Name  string
	Class string // on a page
	Cells []Cell
}

// A Cell is a text, or a number of a JSON document.
type Cell struct {
	Path, Value string // of the number in the document; "" = it is not there
	Text        string // in text and Markdown
	Page        string // on a page; "" = as Text
	Bound       bool   // a lower bound
	Strong      bool   // in Markdown
	Class       string // on a page
	Bar         string // width of the bar beside it on a page, out of 100; "" = none
}

// Texts returns the first n cells for text and Markdown.
func (r Row) Texts(n int) []string {
	var all []string
	for _, c := range r.Cells[:n] {
		text := c.Text
		if c.Bound {
			text = "≥" + text
		}
		if c.Strong {
			text = "**" + text + "**"
		}
		all = append(all, text)
	}
	return all
}

// Text writes a line of a text: a name of this width, and right-aligned cells.
func Text(b *bytes.Buffer, width int, name string, cells ...string) {
	printable.Fprintf(b, "%-*s", width, name)
	for _, cell := range cells {
		printable.Fprintf(b, "%9s", strings.TrimLeft(cell, "#"))
	}
	b.WriteByte('\n')
}

// Markdown writes a table, its head from columns as in [page.Columns]. Names have at most so many characters. It shows
// as many cells of each row as the head has columns.
func Markdown(b *bytes.Buffer, most int, rows []Row, columns ...string) {
	head, line := "|", "|"
	for _, column := range columns {
		name := strings.TrimLeft(column, "#")
		head += strings.TrimRight(" "+name, " ") + " |"
		if line += "---"; name != column {
			line += ":"
		}
		line += "|"
	}
	b.WriteString(head + "\n" + line + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", printable.Markdown(row.Name, most), strings.Join(row.Texts(len(columns)-1), " | "))
	}
}

// HTML writes the rows of a page's table. Names have at most so many characters.
func HTML(m *page.Markup, most int, rows []Row) {
	for _, row := range rows {
		m.Raw("<tr" + class(row.Class) + ">")
		m.Put(`<th scope="row">%s</th>`, printable.Clip(row.Name, most))
		for _, c := range row.Cells {
			m.Raw("<td" + class(c.Class) + ">")
			c.HTML(m)
			m.Raw("</td>")
			if c.Bar != "" {
				m.Put(`<td class="graph"><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">`+
					`<rect class="all" width="100" height="8"/><rect class="part" width="%s" height="8"/></svg></td>`, c.Bar)
			}
		}
		m.Raw("</tr>\n")
	}
}

// class returns the attribute of an element with this class; "" = it has none.
func class(name string) string {
	if name == "" {
		return ""
	}
	return ` class="` + name + `"`
}

// HTML writes what is in the cell. A number has its place in the JSON document with it.
func (c Cell) HTML(m *page.Markup) {
	text := c.Page
	if text == "" {
		text = c.Text
	}
	if c.Bound {
		m.Raw("≥&nbsp;")
	}
	if c.Path == "" {
		m.Put("%s", text)
		return
	}
	m.Put(`<data value="%s" data-path="%s">%s</data>`, c.Value, c.Path, text)
}
