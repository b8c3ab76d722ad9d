// Command loadctl creates, watches and changes runs.
package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/cmd/loadctl/target"
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
	version, commit := cli.Stamp(version, commit)
	root := &cobra.Command{
		Use:     "loadctl",
		Short:   "Create, watch and change distributed load tests",
		Version: version,
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	redis := &cli.Redis{}
	redis.AddFlags(root, "")
	root.AddCommand(
		newRunCommand(redis),
		newCreateCommand(redis),
		newStartCommand(redis),
		newStatusCommand(redis),
		newWatchCommand(redis),
		newUICommand(redis),
		newWorkersCommand(redis),
		newSetRateCommand(redis),
		newSetBurstCommand(redis),
		newPauseCommand(redis),
		newResumeCommand(redis),
		newStopCommand(redis),
		newReportCommand(redis),
		newCompareCommand(redis),
		newSearchCommand(redis),
		newEventsCommand(redis),
		newDebugCommand(redis),
		newListCommand(redis),
		newRemoveCommand(redis),
		newProfileCommand(),
		newWorkloadCommand(),
		newImportCommand(),
		newDemoCommand(),
		target.New(),
		newDoctorCommand(redis),
		newLimitersCommand(),
		cli.NewVersionCommand("loadctl", version, commit),
		cli.NewManCommand("loadctl", version),
	)
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, " RUN") && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = redis.CompleteRun
		}
	}
	return root
}
