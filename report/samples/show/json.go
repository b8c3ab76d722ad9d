package show

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// JSON writes a selection as one indented JSON object. The samples have the members that they have in a report.
func JSON(w io.Writer, s Selection) error { return encode(w, "JSON", s) }

// encode writes a document as indented JSON, with < and & as they are.
func encode(w io.Writer, format string, document any) error {
	e := json.NewEncoder(printable.NewJSONWriter(w))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	return nil
}
