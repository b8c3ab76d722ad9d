// Package commands builds loadctl and loadworker for tests that run them as processes.
//
//	func TestMain(m *testing.M) {
//		built, err := commands.Build()
//		…
//		code := m.Run() // tests run filepath.Join(built.Dir, "loadctl")
//		built.Remove()
//		os.Exit(code)
//	}
//
// `make test` builds them once for all packages and names their directory in LOADCTL_COMMANDS.
package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variable is the environment variable that names a directory with the commands.
const variable = "LOADCTL_COMMANDS"

// module is that of the commands, and of this package.
const module = "github.com/loadctl/loadctl"

// Built is where the commands are.
type Built struct {
	Dir string
	own bool // this process has made the directory
}

// Build builds the two commands, and more packages of this module (examples/pacer), unless make has done so. More
// packages are always built. The current directory must be in this module, or in one that replaces it by its folder.
func Build(more ...string) (Built, error) {
	ready := os.Getenv(variable)
	if ready != "" && len(more) == 0 {
		return Built{Dir: ready}, nil
	}
	dir, err := os.MkdirTemp("", "loadctl-commands-")
	if err != nil {
		return Built{}, err
	}
	built, packages := Built{Dir: dir, own: true}, more
	if ready == "" {
		packages = append([]string{"cmd/loadctl", "cmd/loadworker"}, more...)
	} else if err := built.link(ready); err != nil {
		built.Remove()
		return Built{}, err
	}
	if out, err := goBuild(dir, packages); err != nil {
		built.Remove()
		return Built{}, fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return built, nil
}

// goBuild builds packages into a directory, by the go.mod of the commands.
func goBuild(dir string, packages []string) ([]byte, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return root, err
	}
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	build := exec.Command("go", args...)
	build.Dir = strings.TrimSpace(string(root))
	return build.CombinedOutput()
}

// link puts the commands of another directory into this one.
func (b Built) link(from string) error {
	for _, name := range []string{"loadctl", "loadworker"} {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(b.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes what Build has built.
func (b Built) Remove() {
	if b.own {
		_ = os.RemoveAll(b.Dir) // it is in the directory for temporary files
	}
}
