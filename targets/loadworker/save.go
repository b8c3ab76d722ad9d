package loadworker

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// saveFlags say where a worker saves counts that Redis did not take.
type saveFlags struct {
	dir string
}

func (f *saveFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "save-dir", ".", "`DIRECTORY` for this worker's counts, if Redis does not take them in the end; loadctl report --merge adds them")
}

// check refuses a directory that cannot be written to: better now than after an hour of load.
func (f *saveFlags) check(c *cobra.Command) error {
	if !c.Flags().Changed("save-dir") {
		return nil
	}
	err := fs.ErrNotExist
	if f.dir != "" {
		err = cli.File(filepath.Join(f.dir, "loadctl")).Try()
	}
	if err != nil {
		return cli.Config(fmt.Errorf("--save-dir %.200q: %w; give an existing, writable directory, or leave it out", f.dir, err))
	}
	return nil
}

// save writes counts that Redis does not have into a file, and prints what to do with it. It returns an error that says
// that Redis lacks them; nil if u is nil or empty. If the directory cannot be written, the file goes to the directory
// for temporary files.
func (f *saveFlags) save(u *results.Unpublished, stderr io.Writer) error {
	if u == nil || u.Total.Counts == (record.Counts{}) && u.StartedAt.IsZero() {
		return nil
	}
	missing := fmt.Errorf("run %s: the final counts of worker %s did not reach Redis", u.Run, u.Total.Worker)
	name := report.UnpublishedFile(u.Run, u.Total.Worker, u.Total.Incarnation)
	path := filepath.Join(f.dir, name)
	data, err := u.MarshalBinary()
	if err == nil {
		err = cli.File(path).Write(data)
	}
	if instead := filepath.Join(os.TempDir(), name); err != nil && data != nil && cli.File(instead).Write(data) == nil {
		path, err = instead, nil
	}
	if err != nil {
		return fmt.Errorf("%w, and are lost: %w", missing, err)
	}
	fmt.Fprintf(stderr, "Redis did not take this worker's final counts. They are saved in %s. To add them to the report: loadctl report %s --merge %s\n", path, u.Run, report.Quoted(path))
	return missing
}
