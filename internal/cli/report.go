package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report"
)

// Report is the flags that say how a report is written, and where.
type Report struct {
	Kept bool // the report is of files that stay
	Lost bool // the run will not outlive this process: a report that cannot be written is nowhere else

	command *cobra.Command
	output  Output
	files   []string
}

// AddFlags adds -o/--output and --out.
func (r *Report) AddFlags(c *cobra.Command) {
	r.command = c
	r.output.AddFlags(c, report.Formats()...)
	c.Flags().StringArrayVar(&r.files, "out", nil, "write the report to `FILE` instead of standard output; may be repeated; its ending is the format: "+
		strings.Join(report.Endings(), " ")+", any other is that of -o; with -o in a format that no file has, standard output has it too; "+
		"a file appears when it is whole; on a full disk it goes to standard output, with exit code 1")
}

// Check refuses formats that there are not, and files that cannot be written: better now than after an hour of load.
func (r *Report) Check() error {
	if err := r.output.Check(); err != nil {
		return err
	}
	for i, name := range r.paths() {
		if slices.Contains(r.paths()[:i], name) {
			return Config(fmt.Errorf("--out %.200q: is given twice; leave one out", name))
		}
		if err := File(name).Check("out"); err != nil {
			return err
		}
	}
	return nil
}

// paths are the files to write. "" is none.
func (r *Report) paths() []string {
	return slices.DeleteFunc(slices.Clone(r.files), func(name string) bool { return name == "" })
}

// format is that of a file.
func (r *Report) format(name string) string { return cmp.Or(report.FormatOf(name), r.output.Format) }

// shown tells whether standard output has the report: where there is no file, or where -o asks for a format that no file has.
func (r *Report) shown() bool {
	asked := r.command.Flags().Changed("output")
	return len(r.paths()) == 0 || asked && !slices.ContainsFunc(r.paths(), func(name string) bool { return r.format(name) == r.output.Format })
}

// render is the report in a format.
func render(format string, rep report.Report) ([]byte, error) {
	write, err := report.Format(format)
	if err != nil {
		return nil, Config(err)
	}
	var text bytes.Buffer
	err = write(&text, rep)
	return text.Bytes(), err
}

// Write renders the report. Each file is replaced in one step, so that nobody ever sees a half of it. A report that one does not take is
// shown all the same, and is an error; the other files are written.
func (r *Report) Write(stdout io.Writer, rep report.Report) error {
	rep.Described.ReportedBy = program(r.command)
	free, saved := true, false // standard output has nothing yet; the report is nowhere
	var all []error
	if r.shown() {
		free = false
		text, err := render(r.output.Format, rep)
		if err == nil {
			_, err = stdout.Write(text)
		}
		if err != nil {
			err = fmt.Errorf("write report to standard output: %w", err)
		}
		saved = err == nil
		all = append(all, err)
	}
	for _, name := range r.paths() {
		text, err := render(r.format(name), rep)
		if err == nil {
			var there bool
			there, err = r.write(name, text, stdout, &free)
			saved = saved || there
		}
		all = append(all, err)
	}
	err := errors.Join(all...)
	switch {
	case err == nil:
		return nil
	case r.Kept, r.Lost && saved:
		return err
	case r.Lost:
		return fmt.Errorf("%w; the report is lost with the embedded Redis: a run that matters needs one of its own, --redis redis://host:port", err)
	default:
		return fmt.Errorf("%w; the report is still in Redis: loadctl report %s", err, rep.Run)
	}
}

// write writes one file. What it does not take goes to standard output, if that is free, or else into the directory for temporary files.
// saved tells that it is in one of these places.
func (r *Report) write(name string, text []byte, stdout io.Writer, free *bool) (saved bool, err error) {
	err = File(name).Write(text)
	if err == nil {
		return true, nil
	}
	if *free {
		*free = false
		if _, failed := stdout.Write(text); failed == nil {
			return true, fmt.Errorf("%w; it is on standard output instead", err)
		}
	}
	path := filepath.Join(os.TempDir(), filepath.Base(name)+"."+run.NewID())
	if File(path).Write(text) == nil {
		return true, fmt.Errorf("%w; it is in %s instead", err, path)
	}
	return false, err
}
