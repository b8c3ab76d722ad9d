package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report"
)

// saveFlags say where a worker leaves what Redis could not take in the end.
type saveFlags struct {
	dir string
}

func (f *saveFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "save-dir", ".", "`DIRECTORY` for a file with this worker's counts, written only if Redis does not take them in the end; loadctl report --merge adds it")
}

// check refuses a directory that was named and cannot be written to: better now than after an hour of load.
func (f *saveFlags) check(c *cobra.Command) error {
	if !c.Flags().Changed("save-dir") {
		return nil
	}
	err := fs.ErrNotExist
	if f.dir != "" {
		err = f.try()
	}
	if err != nil {
		return cli.Config(fmt.Errorf("--save-dir %.200q: %w; give a directory that is there and can be written to, or leave it out", f.dir, err))
	}
	return nil
}

// try makes a file and removes it.
func (f *saveFlags) try() error {
	t, err := newFile(filepath.Join(f.dir, "loadctl"))
	if err != nil {
		return err
	}
	return errors.Join(t.Close(), os.Remove(t.Name()))
}

// newFile makes the file that is to be called path when it is whole. The error does not name it: nobody asked for it.
func newFile(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+run.NewID()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return f, err
}

// writeWhole makes a file, whole or not at all.
func writeWhole(path string, data []byte) error {
	f, err := newFile(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells more
	}
	return err
}

// save writes what could not be published into a file, and tells what to do with it; nil is nothing. What the directory does not take
// goes to the one for temporary files.
func (f *saveFlags) save(u *run.Unpublished, stderr io.Writer) {
	if u == nil || u.Total.Counts == (report.Counts{}) {
		return
	}
	name := fmt.Sprintf("loadctl-%s-%s-%s.json", u.Run, u.Total.Worker, u.Total.Incarnation)
	path := filepath.Join(f.dir, name)
	data, err := u.MarshalBinary()
	if err == nil {
		err = writeWhole(path, data)
	}
	if instead := filepath.Join(os.TempDir(), name); err != nil && data != nil && writeWhole(instead, data) == nil {
		path, err = instead, nil
	}
	if err != nil {
		fmt.Fprintf(stderr, "Redis did not take what this worker did at last, and it is lost: %v\n", err)
		return
	}
	fmt.Fprintf(stderr, "Redis did not take what this worker did at last; it is in %s, and is added to the run's report with: loadctl report %s --merge %s\n", path, u.Run, quoted(path))
}

// quoted is a word for a shell.
func quoted(word string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
