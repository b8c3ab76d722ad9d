package prepare

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/limiters"
)

// explained is the output of limiters.
type explained struct {
	Limiters []limiters.Limiter `json:"limiters"`
}

// NewLimitersCommand returns the command that lists the limiters and what each promises.
func NewLimitersCommand() *cobra.Command {
	var output cli.Output
	c := &cobra.Command{
		Use:   "limiters [NAME…]",
		Short: "Compare the limiters",
		Long: `Compare the limiters of runs (--limiter) and of the library pacer/limit: what each promises, what it
costs, and when to use it. Names select some of them.`,
		Example: "  loadctl limiters\n  loadctl limiters token-bucket gcra",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, names []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			chosen, err := limiters.Named(names...)
			if err != nil {
				return cli.Config(err)
			}
			return output.Print(c.OutOrStdout(), explained{chosen}, func(w io.Writer) error { return limiters.WriteTable(w, chosen) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return limiters.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	output.AddFlags(c, "text", "json")
	return c
}
