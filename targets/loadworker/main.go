// Package loadworker is the command loadworker, for programs with schemes of their own:
//
//	func main() { os.Exit(loadworker.Main(targets.Scheme{Name: "mqtt", Version: "1", Port: "1883", Open: open})) }
//
// Such a program takes part in runs as loadworker does, with the same flags, and loadctl watches and changes these runs. It has
// two more commands of loadctl, which need its schemes: try and doctor. See docs/extend.md.
package loadworker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/cmd/loadctl/prepare"
	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/targets"
)

// version is set by the linker.
var version = "dev"

// commit is set by the linker.
var commit string //nolint:gochecknoglobals // nothing else can tell it if git cannot

// Main runs the command line of this process, and returns the exit code: docs/exit-codes.md lists them. A program with
// schemes is called as its file is. Schemes that cannot be used end it with 104 and one line.
func Main(schemes ...targets.Scheme) int {
	return cli.Main(newRootCommand(schemes...), os.Args[1:], os.Stdout, os.Stderr)
}

// Join takes part in a run, which must exist, as `loadworker run --redis URL --run NAME` does, with one scheme besides ours. It
// returns nil when the run has ended, whatever its thresholds say. When ctx ends, it leaves the run, and returns why ctx has
// ended. Another error is one line that says what to do. It sends only requests of schemes that do not
// connect, and to a host that has the name of the scheme.
func Join(ctx context.Context, redisURL, run string, scheme targets.Scheme) error {
	root := newRootCommand(scheme)
	root.SetArgs([]string{"run", "--redis", redisURL, "--run", run, "--allow-hosts", scheme.Name})
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	root.SilenceErrors, root.SilenceUsage = true, true
	err := root.ExecuteContext(ctx)
	if code := cli.Code(err); code == cli.CodeThreshold || code == cli.CodeInvalid {
		return nil
	}
	return err
}

func newRootCommand(schemes ...targets.Scheme) *cobra.Command {
	name := "loadworker"
	if len(schemes) > 0 {
		name = filepath.Base(os.Args[0])
	}
	root := cli.NewProgram(name, "Send requests at a rate that all workers of a run share", version, commit, schemes...)
	redis := &cli.Redis{}
	redis.AddFlags(root, ", else embedded: one in this process, for this machine; embedded:PORT chooses its port")
	root.AddCommand(newRunCommand(redis, schemes...))
	if len(schemes) > 0 {
		root.AddCommand(prepare.NewTryCommand(schemes...), prepare.NewDoctorCommand(redis, schemes...))
		root.PersistentPreRunE = func(*cobra.Command, []string) error { return cli.Config(usable(schemes)) }
	}
	return root
}

// usable says what is wrong with the schemes of a program.
func usable(schemes []targets.Scheme) error {
	for _, k := range schemes {
		if k.Open == nil {
			return fmt.Errorf("scheme %.40s: has no Open, so nothing can perform its requests", k.Name)
		}
	}
	return targets.CheckSchemes(schemes)
}
