package prepare

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/input/importer"
)

// NewImportCommand returns the command that makes workload files of recordings, curl commands and logs.
func NewImportCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a workload file of a recording, curl commands, targets or an access log",
		Long: `Print a workload file, as --workload reads it, made of what another program has recorded. FILE is -
for standard input. The content tells the format:

  har     a recording of a browser, HAR 1.2: one flow, whose steps have the times of the recording
  curl    curl command lines, as browsers copy them: a flow of each, or with --steps one flow of all
  vegeta  targets in vegeta's formats http and json, or a URL a line: a mix
  log     an access log: a mix of its 30 most frequent patterns. It is common, combined, JSON lines,
          W3C extended (IIS, CloudFront), or one of ALB, ELB, S3 and HAProxy

Tokens that an answer of a recording gave, and that later requests carry, become takes. Headers
whose names tell of a secret are left out, and a comment names them. Such parameters and fields of
a recording or a command, passwords for example, become columns of secrets.csv: a comment says how
to write that file. Look through the result before you use it. Nothing is sent, and no Redis is
needed.`,
		Example: `  loadctl import shop.har --base https://staging.test --out shop.yaml
  loadctl import --steps commands.sh
  loadctl import access.log --base https://staging.test`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args[0], c.InOrStdin(), c.OutOrStdout())
		},
	}
	f.AddFlags(c)
	return c
}

// importFlags say what is imported, and where the result goes.
type importFlags struct {
	options importer.Options
	out     string
	force   bool
}

func (f *importFlags) AddFlags(c *cobra.Command) {
	s := c.Flags()
	formats := importer.Formats()
	s.StringVar(&f.options.Format, "format", "", "`FORMAT` of the file, if its content does not tell it: "+strings.Join(formats, ", "))
	s.StringVar(&f.options.Base, "base", "", "`URL` to send to, such as https://staging.test, instead of the host that was recorded; a log needs it")
	s.StringVar(&f.options.OnlyHost, "only-host", "", "`HOST` of a recording whose requests are kept; that of the first request if left out")
	s.BoolVar(&f.options.NoStatic, "no-static", false, "leave out images, fonts, styles and scripts of a recording")
	s.BoolVar(&f.options.Steps, "steps", false, "make one flow of all curl commands, instead of a flow of each")
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	s.BoolVar(&f.force, "force", false, "let --out replace a file that is there")
	cli.Complete(c, "format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// run imports a file. --out is written whole or not at all.
func (f *importFlags) run(name string, in io.Reader, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	o := f.options
	o.Name, o.Out = name, f.out
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return cli.Config(fmt.Errorf("%w; give the path of a file that can be read, or - for standard input", err))
		}
		defer cli.Close(file)
		in = file
	}
	text, err := importer.Workload(in, o)
	if err != nil {
		return cli.Config(err)
	}
	if f.out != "" {
		return cli.File(f.out).Write(text)
	}
	_, err = out.Write(text)
	return err
}

// check checks where the result goes.
func (f *importFlags) check() error {
	switch _, err := os.Lstat(f.out); {
	case f.out == "" && f.force:
		return cli.Config(errors.New("--force is for --out, which is not given; leave --force out"))
	case f.out != "" && err == nil && !f.force:
		return cli.Config(fmt.Errorf("--out %.200q: is there already; give another name, or --force to replace it", f.out))
	case f.out != "" && err != nil && !errors.Is(err, fs.ErrNotExist):
		return cli.Config(fmt.Errorf("--out: %w; give a file in a directory that is there", err))
	}
	return cli.File(f.out).Check("out")
}
