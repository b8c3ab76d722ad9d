package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// Formats are those in which a document can be written.
type Formats struct {
	Names   []string // the default first
	Endings []string // of files
	Of      func(path string) string
	Page    string // of the documentation that describes them; "" = that of reports
}

// Documents has the flags that say in which formats a document is written, and into which files.
type Documents struct {
	command *cobra.Command
	output  Output
	files   []string
	formats Formats
	called  string
}

// AddFlags adds -o/--output and --out of a document with this name.
func (d *Documents) AddFlags(c *cobra.Command, called string, formats Formats) {
	d.command, d.formats, d.called = c, formats, called
	d.output.AddFlags(c, formats.Names...)
	c.Flags().StringArrayVar(&d.files, "out", nil, "write the "+called+" to `FILE`; may be repeated. Its ending is the format: "+
		strings.Join(formats.Endings, " ")+"; without one it is that of -o; see "+cmp.Or(formats.Page, "docs/report.md#formats"))
}

// Check refuses unknown formats, and files that cannot be written: better now than after an hour of load.
func (d *Documents) Check() error {
	if err := d.output.Check(); err != nil {
		return err
	}
	for i, name := range d.paths() {
		if slices.Contains(d.paths()[:i], name) {
			return Config(fmt.Errorf("--out %.200q: is given twice; leave one out", name))
		}
		if err := cmp.Or(File(name).Check("out"), d.checkEnding(name)); err != nil {
			return err
		}
	}
	return nil
}

// checkEnding refuses a file whose ending promises a format that there is not: text in a .pdf helps nobody. With -o the
// user has said what is to be in it.
func (d *Documents) checkEnding(name string) error {
	ending := filepath.Ext(name)
	if ending == "" || d.formats.Of(name) != "" || d.command.Flags().Changed("output") {
		return nil
	}
	return Config(fmt.Errorf("--out %.200q: no format of the %s ends in %.20s; there are %s; or choose one with -o",
		name, d.called, ending, strings.Join(d.formats.Endings, " ")))
}

// paths returns the files to write. "" means none.
func (d *Documents) paths() []string {
	return slices.DeleteFunc(slices.Clone(d.files), func(name string) bool { return name == "" })
}

// format returns the format of a file.
func (d *Documents) format(name string) string { return cmp.Or(d.formats.Of(name), d.output.Format) }

// Shown reports whether standard output gets the document: there is no file, or -o asks for a format that no file has.
func (d *Documents) Shown() bool {
	asked := d.command.Flags().Changed("output")
	return len(d.paths()) == 0 || asked && !slices.ContainsFunc(d.paths(), func(name string) bool { return d.format(name) == d.output.Format })
}

// write renders the document. Each file is replaced in one step, so nobody ever sees half of it. If one file cannot be
// written, its text is shown instead, that is an error, and the other files are still written. saved reports that the
// document is in at least one place.
func (d *Documents) write(stdout io.Writer, render func(format string) ([]byte, error)) (saved bool, err error) {
	free := true // standard output has nothing yet
	var all []error
	if d.Shown() {
		free = false
		text, err := render(d.output.Format)
		if err == nil {
			_, err = stdout.Write(text)
		}
		if err != nil {
			err = fmt.Errorf("write the %s to standard output: %w", d.called, err)
		}
		saved = err == nil
		all = append(all, err)
	}
	for _, name := range d.paths() {
		text, err := render(d.format(name))
		if err == nil {
			var there bool
			there, err = writeFile(name, text, stdout, &free)
			saved = saved || there
		}
		all = append(all, err)
	}
	return saved, errors.Join(all...)
}

// Write renders a document that can be rendered again from the same data.
func (d *Documents) Write(stdout io.Writer, render func(format string) ([]byte, error)) error {
	_, err := d.write(stdout, render)
	return err
}

// writeFile writes one file. If that fails, the text goes to standard output if it is free, else into the directory
// for temporary files. saved reports that it is in one of these places.
func writeFile(name string, text []byte, stdout io.Writer, free *bool) (saved bool, err error) {
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
