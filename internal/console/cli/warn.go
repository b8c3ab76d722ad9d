package cli

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Warn prints a warning on stderr: a line that says what, and what to do.
func Warn(c *cobra.Command, format string, args ...any) {
	printable.Fprintf(c.ErrOrStderr(), "warning: "+format+"\n", args...)
}

// WarnOf prints an error as a warning, because the command goes on; nil is none.
func WarnOf(c *cobra.Command, err error) {
	if err != nil {
		Warn(c, "%v", err)
	}
}
