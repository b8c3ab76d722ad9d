package budget

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
)

func newListCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "ls",
		Short: "List all budgets, and how much of each is left",
		Long: `List all budgets, with what runs hold of each and what is left. Hosts where runs hold something
without a budget of their own are listed too. This changes nothing.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			s, err := read(c, redis)
			if err != nil {
				return err
			}
			doc := budgets.All(s)
			return output.Print(c.OutOrStdout(), doc, func(w io.Writer) error { return doc.WriteList(w) })
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}
