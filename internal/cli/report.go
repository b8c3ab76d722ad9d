package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	file   string
}

// AddFlags adds -o/--output and --out.
func (r *Report) AddFlags(c *cobra.Command) {
	r.output.AddFlags(c, report.Formats()...)
	c.Flags().StringVar(&r.file, "out", "", "write the report to `FILE` instead of standard output; it appears when it is whole")
}

// Check refuses formats that there are not, and a file that cannot be written: better now than after an hour of load.
func (r *Report) Check() error {
	if err := r.output.Check(); err != nil {
		return err
	}
	if r.file == "" {
		return nil
	}
	if info, err := os.Stat(r.file); err == nil && !info.Mode().IsRegular() {
		return Config(fmt.Errorf("--out %.200q: is no regular file; give the path of one, or leave --out away for standard output", r.file))
	}
	f, err := r.create()
	if err != nil {
		return Config(fmt.Errorf("--out %.200q: %w; give a file in a directory that is there and can be written to", r.file, err))
	}
	return Config(errors.Join(f.Close(), os.Remove(f.Name())))
}

// create makes the file that the report is written to before it gets its name. The error does not name it: nobody asked for it.
func (r *Report) create() (*os.File, error) {
	name := filepath.Join(filepath.Dir(r.file), "."+filepath.Base(r.file)+"."+run.NewID())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less what the umask takes, as any file
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return f, err
}

// Write renders the report. The file is replaced in one step, so that nobody ever sees a half of it.
func (r *Report) Write(stdout io.Writer, rep report.Report) error {
	render, err := report.Format(r.output.Format)
	if err != nil {
		return Config(err)
	}
	if r.file == "" {
		err = render(stdout, rep)
	} else {
		err = r.replace(func(w io.Writer) error { return render(w, rep) })
	}
	switch {
	case err == nil:
		return nil
	case r.Lost:
		return fmt.Errorf("%w; the report is lost with the embedded Redis: a run that matters needs one of its own, --redis redis://host:port", err)
	default:
		return fmt.Errorf("%w; the report is still in Redis: loadctl report %s", err, rep.Run)
	}
}

// replace puts what write writes into the file's place.
func (r *Report) replace(write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	f, err := r.create()
	if err != nil {
		return fmt.Errorf("write %s: %w", r.file, err)
	}
	_, err = f.Write(text.Bytes())
	if old, missing := os.Stat(r.file); missing == nil {
		err = errors.Join(err, f.Chmod(old.Mode().Perm())) // who may read it stays the same
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), r.file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
	}
	return err
}
