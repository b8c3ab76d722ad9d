package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// A Renderer writes a report in one format. It must not change the report, and
// its error is that of the writer, or says what the report lacks.
type Renderer func(w io.Writer, r Report) error

// A format is a renderer under the name by which users choose it, and the ending of files in it.
type format struct {
	name, ending string
	render       Renderer
}

// formats lists every output. A new output is one file and one line here.
func formats() []format {
	return []format{
		{"text", ".txt", Text},
		{"json", ".json", JSON},
		{"csv", ".csv", CSV},
		{"hgrm", ".hgrm", HGRM},
		{"hlog", ".hlog", HLog},
		{"junit", ".xml", JUnit},
		{"markdown", ".md", Markdown},
		{"openmetrics", ".prom", OpenMetrics},
		{"html", ".html", HTML},
		{"archive", ArchiveExtension, Archive},
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

// Format returns the renderer of a name, or an error that lists the names.
func Format(name string) (Renderer, error) {
	for _, f := range formats() {
		if f.name == name {
			return f.render, nil
		}
	}
	return nil, fmt.Errorf("output %q: want one of %s", name, strings.Join(Formats(), ", "))
}

// FormatOf returns the name of the format that the ending of a file stands for, or "" if it stands for none.
func FormatOf(path string) string {
	ending := strings.ToLower(filepath.Ext(path))
	for _, f := range formats() {
		if f.ending == ending {
			return f.name
		}
	}
	return ""
}

// Endings returns the endings that FormatOf knows.
func Endings() []string {
	var endings []string
	for _, f := range formats() {
		endings = append(endings, f.ending)
	}
	return endings
}
