package budget

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

func newFreezeCommand(redis *cli.Redis) *cobra.Command {
	f := changeFlags{redis: redis}
	var why string
	c := &cobra.Command{
		Use:   "freeze HOST --why TEXT",
		Short: "Let no run send at an endpoint, until it is thawed",
		Long: `Let no run send at the endpoints that HOST fits, until loadctl budget thaw. There need not be a
budget. Runs are paused at once, and keep what they hold; none is created, resumed or raised. The
command returns when all runs obey. loadctl budget --help says how soon those obey that are hard to
reach.`,
		Example: `  loadctl budget freeze api.example.com --why "incident 4711"`,
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := named(args[0])
			if err := cmp.Or(f.output.Check(), err, checkText("why", why)); err != nil {
				return err
			}
			if strings.TrimSpace(why) == "" {
				return cli.Config(errors.New(`--why: say why nobody may send there: --why "incident 4711"`))
			}
			return f.change(c, name, func(ctx context.Context, l ledger.Ledger, _ ledger.State) (ledger.Change, error) {
				return l.Freeze(ctx, name, ledger.Note{Text: why, Who: run.Who()})
			})
		},
		ValidArgsFunction: completeBudget(redis),
	}
	c.Flags().StringVar(&why, "why", "", "`TEXT` that everybody is shown whose run may not send")
	f.AddFlags(c)
	return c
}

func newThawCommand(redis *cli.Redis) *cobra.Command {
	f := changeFlags{redis: redis}
	c := &cobra.Command{
		Use:   "thaw HOST",
		Short: "End a freeze",
		Long: `End the freeze of exactly this HOST. One of a wider name, such as *.DOMAIN or *, stays: loadctl
budget show HOST tells which. Runs that the freeze has paused are resumed, and no others.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := named(args[0])
			if err := cmp.Or(f.output.Check(), err); err != nil {
				return err
			}
			return f.change(c, name, func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error) {
				if !before.Budget(name).Frozen && before.Quiet.IsZero() { // as for rm
					return ledger.Change{}, errUnchanged
				}
				return l.Thaw(ctx, name, ledger.Note{Who: run.Who()})
			})
		},
		ValidArgsFunction: completeBudget(redis),
	}
	f.AddFlags(c)
	return c
}
