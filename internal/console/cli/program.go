package cli

import (
	"github.com/spf13/cobra"
)

// NewProgram returns the root command of a program, with the commands version and man. The linker has set version and
// commit, or the compiler knows them.
func NewProgram(name, short, version, commit string) *cobra.Command {
	version, commit = stamped(version, commit)
	root := NewGroup(name, short, newVersionCommand(name, version, commit), newManCommand(name, version))
	root.Version = version
	return root
}

// NewGroup returns a command that has others below it. Alone it shows its help.
func NewGroup(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: Args(cobra.NoArgs), RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(below...)
	return c
}
