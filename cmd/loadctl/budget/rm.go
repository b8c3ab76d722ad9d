package budget

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newRemoveCommand(redis *cli.Redis) *cobra.Command {
	f := changeFlags{redis: redis}
	var cut bool
	c := &cobra.Command{
		Use:   "rm HOST",
		Short: "Remove the budget of an endpoint",
		Long: `Remove a budget. The next one that fits, such as that of *.DOMAIN or *, bounds these endpoints from
now on. If runs hold more than that one allows, this is refused with 104; with --cut they come down.
A freeze stays.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := named(args[0])
			if err := cmp.Or(f.output.Check(), err); err != nil {
				return err
			}
			return f.change(c, name, func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error) {
				// A ledger that may have forgotten budgets gets them back from runs.
				if before.Budget(name).Rate >= reserve.Endless && before.Quiet.IsZero() {
					return ledger.Change{}, cli.Config(fmt.Errorf("there is no budget of %s; loadctl budget ls lists them", name))
				}
				return l.Set(ctx, name, reserve.Endless, cut, ledger.Note{Who: run.Who()})
			})
		},
		ValidArgsFunction: completeBudget(redis),
	}
	addCut(c, &cut)
	f.AddFlags(c)
	return c
}
