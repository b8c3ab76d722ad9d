package main

import (
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
		err = cli.File(filepath.Join(f.dir, "loadctl")).Try()
	}
	if err != nil {
		return cli.Config(fmt.Errorf("--save-dir %.200q: %w; give a directory that is there and can be written to, or leave it out", f.dir, err))
	}
	return nil
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
		err = cli.File(path).Write(data)
	}
	if instead := filepath.Join(os.TempDir(), name); err != nil && data != nil && cli.File(instead).Write(data) == nil {
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
