package compare

import (
	"encoding/json"
	"io"

	"github.com/loadctl/loadctl/internal/output/format"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// Formats lists every output, the default first.
func Formats() format.Table[Comparison] {
	return format.Table[Comparison]{
		{Name: "text", Ending: ".txt", Render: Text},
		{Name: "json", Ending: ".json", Render: JSON},
		{Name: "markdown", Ending: ".md", Render: Markdown},
		{Name: "html", Ending: ".html", Render: HTML},
	}
}

// JSON writes c as one indented JSON object.
func JSON(w io.Writer, c Comparison) error {
	e := json.NewEncoder(printable.NewJSONWriter(w))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
