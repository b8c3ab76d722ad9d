package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/loadctl/loadctl/internal/printable"
)

// A format is a way to write a comparison, under the name by which users choose it, and the ending of files in it.
type format struct {
	name, ending string
	render       func(w io.Writer, c Comparison) error
}

// formats lists every output.
func formats() []format {
	return []format{
		{"text", ".txt", Text},
		{"json", ".json", JSON},
		{"markdown", ".md", Markdown},
		{"html", ".html", HTML},
	}
}

// Formats returns the names of all formats, the default first.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Endings returns the endings that FormatOf knows.
func Endings() []string {
	var endings []string
	for _, f := range formats() {
		endings = append(endings, f.ending)
	}
	return endings
}

// FormatOf returns the name of the format that the ending of a file stands for, or "" if it stands for none.
func FormatOf(path string) string {
	for _, f := range formats() {
		if f.ending == strings.ToLower(filepath.Ext(path)) {
			return f.name
		}
	}
	return ""
}

// Write writes c in the format of this name.
func Write(w io.Writer, c Comparison, name string) error {
	for _, f := range formats() {
		if f.name == name {
			return f.render(w, c)
		}
	}
	return fmt.Errorf("output %q: want one of %s", name, strings.Join(Formats(), ", "))
}

// JSON writes c as one indented JSON object.
func JSON(w io.Writer, c Comparison) error {
	e := json.NewEncoder(printable.NewJSONWriter(w))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
