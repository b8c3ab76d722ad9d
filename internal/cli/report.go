package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report"
)

// Report is the flags that say how a report is written, and where.
type Report struct {
	Lost bool // the run will not outlive this process: a report that cannot be written is nowhere else

	output Output
	file   File
}

// AddFlags adds -o/--output and --out.
func (r *Report) AddFlags(c *cobra.Command) {
	r.output.AddFlags(c, report.Formats()...)
	c.Flags().StringVar((*string)(&r.file), "out", "", "write the report to `FILE` instead of standard output; it appears when it is whole; on a full disk it goes to standard output, with exit code 1")
}

// Check refuses formats that there are not, and a file that cannot be written: better now than after an hour of load.
func (r *Report) Check() error {
	if err := r.output.Check(); err != nil {
		return err
	}
	return r.file.Check("out")
}

// instead puts a report that its file does not take on standard output, and where that fails into the directory for temporary files. It says where it is,
// "" = nowhere.
func (r *Report) instead(stdout io.Writer, text []byte) string {
	if _, err := stdout.Write(text); err == nil {
		return "on standard output"
	}
	path := filepath.Join(os.TempDir(), filepath.Base(string(r.file))+"."+run.NewID())
	if File(path).Write(text) != nil {
		return ""
	}
	return "in " + path
}

// Write renders the report. The file is replaced in one step, so that nobody ever sees a half of it. A report that it does not take is shown all the
// same, and is an error.
func (r *Report) Write(stdout io.Writer, rep report.Report) error {
	render, err := report.Format(r.output.Format)
	if err != nil {
		return Config(err)
	}
	saved := false
	if r.file == "" {
		err = render(stdout, rep)
	} else {
		var text bytes.Buffer
		if err = render(&text, rep); err != nil {
			return err
		}
		if err = r.file.Write(text.Bytes()); err != nil {
			if where := r.instead(stdout, text.Bytes()); where != "" {
				err, saved = fmt.Errorf("%w; it is %s instead", err, where), true
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case r.Lost && saved:
		return err
	case r.Lost:
		return fmt.Errorf("%w; the report is lost with the embedded Redis: a run that matters needs one of its own, --redis redis://host:port", err)
	default:
		return fmt.Errorf("%w; the report is still in Redis: loadctl report %s", err, rep.Run)
	}
}
