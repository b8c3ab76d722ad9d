// Command loadworker is one worker of a fleet that sends requests at one shared rate.
package main

import (
	"os"

	"github.com/spf13/cobra"

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
	root := cli.NewProgram("loadworker", "Send requests at a rate that all workers of a run share", version, commit)
	redis := &cli.Redis{}
	redis.AddFlags(root, ", else embedded: one in this process, for this machine; embedded:PORT chooses its port")
	root.AddCommand(newRunCommand(redis))
	return root
}
