// Command loadctl creates, watches and changes runs.
//
// The commands for runs in Redis are here, a file for each. Package prepare has those for the time before a run, package
// budget those for what all runs together may send, and package serve those that serve until they are stopped.
package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/cmd/loadctl/budget"
	"github.com/loadctl/loadctl/cmd/loadctl/prepare"
	"github.com/loadctl/loadctl/cmd/loadctl/serve"
	"github.com/loadctl/loadctl/internal/console/cli"
)

// version is set by the linker.
var version = "dev"

// commit is set by the linker.
var commit string //nolint:gochecknoglobals // nothing else can tell it if git cannot

func main() {
	os.Exit(cli.Main(newRootCommand(), os.Args[1:], os.Stdout, os.Stderr))
}

func newRootCommand() *cobra.Command {
	root := cli.NewProgram("loadctl", "Create, watch and change distributed load tests", version, commit)
	redis := &cli.Redis{}
	redis.AddFlags(root, "")
	root.AddCommand(
		newRunCommand(redis),
		newCreateCommand(redis),
		newStartCommand(redis),
		newStatusCommand(redis),
		newWatchCommand(redis),
		newWorkersCommand(redis),
		newSetRateCommand(redis),
		newSetBurstCommand(redis),
		newPauseCommand(redis),
		newResumeCommand(redis),
		newStopCommand(redis),
		newReportCommand(redis),
		newSamplesCommand(redis),
		newCompareCommand(redis),
		newSearchCommand(redis),
		newEventsCommand(redis),
		newDebugCommand(redis),
		newListCommand(redis),
		newRemoveCommand(redis),
		budget.NewCommand(redis),
		prepare.NewProfileCommand(),
		prepare.NewWorkloadCommand(),
		prepare.NewImportCommand(),
		prepare.NewDemoCommand(),
		prepare.NewDoctorCommand(redis),
		prepare.NewTryCommand(),
		prepare.NewLimitersCommand(),
		serve.NewUICommand(redis),
		serve.NewTargetCommand(),
	)
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, " RUN") && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = redis.CompleteRun
		}
	}
	return root
}
