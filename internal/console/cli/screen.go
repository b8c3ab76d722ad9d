package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/watch"
)

// Screen has the flags that say how a run is shown while it goes on.
type Screen struct{ plain, readOnly bool }

// AddFlags adds --plain and --read-only.
func (s *Screen) AddFlags(c *cobra.Command) {
	c.Flags().BoolVar(&s.plain, "plain", false, "show one line of progress, not a whole screen")
	c.Flags().BoolVar(&s.readOnly, "read-only", false, "the keys of the screen give no commands to the run")
}

// Options returns how a command shows a run: with a line each time every, or on a whole screen.
func (s *Screen) Options(c *cobra.Command, every time.Duration) watch.Options {
	return watch.Options{Out: c.ErrOrStderr(), Every: every, Keys: c.InOrStdin(), Data: c.OutOrStdout(), Plain: s.plain, ReadOnly: s.readOnly}
}
