package budget

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
)

func newShowCommand(redis *cli.Redis) *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "show HOST",
		Short: "Show which budgets fit an endpoint, how much is left, and who holds what or waits",
		Long: `Show which budgets fit an endpoint, how much is left for new runs, and which runs hold what until
when. Rows are renewed every 3 s, and end 30 s after the last time. Then it lists the runs that wait
for room (--wait-budget), the first in line first. This changes nothing.`,
		Example: "  loadctl budget show api.example.com:443\n  loadctl budget show '*'",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			name, err := named(args[0])
			if err != nil {
				return err
			}
			s, err := read(c, redis)
			if err != nil {
				return err
			}
			doc := budgets.At(s, name)
			return output.Print(c.OutOrStdout(), doc, func(w io.Writer) error { return doc.WriteEndpoint(w) })
		},
		ValidArgsFunction: completeBudget(redis),
	}
	output.AddFlags(c, "text", "json")
	return c
}
