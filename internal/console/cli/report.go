package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// Report has the flags that say how and where a report is written.
type Report struct {
	Documents
	Kept    bool // the report is of files that stay
	Lost    bool // the run will not outlive this process: a report that cannot be written is nowhere else
	GuardOK bool // a guard that failed does not fail the command
}

// AddFlags adds -o/--output, --out and --guard-ok.
func (r *Report) AddFlags(c *cobra.Command) {
	r.Documents.AddFlags(c, "report", Formats{Names: render.Formats(), Endings: render.Endings(), Of: render.FormatOf})
	c.Flags().BoolVar(&r.GuardOK, "guard-ok", false, "a threshold with reduce that failed does not make the exit code 99: it has lowered the rate")
}

// rendered returns the report in a format.
func rendered(format string, rep report.Report) ([]byte, error) {
	write, err := render.Format(format)
	if err != nil {
		return nil, Config(err)
	}
	var text bytes.Buffer
	err = write(&text, rep)
	return text.Bytes(), err
}

// Write renders the report. An error says where the report still is.
func (r *Report) Write(stdout io.Writer, rep report.Report) error {
	rep.Described.ReportedBy = program(r.command)
	if r.Lost {
		rep.SamplesIn = r.archives()
	}
	saved, err := r.write(alarmed(stdout), func(format string) ([]byte, error) { return rendered(format, rep) })
	switch {
	case err == nil:
		return nil
	case r.Kept, r.Lost && saved:
		return err
	case r.Lost:
		// A format may not take what does not add up. JSON takes all, and such a report is wanted most.
		if text, failed := rendered("json", rep); failed == nil {
			if _, failed = stdout.Write(text); failed == nil {
				return fmt.Errorf("%w; the report is on standard output as JSON instead", err)
			}
		}
		return fmt.Errorf("%w; the report is lost with the embedded Redis: a run that matters needs one of its own, --redis redis://host:port", err)
	default:
		return fmt.Errorf("%w; the report is still in Redis: loadctl report %s", err, rep.Run)
	}
}

// archives returns the archives that are written, not nil.
func (r *Report) archives() []string {
	return append([]string{}, slices.DeleteFunc(r.paths(), func(name string) bool { return !strings.HasSuffix(name, report.ArchiveExtension) })...)
}
