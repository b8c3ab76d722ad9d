package cli

import (
	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/targets"
)

// NewProgram returns the root command of a program, with the commands version and man. The linker has set version and
// commit, or the compiler knows them. others are the schemes that it has besides ours.
func NewProgram(name, short, version, commit string, others ...targets.Scheme) *cobra.Command {
	version, commit = stamped(version, commit)
	root := NewGroup(name, short, newVersionCommand(name, version, commit, others), newManCommand(name, version))
	root.Version = version
	return root
}

// NewGroup returns a command that has others below it. Alone it shows its help.
func NewGroup(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: Args(cobra.NoArgs), RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(below...)
	return c
}
