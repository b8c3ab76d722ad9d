package budget

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newSetCommand(redis *cli.Redis) *cobra.Command {
	f := changeFlags{redis: redis}
	var note string
	var cut bool
	c := &cobra.Command{
		Use:   "set HOST RATE",
		Short: "Set what all runs together may send at an endpoint",
		Long: `Set what all runs together may send at an endpoint, in requests per second: 500, 2.5k, 30/1m.
HOST is HOST, HOST:PORT, *.DOMAIN for all hosts below a domain together, or * for each host that
has no other budget.

If runs hold more than that, it is refused with 104, and the error names them. With --cut the
budget is set, and they come down by the same factor at once: each plan goes on at that part of its
rates. loadctl budget --help says how soon runs obey that are hard to reach.

The command returns when all runs obey the budget. In a Redis that had no budgets yet, or that may
have forgotten what runs hold, that takes 31 s: until everything has ended that it cannot know. If
it takes longer than --timeout, the exit code is 1, and the error names the runs that did not
report. The budget stays set.`,
		Example: `  loadctl budget set api.example.com 20k --note "agreed with payments"
  loadctl budget set '*' 100
  loadctl budget set api.example.com 5k --cut`,
		Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := named(args[0])
			rate, wrong := ledger.ParseRate(args[1])
			if err := cmp.Or(f.output.Check(), err, cli.Config(wrong), checkText("note", note)); err != nil {
				return err
			}
			return f.change(c, name, func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error) {
				said := ledger.Note{Text: note, Who: run.Who()}
				if !c.Flags().Changed("note") {
					said.Text = before.Budget(name).Note.Text
				}
				return l.Set(ctx, name, rate, cut, said)
			})
		},
		ValidArgsFunction: completeBudget(redis),
	}
	c.Flags().StringVar(&note, "note", "", "`TEXT` for people, such as with whom it was agreed; without it the last one stays")
	addCut(c, &cut)
	f.AddFlags(c)
	return c
}

// addCut adds --cut.
func addCut(c *cobra.Command, cut *bool) {
	c.Flags().BoolVar(cut, "cut", false, "if runs hold more than is allowed then, make them come down, each by the same factor")
}

// checkText refuses what does not fit into a line.
func checkText(flag, text string) error {
	if err := budgets.CheckText(text); err != nil {
		return cli.Config(fmt.Errorf("--%s %.40q: %w", flag, text, err))
	}
	return nil
}
