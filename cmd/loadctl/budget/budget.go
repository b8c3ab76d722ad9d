package budget

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
)

// NewCommand returns the command with those for budgets below it.
func NewCommand(redis *cli.Redis) *cobra.Command {
	c := cli.NewGroup("budget", "Say what all runs together may send at an endpoint",
		newSetCommand(redis), newRemoveCommand(redis), newFreezeCommand(redis), newThawCommand(redis),
		newListCommand(redis), newShowCommand(redis), newExportCommand(redis), newImportCommand(redis))
	c.Long = `Say what all runs of this Redis together may send at an endpoint. HOST is one of these, and the
narrowest that fits an endpoint counts:

  HOST:PORT   one port of a host
  HOST        all its ports together
  *.DOMAIN    all hosts below a domain together
  *           each host that has no other budget, for itself

RATE is in requests per second, as --qps takes it: 500, 2.5k, 30/1m.

set, rm, freeze and thaw make runs obey, and return when all do. That takes:

  a run that is reached           20 ms and a message; 3 µs more for each worker
  a worker that missed that       one period: 0.5 s, longer in fleets of more than 50
  a run that is not reached       3 s more: one of its workers asks
  a worker that is cut off        until its lease ends: --permit-for, 10 s
  a run that is cut off           at most 29 s, if it reaches the ledger of budgets no more
  a ledger that lost its data     up to 86 s: runs bring back what it forgot for 31 s`
	c.Example = `  loadctl budget set api.example.com 20k --note "agreed with payments"
  loadctl budget show api.example.com`
	return c
}

// named returns the name of a budget that an argument gives.
func named(arg string) (string, error) {
	name, err := endpoint.Parse(arg)
	return name, cli.Config(err)
}

// completeBudget completes the name of a budget in a shell. Without a server it completes nothing.
func completeBudget(redis *cli.Redis) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		redis.Warn(nil) // the shell shows what is on stderr
		s, err := read(c, redis)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, b := range budgets.All(s).Budgets {
			names = append(names, cobra.CompletionWithDesc(b.Name, fmt.Sprintf("%s per second", budgets.Rate(b.Rate))))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// read reads the ledger.
func read(c *cobra.Command, redis *cli.Redis) (ledger.State, error) {
	client, err := redis.Connect(c.Context())
	if err != nil {
		return ledger.State{}, err
	}
	defer cli.Close(client)
	return ledger.Ledger{Client: client}.List(c.Context())
}
