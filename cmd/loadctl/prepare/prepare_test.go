package prepare

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
)

// newRootCommand returns loadctl with the commands of this package.
func newRootCommand() *cobra.Command {
	redis := &cli.Redis{}
	return clitest.Loadctl(redis, NewProfileCommand(), NewWorkloadCommand(), NewImportCommand(), NewDemoCommand(), NewDoctorCommand(redis), NewTryCommand(), NewLimitersCommand())
}

// execute runs loadctl in this process.
func execute(args ...string) (stdout, stderr string, code int) {
	return clitest.Execute(newRootCommand(), args...)
}

const secret = clitest.Secret

func refused(t *testing.T, args []string, says ...string) {
	t.Helper()
	clitest.Refused(t, newRootCommand(), args, says...)
}
