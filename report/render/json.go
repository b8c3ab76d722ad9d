package render

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
)

// JSON writes r as one indented JSON object; see [report.Report] for its members.
func JSON(w io.Writer, r report.Report) error {
	e := json.NewEncoder(printable.NewJSONWriter(w))
	e.SetEscapeHTML(false) // < and & stay readable in a terminal; the output is not part of a page
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
