package cli

import (
	"fmt"
	"os"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
)

// ReadReport reads an archive, or a report as JSON. Errors name the file.
func ReadReport(path string) (report.Report, error) {
	// Opening a pipe would block until somebody writes to it.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return report.Report{}, Config(fmt.Errorf("%w; give the path of an archive, or the name of a run: use 1 to 64 letters, digits, dots, dashes and underscores, without .loadctl at its end", err))
	case !info.Mode().IsRegular():
		return report.Report{}, Config(fmt.Errorf("read %s: it is no regular file; give the path of an archive", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return report.Report{}, Config(fmt.Errorf("%w; give the path of an archive", err))
	}
	defer Close(f)
	rep, err := archive.Read(f)
	if err != nil {
		return report.Report{}, Config(fmt.Errorf("read %s: %w", path, err))
	}
	rep.SamplesIn = []string{path}
	return rep, nil
}
