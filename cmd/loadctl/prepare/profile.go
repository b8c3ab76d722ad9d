package prepare

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/input/preview"
)

// NewProfileCommand returns the command that shows what a schedule will ask for.
func NewProfileCommand() *cobra.Command {
	return cli.NewGroup("profile", "Look at a rate over time before it is sent", newShowProfileCommand())
}

func newShowProfileCommand() *cobra.Command {
	var output cli.Output
	var schedule runflags.Schedule
	c := &cobra.Command{
		Use:   "show [PROFILE]",
		Short: "Draw a rate over time, and print its peak, mean and total",
		Long: `Draw the rate of the whole fleet over time, and print its peak, its mean, its number of requests and
its length. Nothing is sent, and no Redis is needed.

PROFILE is what --profile takes. The other flags are those of loadctl create: with --qps or --stage
leave PROFILE out. --duration ends the profile earlier.

A column of the plot is a stretch of time. Its block is the mean rate, and the shade above it the
highest rate.`,
		Example: `  loadctl profile show sine:mean=1k,amplitude=400,period=1m
  loadctl profile show replay:access.log,every=10s
  loadctl profile show --stage 1m:2k --stage 10m:2k --stage 30s:0`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cli.CompleteProfile(c, args, begun)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			asked, err := schedule.Spec(strings.Join(args, ""))
			if err != nil {
				return err
			}
			shown, err := preview.Of(asked)
			if err != nil {
				return cli.Config(err)
			}
			return output.Print(c.OutOrStdout(), shown, shown.Text)
		},
	}
	schedule.AddFlags(c)
	output.AddFlags(c, "text", "json")
	return c
}
