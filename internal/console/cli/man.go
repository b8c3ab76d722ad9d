package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// newManCommand returns the command man of a program. It writes a page for each of its commands.
func newManCommand(program, version string) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write manual pages into a directory",
		Example: "  " + program + " man ~/.local/share/man/man1",
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return Config(fmt.Errorf("man: %w; give a directory that can be written to", err))
			}
			root := c.Root()
			root.DisableAutoGenTag = true // the same pages each time
			plain(root)
			header := doc.GenManHeader{Section: "1", Source: program + " " + version, Manual: "loadctl"}
			if err := doc.GenManTree(root, &header, args[0]); err != nil {
				return Config(fmt.Errorf("man: %w; give a directory that can be written to", err))
			}
			return nil
		},
	}
}

// plain removes the quotes around the names of values in the descriptions of flags. Manual pages have none.
func plain(c *cobra.Command) {
	unquote := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	c.LocalFlags().VisitAll(unquote)
	for _, below := range c.Commands() {
		plain(below)
	}
}
