// Package chaos breaks everything that can break under a real fleet. A scenario has eight loadworker processes, a
// private Redis and a server that counts arrivals. Its fault is a signal, a cut cable, a clock that jumps or a server
// that loses data. Each scenario prints a row: what was asked, sent and counted, and the most arrivals in any window.
// It fails if a promise was broken.
//
// make chaos runs all of them. A choice belongs to make test-all, and two belong to make test.
package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/commands"
)

const (
	builtIn   = "LOADCTL_CHAOS_BINARIES" // where the commands were built; set for the process that runs the tests
	networked = "LOADCTL_CHAOS_NETWORK"  // why the tests have no network of their own; unset if they have one
)

// full reports whether this is make chaos, rather than the choice of make test-all or make test.
func full() bool { return os.Getenv("LOADCTL_CHAOS") == "full" }

// TestMain builds the commands and runs the tests in another process. If it is root, that process has its own network
// with only a loopback device. Then no other program can reach the servers of a scenario, a cut affects nothing else,
// and the network disappears with the process.
func TestMain(m *testing.M) {
	if os.Getenv(builtIn) != "" {
		os.Exit(m.Run())
	}
	os.Exit(outside())
}

// outside is the process that go test started.
func outside() int {
	built, err := commands.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer built.Remove()
	os.Setenv(builtIn, built.Dir)
	if why := isolate(); why != "" {
		os.Setenv(networked, why)
		return again(0)
	}
	return again(syscall.CLONE_NEWNET)
}

// isolate returns why this process cannot make networks, or "".
func isolate() string {
	if os.Geteuid() != 0 {
		return "network namespaces need root"
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "ip is not installed: apt-get install -y iproute2"
	}
	try := exec.Command("ip", "link", "set", "lo", "up")
	try.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}
	if out, err := try.CombinedOutput(); err != nil {
		return fmt.Sprintf("this machine makes no network namespaces (%v %s)", err, strings.TrimSpace(string(out)))
	}
	return ""
}

// again runs this program again with the same arguments, and returns its exit code.
func again(unshare uintptr) int {
	runtime.LockOSThread() // the child dies with this thread
	c := exec.Command(os.Args[0], os.Args[1:]...)
	if unshare != 0 {
		c = exec.Command("sh", append([]string{"-c", `ip link set lo up && exec "$@"`, "sh", os.Args[0]}, os.Args[1:]...)...)
	}
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Unshareflags: unshare}
	if err := c.Run(); err != nil && c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return c.ProcessState.ExitCode()
}

// command returns the path of one of the commands.
func command(name string) string { return filepath.Join(os.Getenv(builtIn), name) }
