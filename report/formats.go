package report

import (
	"fmt"
	"io"
	"strings"
)

// A Renderer writes a report in one format. It must not change the report, and
// its error is that of the writer, or says what the report lacks.
type Renderer func(w io.Writer, r Report) error

// A format is a renderer under the name by which users choose it.
type format struct {
	name   string
	render Renderer
}

// formats lists every output. A new output is one file and one line here.
func formats() []format {
	return []format{
		{"text", Text},
		{"json", JSON},
		{"csv", CSV},
		{"hgrm", HGRM},
		{"hlog", HLog},
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
