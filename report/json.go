package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/loadctl/loadctl/internal/printable"
)

// JSON writes r as one indented JSON object; see [Report] for its members.
func JSON(w io.Writer, r Report) error {
	e := json.NewEncoder(printable.NewJSONWriter(w))
	e.SetEscapeHTML(false) // < and & stay readable in a terminal; the output is not part of a page
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
