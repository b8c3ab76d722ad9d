package render

import (
	"fmt"
	"io"

	"github.com/loadctl/loadctl/internal/output/format"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
)

// A Renderer writes a report in one format. It must not change the report. Its error is that of the writer, or says
// what the report lacks.
type Renderer func(w io.Writer, r report.Report) error

// formats lists every output. To add one, write one file and add one line here.
func formats() format.Table[report.Report] {
	return format.Table[report.Report]{
		{Name: "text", Ending: ".txt", Render: Text},
		{Name: "json", Ending: ".json", Render: JSON},
		{Name: "csv", Ending: ".csv", Render: CSV},
		{Name: "hgrm", Ending: ".hgrm", Render: HGRM},
		{Name: "hlog", Ending: ".hlog", Render: HLog},
		{Name: "junit", Ending: ".xml", Render: JUnit},
		{Name: "markdown", Ending: ".md", Render: Markdown},
		{Name: "openmetrics", Ending: ".prom", Render: OpenMetrics},
		{Name: "html", Ending: ".html", Render: HTML},
		{Name: "archive", Ending: report.ArchiveExtension, Render: archive.Write},
	}
}

// Formats returns the names of all formats, the default first.
func Formats() []string { return formats().Names() }

// Format returns the renderer with this name, or an error that lists the names.
func Format(name string) (Renderer, error) { return formats().Renderer(name) }

// FormatOf returns the format that the ending of a file name stands for, or "".
func FormatOf(path string) string { return formats().Of(path) }

// Endings returns the file endings that FormatOf knows.
func Endings() []string { return formats().Endings() }

// write writes a report in a format.
func write(w io.Writer, format string, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	return nil
}
