package table

import (
	"bytes"
	"testing"

	"github.com/loadctl/loadctl/internal/output/page"
)

// TestFormats: each format shows the same cells in its own way, and only the page shows cells that a head leaves out.
// Names are never read as markup.
func TestFormats(t *testing.T) {
	rows := []Row{
		{Name: "a<b|c", Cells: []Cell{{Text: "1234", Page: "1,234", Path: "sent", Value: "1234", Class: "n"}, {Text: "2s", Bound: true}, {Text: "x", Bar: "50.00"}}},
		{Name: "long name", Class: "bad", Cells: []Cell{{Text: "5"}, {Text: "3s", Strong: true}, {}}},
	}
	var text, markdown bytes.Buffer
	Text(&text, 10, "", "#sent", "#p50")
	for _, row := range rows {
		Text(&text, 10, row.Name, row.Texts(1)...)
	}
	Markdown(&markdown, 4, rows, "", "#sent", "took")
	var m page.Markup
	HTML(&m, 4, rows)
	for _, c := range []struct{ got, want string }{
		{text.String(), "               sent      p50\na<b|c          1234\nlong name         5\n"},
		{markdown.String(), "| | sent | took |\n|---|---:|---|\n| a&#60;b\\|… | 1234 | ≥2s |\n| long… | 5 | **3s** |\n"},
		{m.String(), `<tr><th scope="row">a&lt;b|…</th><td class="n"><data value="1234" data-path="sent">1,234</data></td><td>≥&nbsp;2s</td><td>x</td>` +
			`<td class="graph"><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="all" width="100" height="8"/>` +
			`<rect class="part" width="50.00" height="8"/></svg></td></tr>` + "\n" +
			`<tr class="bad"><th scope="row">long…</th><td>5</td><td>3s</td><td></td></tr>` + "\n"},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s\nwant\n%s", c.got, c.want)
		}
	}
}
