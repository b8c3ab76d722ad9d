package prepare

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/input/rehearsal"
)

// NewWorkloadCommand returns the command that checks workload files and shows what they would send.
func NewWorkloadCommand() *cobra.Command {
	return cli.NewGroup("workload", "Look at a workload file before it is sent", newCheckWorkloadCommand())
}

func newCheckWorkloadCommand() *cobra.Command {
	var output cli.Output
	var qps string
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Say what a workload file would send, without sending it",
		Long: `Check a workload file as --workload does, and say what it would send: its flows with their shares,
the steps with their times, the rates, the data files, the thresholds, and the first five requests.
Nothing is sent, and no Redis is needed.

Placeholders are filled from the data files. What a step takes from an answer is not known yet. It
is shown as <NAME>, and so are columns of data files whose names tell of a secret. User and password
of URLs are not shown, nor headers whose names tell of a secret. Other headers and bodies are shown.`,
		Example: "  loadctl workload check shop.yaml\n  loadctl workload check shop.yaml --qps 2k -o json",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			asked, data, rated, err := runflags.OfWorkload(args[0], qps)
			if err != nil {
				return err
			}
			shown, err := rehearsal.Of(asked, rated, data.Tables, time.Now())
			if err != nil {
				return cli.Config(err)
			}
			return output.Print(c.OutOrStdout(), shown, shown.Text)
		},
	}
	c.Flags().StringVar(&qps, "qps", "", "requests per second of the WHOLE CLUSTER, instead of the rate in the file")
	output.AddFlags(c, "text", "json")
	return c
}
